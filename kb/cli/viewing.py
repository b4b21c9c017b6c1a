"""`kb view`: where the picture goes, and who opens it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from kb.cli.options import Json
from kb.cli.output import emit
from kb.errors import BadRequest, Exit
from kb.opening import setup

if TYPE_CHECKING:
    from kb.view import Viewed

PICTURES_KEPT = 20
"""In the data directory, where nobody said where to; older ones go."""


def view(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="ID|PATH", help="A chunk's id, as searches show it; with --page a document's id or path."
        ),
    ],
    page: Annotated[
        int | None, typer.Option("--page", metavar="N", min=1, help="This page, slide or sheet of a document.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE.png", help="Write the picture there; -: to standard output."),
    ] = None,
    opens: Annotated[
        bool, typer.Option("--open", help="Show the picture in the program that this system has for it.")
    ] = False,
    dpi: Annotated[int, typer.Option("--dpi", metavar="N", min=20, max=600, help="How finely a page is drawn.")] = 110,
    password: Annotated[str | None, typer.Option("--password", metavar="S", help="Opens an encrypted PDF.")] = None,
    as_json: Json = False,
) -> int:
    """Look at a passage where it stands: its page as a picture with the passage marked, or the lines of a text."""
    from kb.cli import render_view
    from kb.view import Look
    from kb.view import view as look_at

    to_stdout = out == "-"
    if to_stdout and (as_json or opens):
        raise BadRequest("--out - is the picture and nothing else", "say --out FILE.png")
    target = _target(out) if out and not to_stdout else None
    draws_text = bool(out) or opens
    data_dir = setup().data_dir
    viewed = look_at(data_dir, reference, Look(page=page, dpi=dpi, draws_text=draws_text, password=password))
    if to_stdout:
        return _to_stdout(viewed)
    if viewed.png:
        path = target or _own_place(data_dir, viewed)
        path.write_bytes(viewed.png)
        viewed = msgspec.structs.replace(viewed, answer=msgspec.structs.replace(viewed.answer, picture=str(path)))
        if opens:
            _open(path)
    return emit(viewed.answer, render_view.view, as_json=as_json)


def _target(out: str) -> Path:
    from kb.caller import caller

    path = Path(caller().absolute(out))
    if path.suffix.lower() != ".png":
        raise BadRequest(f"--out {out}: the picture is a PNG", "say --out FILE.png")
    if path.is_dir() or not path.parent.is_dir():
        raise BadRequest(f"--out {out}: {'a folder' if path.is_dir() else 'no such folder'}", "say --out FILE.png")
    return path


def _to_stdout(viewed: Viewed) -> int:
    from kb.caller import caller

    if caller().on_terminal:
        raise BadRequest("a picture is not for a terminal", "say --out FILE.png, or --open")
    caller().stdout.buffer.write(viewed.png)
    for warning in viewed.answer.warnings:
        print(f"kb: {warning}", file=caller().stderr)
    return Exit.OK


def _own_place(data_dir: Path, viewed: Viewed) -> Path:
    """A file of the last pictures in the store's run/, which is its owner's alone."""
    folder = data_dir / "run" / "view"
    for missing in (folder.parent, folder):
        missing.mkdir(mode=0o700, exist_ok=True)
    by_age = sorted(folder.glob("*.png"), key=lambda file: file.stat().st_mtime)
    for file in by_age[: max(0, len(by_age) - PICTURES_KEPT + 1)]:
        file.unlink(missing_ok=True)
    answer = viewed.answer
    what = f"chunk-{answer.chunk_id}" if answer.chunk_id else f"document-{answer.document.document_id}"
    return folder / f"{what}{f'-page-{answer.page}' if answer.page else ''}.png"


def _open(path: Path) -> None:
    """The system's own command for it; does not wait for the program."""
    import shutil
    import subprocess

    command = "open" if sys.platform == "darwin" else "xdg-open"
    if not shutil.which(command):
        raise BadRequest(f"there is no {command} to show a picture with", f"it is in {path}")
    subprocess.Popen(
        [command, os.fspath(path)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
