"""What `kb add` settles before and after its use case: notes, standard input, progress, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kb.add import Progress, add_note, add_paths, add_stream
from kb.arguments import addable
from kb.candidates import Request
from kb.cli import render
from kb.cli.bars import AddBar
from kb.cli.output import emit
from kb.errors import BadRequest, Exit
from kb.opening import Setup
from kb.settings import Settings
from kb.wire import AddAnswer

STANDARD_INPUT = "-"


def run(
    setup: Setup,
    request: Request,
    paths: Sequence[str],
    note: str | None,
    workers: int | None,
    cluster: str | None = None,
    *,
    reread: bool,
    as_json: bool,
) -> int:
    """Add what was named, say each file as it goes by, and the sum at the end."""
    _check(paths, note, request, reread=reread)
    settings = _with_readers(setup.settings, workers, cluster)
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


def submit(
    setup: Setup,
    request: Request,
    paths: Sequence[str],
    note: str | None,
    workers: int | None,
    env_file: str | None,
    *,
    reread: bool,
    as_json: bool,
) -> int:
    """Put it into the queue, and leave a worker behind unless one is at work."""
    from kb import background, queue
    from kb.cli.queueing import with_warning
    from kb.cli.render_jobs import submitted

    _check(paths, note, request, reread=reread)
    if note is not None:
        answer = queue.submit_note(setup.data_dir, setup.settings, request, note)
    elif STANDARD_INPUT in paths:
        answer = queue.submit_stream(setup.data_dir, setup.settings, request, sys.stdin.buffer.read())
    else:
        answer = queue.submit(setup.data_dir, setup.settings, request, reread=reread, workers=workers)
    trouble = background.leave_worker(setup.data_dir, env_file)
    return emit(with_warning(answer, trouble), submitted, as_json=as_json)


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
    if STANDARD_INPUT in paths and len(paths) > 1:
        raise BadRequest("- stands for standard input and goes alone", "add the files in another command")
    if note is not None and request.keep_original:
        raise BadRequest("--keep-original is for files and standard input", "a note is kept word for word anyhow")
    addable(request)


def _exit_code(answer: AddAnswer, paths: Sequence[str]) -> Exit:
    if not answer.failed:
        return Exit.OK
    alone = len(answer.documents) == 1 and len(paths) == 1 and not Path(paths[0]).is_dir()
    return Exit.UNREADABLE if alone else Exit.PARTIAL


def check_background(cluster: str | None) -> None:
    """Raises BadRequest for what a worker of the queue is not told."""
    if cluster is not None:
        raise BadRequest(
            "--background and --cluster exclude each other", "set ingestion.cluster: a job is read as it says"
        )


def _with_readers(settings: Settings, workers: int | None, cluster: str | None) -> Settings:
    said = {name: value for name, value in (("workers", workers), ("cluster", cluster)) if value is not None}
    return msgspec.structs.replace(settings, ingestion=msgspec.structs.replace(settings.ingestion, **said))


def _nothing(line: str) -> None:
    """Under -j the answer alone is said."""
