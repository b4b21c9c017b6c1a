"""The queue as answers show it: a job with what became of its files, and who works it off.

Not here: what changes it (`kb.queue`), and the work (`kb.worker`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from index import jobs as rows
from index.jobs import FAILED, RUNNING, WAITING, JobFileRow, JobRow
from index.lock import is_locked
from kb.candidates import Request
from kb.wire import QueueStatus
from kb.wire_jobs import Job, JobFile

LOCK = "jobs.lock"
"""In run/: held by the one who works the queue off, with his pid."""
MOST_NAMED = 10
"""Paths or names of a job that its summary says."""


def status(connection: sqlite3.Connection, data_dir: Path) -> QueueStatus:
    counts = rows.count_by_state(connection)
    return QueueStatus(waiting=counts[WAITING], running=counts[RUNNING], failed=counts[FAILED], worker=worker(data_dir))


def worker(data_dir: Path) -> int | None:
    """The process that works the queue off; None: none does."""
    path = data_dir / "run" / LOCK
    try:
        if not is_locked(path):
            return None
        said = path.read_text(encoding="ascii", errors="replace")
    except OSError:  # on a disk that cannot be written nobody works
        return None
    return int(said) if said.isdecimal() else 0


def summarised(connection: sqlite3.Connection, row: JobRow) -> Job:
    sums = rows.sums(connection, row.id)
    total = sum(sums.counts.values())
    return Job(
        job_id=row.id,
        kind=row.kind,  # type: ignore[arg-type]  # what `submit` wrote
        state=row.state,  # type: ignore[arg-type]
        is_cancelling=row.is_cancelling,
        what=_what(connection, row),
        total=total if row.is_listed or row.ended_at else None,
        finished=total - sums.counts.get("waiting", 0),
        counts=sums.counts,
        chunks=sums.chunks,
        redacted=sums.redacted,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        error=row.error,
        warnings=row.warnings,
    )


def _what(connection: sqlite3.Connection, row: JobRow) -> tuple[str, ...]:
    paths = tuple(map(str, decoded(row.request).paths[:MOST_NAMED]))
    return paths or tuple(file.path for file in rows.files(connection, row.id, limit=MOST_NAMED))


def file_of(row: JobFileRow) -> JobFile:
    return JobFile(
        path=row.path, status=row.status, title=row.title, document_id=row.document_id, chunks=row.chunks,
        reason=row.reason, redacted=row.redacted,
    )  # fmt: skip


def orphaned(data_dir: Path, one: Job) -> tuple[str, ...]:
    if one.state != RUNNING or worker(data_dir) is not None:
        return ()
    return (f"the worker of job {one.job_id} died: the next one goes on with it (kb jobs run)",)


def encoded(request: Request) -> str:
    return msgspec.json.encode(request, enc_hook=str).decode()


def decoded(text: str) -> Request:
    return msgspec.json.decode(text, type=Request, dec_hook=_path)


def _path(kind: Callable[[Any], Any], said: Any) -> Any:
    return kind(said)
