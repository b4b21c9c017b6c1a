"""The queue of what is to be added in the background: tables `jobs` and `job_files`.

No projection shows a job, so its changes take no `seq` and no writer lock: each is one short transaction of SQLite, which keeps
them apart from a writer's own (`changing`). So a job can be submitted, asked for and cancelled while documents are written, and the
worker notes each file while it holds the writer lock itself. Who may work the queue off is not settled here (`kb.worker`): `claim` is
for the one who holds `run/jobs.lock`.

States: waiting -> running -> done | failed | cancelled; failed and cancelled -> waiting by `retry`; running -> waiting where a worker was
told to end. A job that is running while nobody holds the lock is one whose worker died: `claim` gives it out first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from index import database
from index.store import database_path

WAITING, RUNNING, DONE, FAILED, CANCELLED = STATES = ("waiting", "running", "done", "failed", "cancelled")
OPEN = (WAITING, RUNNING, FAILED)
"""States in which what was uploaded for a job is still needed."""


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    request: str
    workers: int | None = None
    note: str | None = None
    files: tuple[NewJobFile, ...] | None = None
    """None: not known before the job has begun."""


class NewJobFile(msgspec.Struct, frozen=True):
    path: str
    upload: str | None = None
    """Where its bytes wait below `uploads/`."""


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    kind: str
    request: str
    workers: int | None
    note: str | None
    state: str
    is_cancelling: bool
    is_listed: bool
    deaths: int
    """Workers that died of it since a file was done."""
    error: str
    warnings: tuple[str, ...]
    created_at: str
    started_at: str | None
    ended_at: str | None


class JobFileRow(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    upload: str | None = None
    status: str
    title: str = ""
    document_id: int | None = None
    chunks: int = 0
    reason: str = ""
    redacted: int = 0


class Sums(msgspec.Struct, frozen=True):
    """Over the files of one job."""

    counts: dict[str, int]
    """Files of each status."""
    chunks: int
    redacted: int


_JOB = ", ".join(JobRow.__struct_fields__)
_FILE = ", ".join(JobFileRow.__struct_fields__)


@contextmanager
def changing(folder: Path) -> Iterator[sqlite3.Connection]:
    """One change of the queue, all or nothing. The store is there, and of this program's schema. Raises StoreDamaged, DiskFault."""
    path = database_path(folder)
    with (
        database.faults_reported(path),
        closing(database.connect_writer(path)) as connection,
        database.immediate(connection),
    ):
        yield connection


# Looking


def by_id(connection: sqlite3.Connection, job_id: int) -> JobRow | None:
    row = connection.execute(f"SELECT {_JOB} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    return None if row is None else _job(row)


def page(connection: sqlite3.Connection, states: Sequence[str], *, limit: int | None, offset: int = 0) -> list[JobRow]:
    """The newest first; no states: of all."""
    rows = connection.execute(
        f"SELECT {_JOB} FROM jobs WHERE state IN ({_marks(states or STATES)}) ORDER BY id DESC LIMIT ? OFFSET ?",
        (*(states or STATES), -1 if limit is None else limit, offset),
    )
    return [_job(row) for row in rows]


def count_by_state(connection: sqlite3.Connection) -> dict[str, int]:
    """How many jobs are in each state; every state is there."""
    found = dict(connection.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())
    return {state: found.get(state, 0) for state in STATES}


def files(
    connection: sqlite3.Connection, job_id: int, statuses: Sequence[str] = (), *, limit: int | None = None, offset: int = 0
) -> list[JobFileRow]:  # fmt: skip
    """In the order in which they were named or found; no statuses: of all."""
    chosen = f"AND status IN ({_marks(statuses)})" if statuses else ""
    rows = connection.execute(
        f"SELECT {_FILE} FROM job_files WHERE job_id = ? {chosen} ORDER BY rowid LIMIT ? OFFSET ?",
        (job_id, *statuses, -1 if limit is None else limit, offset),
    )
    return [JobFileRow(**dict(zip(JobFileRow.__struct_fields__, row, strict=True))) for row in rows]


def sums(connection: sqlite3.Connection, job_id: int) -> Sums:
    rows = connection.execute(
        "SELECT status, count(*), sum(chunks), sum(redacted) FROM job_files WHERE job_id = ? GROUP BY status ORDER BY status",
        (job_id,),
    ).fetchall()
    return Sums({row[0]: row[1] for row in rows}, sum(row[2] for row in rows), sum(row[3] for row in rows))


def uploads_needed(connection: sqlite3.Connection, states: Sequence[str] = OPEN) -> set[str]:
    """What must stay below `uploads/`: of files that are not done, in jobs that may still do them, or that are in `states`."""
    rows = connection.execute(
        f"SELECT f.upload FROM job_files f JOIN jobs j ON j.id = f.job_id WHERE f.upload IS NOT NULL"
        f" AND f.status IN ('waiting', 'failed') AND j.state IN ({_marks(states)})",
        states,
    )
    return {row[0] for row in rows}


# Changing, inside `changing` or `immediate`


def insert(connection: sqlite3.Connection, new: NewJob, now: str) -> int:
    """A job that waits; returns its id."""
    cursor = connection.execute(
        "INSERT INTO jobs (kind, request, workers, note, state, is_listed, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (new.kind, new.request, new.workers, new.note, WAITING, new.files is not None, now),
    )
    job_id = cursor.lastrowid or 0
    _insert_files(connection, job_id, new.files or ())
    return job_id


def claim(connection: sqlite3.Connection, now: str) -> JobRow | None:
    """The next job to be done, which is running from now on; None: there is none. The caller holds `run/jobs.lock`."""
    connection.execute("UPDATE jobs SET deaths = deaths + 1 WHERE state = ?", (RUNNING,))
    row = connection.execute(
        "SELECT id FROM jobs WHERE state IN (?, ?) ORDER BY state = ?, id LIMIT 1", (RUNNING, WAITING, WAITING)
    ).fetchone()
    if row is None:
        return None
    connection.execute(
        "UPDATE jobs SET state = ?, started_at = coalesce(started_at, ?), ended_at = NULL WHERE id = ?",
        (RUNNING, now, row[0]),
    )
    return by_id(connection, row[0])


def set_listed(connection: sqlite3.Connection, job_id: int, paths: Iterable[str], warnings: Sequence[str]) -> None:
    """All files of a job are known now. Those that are there already stay as they are."""
    _insert_files(connection, job_id, map(NewJobFile, paths))
    connection.execute("UPDATE jobs SET is_listed = 1 WHERE id = ?", (job_id,))
    warn(connection, job_id, warnings)


def goes_on(connection: sqlite3.Connection, job_id: int) -> bool:
    """Whether the job that is being done is to be gone on with: it was not cancelled, and it is still there."""
    row = connection.execute("SELECT is_cancelling FROM jobs WHERE id = ? AND state = ?", (job_id, RUNNING)).fetchone()
    return row is not None and not row[0]


def record(connection: sqlite3.Connection, job_id: int, file: JobFileRow) -> None:
    """What became of a file. Nothing, where the job is gone: the store was restored meanwhile."""
    if not connection.execute("UPDATE jobs SET deaths = 0 WHERE id = ?", (job_id,)).rowcount:
        return
    connection.execute(
        "INSERT INTO job_files (job_id, path, status, title, document_id, chunks, reason, redacted)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (job_id, path) DO UPDATE SET status = excluded.status, title = excluded.title,"
        " document_id = excluded.document_id, chunks = excluded.chunks, reason = excluded.reason, redacted = excluded.redacted",
        (job_id, file.path, file.status, file.title, file.document_id, file.chunks, file.reason, file.redacted),
    )


def warn(connection: sqlite3.Connection, job_id: int, warnings: Sequence[str]) -> None:
    """Each once."""
    if warnings and (row := by_id(connection, job_id)):
        said = msgspec.json.encode(tuple(dict.fromkeys((*row.warnings, *warnings)))).decode()
        connection.execute("UPDATE jobs SET warnings = ? WHERE id = ?", (said, job_id))


def end(connection: sqlite3.Connection, job_id: int, state: str, error: str, now: str) -> None:
    """The text of a note is forgotten with it, unless it may still be needed."""
    connection.execute(
        "UPDATE jobs SET state = ?, error = ?, ended_at = ?, is_cancelling = 0, deaths = 0,"
        " note = CASE WHEN ? THEN NULL ELSE note END WHERE id = ?",
        (state, error, now, state == DONE, job_id),
    )


def put_back(connection: sqlite3.Connection, job_id: int) -> None:
    """A running job waits again: its worker was told to end."""
    connection.execute("UPDATE jobs SET state = ?, deaths = 0 WHERE id = ? AND state = ?", (WAITING, job_id, RUNNING))


def cancel(connection: sqlite3.Connection, job_id: int, now: str) -> None:
    """A waiting job at once, a running one at the next file; one that has ended is left as it is."""
    connection.execute("UPDATE jobs SET is_cancelling = 1 WHERE id = ? AND state = ?", (job_id, RUNNING))
    connection.execute(
        "UPDATE jobs SET state = ?, ended_at = ? WHERE id = ? AND state = ?", (CANCELLED, now, job_id, WAITING)
    )


def retry(connection: sqlite3.Connection, job_id: int, request: str) -> None:
    """The files that failed, and those that were never come to, are done once more, as `request` says."""
    connection.execute(
        "UPDATE jobs SET state = ?, request = ?, error = '', ended_at = NULL, is_cancelling = 0, deaths = 0 WHERE id = ?",
        (WAITING, request, job_id),
    )
    connection.execute(
        "UPDATE job_files SET status = 'waiting', reason = '' WHERE job_id = ? AND status = 'failed'", (job_id,)
    )


def delete(connection: sqlite3.Connection, job_ids: Sequence[int]) -> None:
    connection.executemany("DELETE FROM jobs WHERE id = ?", [(job_id,) for job_id in job_ids])


def prune(connection: sqlite3.Connection, keep: int) -> None:
    """Forget jobs that are done, but for the newest."""
    connection.execute(
        "DELETE FROM jobs WHERE state = ? AND id NOT IN (SELECT id FROM jobs WHERE state = ? ORDER BY id DESC LIMIT ?)",
        (DONE, DONE, keep),
    )


def set_aside(connection: sqlite3.Connection, reason: str, now: str) -> None:
    """What was to be done when a backup was made is not done because it is restored; `retry` does it after all."""
    connection.execute(
        "UPDATE jobs SET state = ?, error = ?, ended_at = ?, is_cancelling = 0 WHERE state IN (?, ?)",
        (CANCELLED, reason, now, WAITING, RUNNING),
    )


def reword(connection: sqlite3.Connection, row: JobRow) -> None:
    """What a job was asked, holds and says, in other words."""
    connection.execute(
        "UPDATE jobs SET request = ?, note = ?, error = ?, warnings = ? WHERE id = ?",
        (row.request, row.note, row.error, msgspec.json.encode(row.warnings).decode(), row.id),
    )


def reword_files(connection: sqlite3.Connection, clean: Callable[[str], str]) -> None:
    """What became of the files of all jobs, in other words. Paths stay, but for that of a note, which is its title."""
    notes = "AND job_id IN (SELECT id FROM jobs WHERE kind = 'note')"
    for column, which in (("title", ""), ("reason", ""), ("path", notes)):
        said = [row[0] for row in connection.execute(f"SELECT DISTINCT {column} FROM job_files WHERE true {which}")]
        changed = [(now, before) for before in said if (now := clean(before)) != before]
        connection.executemany(f"UPDATE job_files SET {column} = ? WHERE {column} = ? {which}", changed)


def _insert_files(connection: sqlite3.Connection, job_id: int, new: Iterable[NewJobFile]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO job_files (job_id, path, upload, status) VALUES (?, ?, ?, 'waiting')",
        ((job_id, file.path, file.upload) for file in new),
    )


def _job(row: tuple[object, ...]) -> JobRow:
    values = dict(zip(JobRow.__struct_fields__, row, strict=True))
    return msgspec.convert({**values, "warnings": msgspec.json.decode(str(values["warnings"]))}, JobRow, strict=False)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
