"""`kb backup`, `restore`, `export`, `import`: a store kept safe, and moved to another place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kb.caller import caller
from kb.cli.options import EnvFile, Json
from kb.cli.output import emit
from kb.cli.safe import one_line
from kb.errors import BadRequest
from kb.opening import setup

BackupFile = Annotated[str, typer.Argument(metavar="FILE")]
Folder = Annotated[str, typer.Argument(metavar="DIR")]


def backup(
    file: BackupFile,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    as_json: Json = False,
) -> int:
    """Copy the store to one file, while others read and write it: a .tar.gz with its checksums, config.yaml in it too."""
    from kb.backup import backup as run
    from kb.cli import render

    return emit(run(setup().data_dir, _path(file), force=force), render.fields, as_json=as_json)


def restore(
    file: BackupFile,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace the store that is there, without asking.")] = False,
    as_json: Json = False,
) -> int:
    """Put a backup in the place of the store, after every byte of it was checked."""
    from kb import preferences
    from kb.cli import render
    from kb.restore import is_occupied, manifest_of
    from kb.restore import restore as run

    environ = caller().environ
    data_dir = preferences.data_dir(
        environ, caller().folder
    )  # not `setup`, which opens a store: that may be the one that is damaged
    manifest = manifest_of(_path(file))
    if is_occupied(data_dir) and not yes:
        _ask(
            f"{data_dir} has a store: replace it with the backup of {manifest.created_at}, "
            f"{manifest.documents} documents?",
            can_ask=sys.stdin.isatty() and not as_json,
        )
    timeout_s = preferences.load(data_dir, environ).settings.storage.lock_timeout_s
    return emit(run(data_dir, _path(file), timeout_s), render.fields, as_json=as_json)


def export(folder: Folder, as_json: Json = False) -> int:
    """Write every document as text and JSON into a folder that is empty or new; vectors and settings stay here."""
    from kb.cli import render
    from kb.export import export as run

    return emit(run(setup().data_dir, _path(folder)), render.fields, as_json=as_json)


def import_folder(
    folder: Folder,
    scrub: Annotated[
        bool | None,
        typer.Option(
            "--scrub/--no-scrub", help="Store [redacted: kind] in place of secrets, or them; --scrub is usual."
        ),
    ] = None,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Take what kb export wrote into this store; no file is read again, and what has no vector here is embedded."""
    from kb.cli import render_moving as render
    from kb.importing import import_folder as run

    here = setup(env_file)
    return emit(run(here.data_dir, here.settings, _path(folder), scrub=scrub), render.imported, as_json=as_json)


def _ask(question: str, *, can_ask: bool) -> None:
    """Raises BadRequest unless a person says yes."""
    refusal = BadRequest("there is a store already, and it was left as it is", "--yes replaces it")
    if not can_ask:
        raise refusal
    print(f"{one_line(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise refusal


def _path(name: str) -> Path:
    return Path(caller().absolute(name))
