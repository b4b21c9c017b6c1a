"""`kb scrub`: secrets out of what is stored already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.options import EnvFile, Json
from kb.cli.output import emit
from kb.cli.places import counted
from kb.cli.safe import one_line
from kb.opening import setup

if TYPE_CHECKING:
    from kb.wire import ScrubAnswer


def scrub(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be redacted, and change nothing.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="The documents of sources too that are not to be scrubbed by their rules.")
    ] = False,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Put secrets out of what is stored already: texts, vectors, indexes, log. The files themselves are not touched."""
    from kb.scrubbing import scrub as run

    here = setup(env_file)
    answer = run(here.data_dir, here.settings, everything=everything, dry_run=dry_run)
    return emit(answer, _said, as_json=as_json)


def _said(answer: ScrubAnswer) -> Iterator[str]:
    would = "Would redact" if answer.dry_run else "Redacted"
    for document in answer.documents:
        kinds = ", ".join(f"{count} {kind}" for kind, count in document.redacted.items())
        yield f"{would}: {one_line(document.path or document.title)} ({kinds})"
    held = f"{counted(len(answer.documents), 'document')}, {counted(answer.chunks, 'chunk')}"
    yield f"{would} {counted(answer.redacted, 'secret')} in {held}."
    if answer.originals:
        yield f"{answer.originals} originals that held them are no longer kept."
    if answer.left:
        yield f"{answer.left} documents of sources that are not to be scrubbed were left (--all takes them too)."
