"""What `kb add` settles before and after its use case: notes, standard input, progress, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kb.add import Progress, add_note, add_paths, add_stream
from kb.candidates import Request
from kb.cli import render
from kb.cli.bars import AddBar
from kb.cli.options import Setup
from kb.cli.output import emit
from kb.detect import known_type
from kb.errors import BadRequest, Exit
from kb.settings import Settings
from kb.wire import AddAnswer

STANDARD_INPUT = "-"


def run(
    setup: Setup,
    request: Request,
    paths: Sequence[str],
    note: str | None,
    workers: int | None,
    *,
    reread: bool,
    as_json: bool,
) -> int:
    """Add what was named, say each file as it goes by, and the sum at the end."""
    _check(paths, note, request, reread=reread)
    settings = _with_workers(setup.settings, workers)
    if note is not None:
        answer = add_note(setup.data_dir, settings, request, note)
    elif STANDARD_INPUT in paths:
        answer = add_stream(setup.data_dir, settings, request, sys.stdin.buffer.read())
    else:
        with AddBar(shown=sys.stderr.isatty() and not as_json, say=_nothing if as_json else print) as bar:
            answer = (_reread if reread else add_paths)(setup.data_dir, settings, request, bar)
        emit(answer, render.added, as_json=as_json)
        return _exit_code(answer, paths)
    return emit(answer, lambda one: [render.added_file(one.documents[0])], as_json=as_json)


def _reread(data_dir: Path, settings: Settings, request: Request, progress: Progress) -> AddAnswer:
    from kb.reread import reread  # its engine is looked for on import paths that nothing else needs

    return reread(data_dir, settings, request, progress)


def _check(paths: Sequence[str], note: str | None, request: Request, *, reread: bool) -> None:
    """Raises BadRequest for what cannot be meant."""
    if note is not None and paths:
        raise BadRequest("--note and PATH exclude each other", "add the note and the files in two commands")
    if reread and (note is not None or STANDARD_INPUT in paths):
        raise BadRequest("--reread is for files that were read before", "say kb add --reread, or name the files")
    if note is None and not paths and not reread:
        raise BadRequest("nothing to add", "name files or directories, or say --note TEXT")
    if request.title is not None and (len(paths) > 1 or any(Path(path).is_dir() for path in paths)):
        raise BadRequest("--title is for one document", "add it on its own")
    if STANDARD_INPUT in paths and len(paths) > 1:
        raise BadRequest("- stands for standard input and goes alone", "add the files in another command")
    if request.doc_type is not None:
        known_type(request.doc_type)
    if note is not None and request.keep_original:
        raise BadRequest("--keep-original is for files and standard input", "a note is kept word for word anyhow")
    if not all(tag.strip() for tag in request.tags):
        raise BadRequest("a tag needs a name", "say --tag NAME")


def _exit_code(answer: AddAnswer, paths: Sequence[str]) -> Exit:
    if not answer.failed:
        return Exit.OK
    alone = len(answer.documents) == 1 and len(paths) == 1 and not Path(paths[0]).is_dir()
    return Exit.UNREADABLE if alone else Exit.PARTIAL


def _with_workers(settings: Settings, workers: int | None) -> Settings:
    if workers is None:
        return settings
    ingestion = msgspec.structs.replace(settings.ingestion, workers=workers)
    return msgspec.structs.replace(settings, ingestion=ingestion)


def _nothing(line: str) -> None:
    """Under -j the answer alone is said."""
