"""`kb daemon start|stop|status`."""

from __future__ import annotations

from kb.cli.options import Json
from kb.cli.output import emit
from kb.errors import BadRequest
from kb.opening import setup
from kb.wire import DaemonAnswer


def start(as_json: Json = False) -> int:
    """Start the daemon now, and wait until it answers."""
    from kb import standby
    from kb.cli import render

    here = setup()
    if not here.settings.search.daemon:
        raise BadRequest("the daemon is turned off", "set search.daemon (KB_DAEMON) to true")
    return emit(standby.start(here.data_dir), render.fields, as_json=as_json)


def stop(as_json: Json = False) -> int:
    """End the daemon, if one runs. The next search starts a new one."""
    from kb import standby
    from kb.cli import render

    here = setup()
    was_running = standby.stop(here.data_dir)
    answer = DaemonAnswer(running=False, warnings=() if was_running else ("no daemon was running",))
    return emit(answer, render.fields, as_json=as_json)


def status(as_json: Json = False) -> int:
    """Say whether a daemon runs, since when, and how much memory it takes."""
    from kb import standby
    from kb.cli import render

    return emit(standby.status(setup().data_dir), render.fields, as_json=as_json)
