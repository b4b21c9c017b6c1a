"""The queue of what is to be added in the background: submit a job, look at it, cancel it, try it again.

A job is a request as `kb add` takes it, kept as JSON, with a row for each of its files. What it holds is scrubbed before it is
kept: a note is read when it is submitted, so that only what will be stored lies in the queue. Files that were sent wait in `uploads/`
as they are (`kb.uploads`). Not here: who does the work (`kb.worker`), and how one is started (`kb.background`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from index import jobs as rows
from index import store
from index.database import snapshot
from index.jobs import CANCELLED, DONE, FAILED, RUNNING, STATES, WAITING, JobRow, NewJob, NewJobFile
from index.writer import utc_now
from kb import uploads as spool
from kb.caller import caller
from kb.candidates import Request
from kb.detect import known_type
from kb.errors import BadRequest, NotFound
from kb.jobanswers import decoded, encoded, file_of, orphaned, summarised, worker
from kb.settings import Settings
from kb.uploads import Upload
from kb.walk import Rules, Walk
from kb.wire_jobs import JobAnswer, JobsAnswer, JobsRemovedAnswer

if TYPE_CHECKING:
    from kb.add import Adding

DEFAULT_LIMIT = 50
ENDED = (DONE, FAILED, CANCELLED)
LARGEST_ID = 2**63 - 1
"""Of what SQLite takes as an integer."""


# Submitting


def submit(
    data_dir: Path, settings: Settings, request: Request, *, reread: bool = False, workers: int | None = None
) -> JobAnswer:
    """Files and folders, as `kb add` takes them; or with `reread` what was read before. Makes the store if need be.

    Raises NotFound and BadRequest for what `kb add` would refuse at once, ModelMismatch, StoreError.
    """
    if not reread and not request.paths:
        raise BadRequest("nothing to add", "name files or directories")
    request = msgspec.structs.replace(request, paths=tuple(Path(caller().absolute(str(p))) for p in request.paths))
    if reread:
        from kb.reread import check_engine  # looks for it on import paths that nothing else needs

        check_engine(data_dir, settings, request)
    else:
        Walk(Rules(recursive=request.recursive, excludes=request.excludes), avoid=data_dir).check(request.paths)
    adding = _prepared(data_dir, settings, request)
    job = NewJob(kind="reread" if reread else "paths", request=encoded(adding.request), workers=workers)
    return _inserted(data_dir, job)


def submit_note(data_dir: Path, settings: Settings, request: Request, text: str) -> JobAnswer:
    """A text that is in no file. Raises NoText, ModelMismatch, StoreError."""
    adding = _prepared(data_dir, settings, msgspec.structs.replace(request, paths=()))
    note = adding.read_note(text)
    title = adding.request.title or note.passages.title or "note"
    job = NewJob(
        kind="note", request=encoded(adding.request), note=msgspec.json.encode(note).decode(), files=(NewJobFile(title),)
    )  # fmt: skip
    return _inserted(data_dir, job)


def submit_uploads(
    data_dir: Path,
    settings: Settings,
    request: Request,
    uploads: Sequence[Upload],
    *,
    workers: int | None = None,
) -> JobAnswer:
    """Files that were sent (`kb.uploads.Receiving`), a document each. They are removed when the job is over, or refused.

    Raises BadRequest, UnsupportedType for `request.doc_type`, ModelMismatch, StoreError.
    """
    if not uploads:
        raise BadRequest("nothing to add", "send a file")
    return _sent(data_dir, settings, request, "uploads", spool.distinct(uploads), workers)


def submit_stream(data_dir: Path, settings: Settings, request: Request, content: bytes) -> JobAnswer:
    """What came on standard input; it waits in `uploads/` as it is. Raises as `submit_uploads`."""
    with spool.Receiving(data_dir, "standard input") as receiving:
        receiving.write(content)
        upload = receiving.keep()
    return _sent(data_dir, settings, request, "stream", (upload,), None)


def _sent(
    data_dir: Path, settings: Settings, request: Request, kind: str, uploads: Sequence[Upload], workers: int | None
) -> JobAnswer:
    files = tuple(NewJobFile(upload.name, upload.place) for upload in uploads)
    try:
        adding = _prepared(data_dir, settings, msgspec.structs.replace(request, paths=()), documents=len(files))
        return _inserted(data_dir, NewJob(kind=kind, request=encoded(adding.request), workers=workers, files=files))
    except BaseException:
        spool.remove(data_dir, [upload.place for upload in uploads])
        raise


def _prepared(data_dir: Path, settings: Settings, request: Request, *, documents: int = 1) -> Adding:
    """With the request as it may be kept, and a store to keep it in."""
    if request.title is not None and documents > 1:
        raise BadRequest("a title is for one document", "send that file on its own")
    if request.password is not None:
        raise BadRequest("a password is not kept for later", "add what it opens without --background")
    if request.dry_run:
        raise BadRequest("--dry-run is answered at once", "say it without --background")
    if request.doc_type is not None:
        known_type(request.doc_type)
    from kb.add import Adding, Silent  # numpy and what reads, which nobody needs who only asks

    adding = Adding.prepare(data_dir, settings, request, Silent())
    if not store.exists(data_dir):
        store.create(data_dir, adding.model.built_with, settings.storage.lock_timeout_s)
    return adding


def _inserted(data_dir: Path, new: NewJob) -> JobAnswer:
    with rows.changing(data_dir) as connection:
        job_id = rows.insert(connection, new, utc_now())
        return _answer(connection, _row(connection, job_id))


# Looking


def job(
    data_dir: Path, job_id: int, *, statuses: Sequence[str] = (), limit: int | None = None, offset: int = 0
) -> JobAnswer:
    """One job with its files, those of these statuses where any are named. Raises NotFound, StoreMissing."""
    with store.reading(data_dir) as reader, snapshot(reader.connection):
        row = _row(reader.connection, job_id)
        files = rows.files(reader.connection, job_id, statuses, limit=limit, offset=offset)
        summary = summarised(reader.connection, row)
    counted = [count for status, count in summary.counts.items() if not statuses or status in statuses]
    return JobAnswer(
        job=summary, files=tuple(map(file_of, files)), total_files=sum(counted), offset=offset,
        warnings=orphaned(data_dir, summary),
    )  # fmt: skip


def jobs(
    data_dir: Path, states: Sequence[str] = (), *, limit: int | None = DEFAULT_LIMIT, offset: int = 0
) -> JobsAnswer:
    """The newest first, those in these states where any are named. Raises BadRequest, StoreMissing."""
    for state in states:
        if state not in STATES:
            raise BadRequest(f"no job is ever {state!r}", f"states are {', '.join(STATES)}")
    with store.reading(data_dir) as reader, snapshot(reader.connection):
        found = [
            summarised(reader.connection, row)
            for row in rows.page(reader.connection, states, limit=limit, offset=offset)
        ]
        by_state = rows.count_by_state(reader.connection)
    return JobsAnswer(
        jobs=tuple(found), total=sum(by_state[state] for state in dict.fromkeys(states or STATES)), by_state=by_state,
        worker=worker(data_dir), warnings=tuple(warning for one in found for warning in orphaned(data_dir, one)),
    )  # fmt: skip


# Changing


def cancel(data_dir: Path, job_id: int) -> JobAnswer:
    """End a job: a waiting one now, a running one at its next file. What is added stays. Raises NotFound, BadRequest."""
    with _one(data_dir, job_id) as (connection, row):
        if row.state not in {WAITING, RUNNING, CANCELLED}:
            raise BadRequest(f"job {job_id} has ended: it is {row.state}", "there is nothing to cancel")
        rows.cancel(connection, job_id, utc_now())
    _end_if_nobody_works(data_dir, job_id)
    clear_uploads(data_dir, job_id)
    return _asked_again(data_dir, job_id)


def retry(data_dir: Path, job_id: int) -> JobAnswer:
    """Do what failed once more, and what was never come to; nothing that is done. Raises NotFound, BadRequest."""
    with _one(data_dir, job_id) as (connection, row):
        if row.state not in {FAILED, CANCELLED}:
            raise BadRequest(f"job {job_id} is {row.state}", "a job is tried again when it failed or was cancelled")
        lost = [
            file.path
            for file in rows.files(connection, job_id, ("waiting", "failed"))
            if file.upload and not spool.path_of(data_dir, file.upload).is_file()
        ]
        if lost:
            raise BadRequest(f"what was sent as {lost[0]} is not kept any more", "send it again")
        rows.retry(connection, job_id, encoded(msgspec.structs.replace(decoded(row.request), retry=True)))
    return _asked_again(data_dir, job_id)


def remove(data_dir: Path, job_ids: Sequence[int]) -> JobsRemovedAnswer:
    """Forget jobs that have ended, and what was sent for them; documents stay. Raises NotFound, BadRequest."""
    with _store(data_dir), rows.changing(data_dir) as connection:
        found = [_row(connection, job_id) for job_id in dict.fromkeys(job_ids)]
        for row in found:
            if row.state in {WAITING, RUNNING}:
                raise BadRequest(f"job {row.id} is {row.state}", f"kb jobs cancel {row.id} ends it")
        places = [file.upload for row in found for file in rows.files(connection, row.id) if file.upload]
        rows.delete(connection, [row.id for row in found])
    spool.remove(data_dir, places)
    return JobsRemovedAnswer(removed=tuple(row.id for row in found))


def ended(data_dir: Path, states: Sequence[str]) -> list[int]:
    """The jobs in these states, the newest first."""
    with store.reading(data_dir) as reader:
        return [row.id for row in rows.page(reader.connection, states, limit=None)]


def clear_uploads(data_dir: Path, job_id: int) -> None:
    """Remove what was sent for a job and is not needed any more."""
    with store.reading(data_dir) as reader, snapshot(reader.connection):
        sent = {file.upload for file in rows.files(reader.connection, job_id) if file.upload}
        needed = rows.uploads_needed(reader.connection) if sent else set()
    spool.remove(data_dir, sent - needed)


def scrub(connection: sqlite3.Connection, settings: Settings) -> None:
    """Secrets out of what jobs that have ended say, inside a transaction. One that waits does as it was told (--no-scrub)."""
    from kb.readjobs import without_secrets
    from kb.scrub.documents import scrub_line

    for row in rows.page(connection, ENDED, limit=None):
        request = decoded(row.request)
        clean = without_secrets(settings, msgspec.structs.replace(request, scrub=True))
        reworded = msgspec.structs.replace(
            row,
            request=encoded(msgspec.structs.replace(clean, scrub=request.scrub)),
            note=None if request.scrub is False else row.note,
            error=scrub_line(row.error),
            warnings=tuple(map(scrub_line, row.warnings)),
        )
        if reworded != row:
            rows.reword(connection, reworded)
    rows.reword_files(connection, scrub_line)


@contextmanager
def _one(data_dir: Path, job_id: int) -> Iterator[tuple[sqlite3.Connection, JobRow]]:
    with _store(data_dir), rows.changing(data_dir) as connection:
        yield connection, _row(connection, job_id)


@contextmanager
def _store(data_dir: Path) -> Iterator[None]:
    """Raises StoreMissing, StoreTooNew; an older schema is migrated."""
    with store.reading(data_dir):
        pass
    yield


def _row(connection: sqlite3.Connection, job_id: int) -> JobRow:
    row = rows.by_id(connection, job_id) if 0 < job_id <= LARGEST_ID else None
    if row is None:
        raise NotFound(f"no job {job_id}", "kb jobs list shows them")
    return row


def _end_if_nobody_works(data_dir: Path, job_id: int) -> None:
    """A job whose worker died has no next file to end at."""
    if worker(data_dir) is None:
        with rows.changing(data_dir) as connection:
            if _row(connection, job_id).state == RUNNING:
                rows.end(connection, job_id, CANCELLED, "", utc_now())


def _asked_again(data_dir: Path, job_id: int) -> JobAnswer:
    with store.reading(data_dir) as reader:
        return _answer(reader.connection, _row(reader.connection, job_id))


def _answer(connection: sqlite3.Connection, row: JobRow) -> JobAnswer:
    return JobAnswer(job=summarised(connection, row))
