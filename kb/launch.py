"""`kb` where no compiler built kb/launcher.c: the same in Python.

Hands a reading command to the daemon and copies its answer back; whatever goes wrong before the whole answer is here, the
command runs in this process. It knows nothing of the commands but which verbs may be forwarded.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys

from kb import __version__
from kb.protocol import ERR, FORWARDED_VERBS, OUT, Frame, ask, encode_request
from kb.whichstore import run_folder

OFF = frozenset({"off", "false", "0", "no"})
"""Of KB_DAEMON, in any case."""


def main() -> None:
    frames = _ask() if _may_be_forwarded() else None
    if frames is None:
        from kb.__main__ import main as command_line

        command_line()
    else:
        sys.exit(_deliver(frames))


def _may_be_forwarded() -> bool:
    return (
        sys.argv[1:2] != []
        and sys.argv[1] in FORWARDED_VERBS
        and os.environ.get("KB_DAEMON", "").lower() not in OFF
        # One that is closed would be the socket's number.
        and None not in (sys.stdin, sys.stdout, sys.stderr)
    )


def _ask() -> list[Frame] | None:
    """What the daemon answers. Ctrl-C meanwhile ends this process as it ends any tool, without a trace."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        folder = run_folder(os.environ, os.getcwd())  # noqa: PTH109
        return ask(folder, encode_request(__version__, "run", sys.argv[1:])) if folder else None
    except OSError:  # the working directory has been deleted
        return None
    finally:
        signal.signal(signal.SIGINT, before)


def _deliver(frames: list[Frame]) -> int:
    """Print the answer; returns the exit code."""
    for kind, payload in frames[:-1]:
        failure = _write(kind, payload)
        if failure and kind == OUT:
            return _stopped_by(failure)
    return frames[-1][1][0]


def _stopped_by(failure: OSError) -> int:
    """Standard output takes no more. The exit code and the line are those of kb/cli/door.py."""
    if failure.errno == errno.EPIPE:  # the reader has seen enough
        return 0
    _write(ERR, f"kb: {failure} (check the path, its permissions and the free space)\n".encode())
    return 1


def _write(stream: int, content: bytes) -> OSError | None:
    """All of it, or what prevents that."""
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(stream, rest) :]
        except BlockingIOError:  # whoever opened the stream made it non-blocking
            select.select([], [stream], [])
        except OSError as failure:
            return failure
    return None


if __name__ == "__main__":
    main()
