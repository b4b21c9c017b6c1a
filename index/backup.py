"""A copy of `kb.db` while others read and write it, and a copy put in the place of a store.

Not here: the file that a backup is, and what is verified of it (`kb.backup`, `kb.restore`).

Copying takes one step of SQLite's backup API. In several steps it would begin again whenever somebody commits in between,
and never end beside a busy writer; in one it is a long read, which in WAL mode blocks nobody and is blocked by nobody.

Crash rule of `put_in_place`: the copy goes *into* the old `kb.db` as one transaction of SQLite, so that after a crash there is the
old store or the new one, and whoever reads meanwhile keeps the snapshot that he has. A file renamed over it would find the
old `kb.db-wal` beside it, which to SQLite is part of the new one, and processes that still have the old one open would write
there. Only where there is no store that SQLite can open is the file renamed into place, and what lies beside goes first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from index import database, jobs, projections, schema
from index.atomic import sync
from index.errors import StoreDamaged, StoreMissing
from index.store import database_path, exists, locked
from index.writer import utc_now

WHOLE = -1
"""Pages a step: all."""
BESIDE = ("kb.db-wal", "kb.db-shm", "kb.db-journal")
STAGED = "kb.db.restoring"
"""In the data folder, so that it can be renamed there; only the holder of the writer lock has one."""


def copy(folder: Path, target: Path) -> None:
    """The store of `folder` at one moment, as a database of its own. Raises StoreMissing, StoreDamaged, DiskFault."""
    if not exists(folder):
        raise StoreMissing(f"there is no store in {folder}", "add something first: kb add PATH")
    path = database_path(folder)
    with (
        closing(database.connect_reader(path)) as source,
        closing(sqlite3.connect(target, isolation_level=None)) as copied,
        database.faults_reported(path),
    ):
        copied.execute("PRAGMA synchronous = OFF")  # of no worth until it is in the backup
        source.backup(copied, pages=WHOLE)
        copied.execute("PRAGMA journal_mode = DELETE")  # one file, which opens on a read-only disk too


def problems(connection: sqlite3.Connection) -> list[str]:
    """Why SQLite could not work with this database; a faulty text or vector is none of these (`index.check`), nor is a faulty disk."""
    try:
        return [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    except sqlite3.DatabaseError as error:
        if database.is_of_disk(error):
            raise
        return [str(error)]


@contextmanager
def staging(folder: Path, lock_timeout_s: float) -> Iterator[Path]:
    """Hold the writer lock of `folder`, which is made if need be, and yield where the new database is to be written.

    Raises StoreLocked, DiskFault. What was not put in place is gone afterwards.
    """
    staged = folder / STAGED
    with locked(folder, lock_timeout_s):
        _unlink(staged)  # of one that was killed
        try:
            yield staged
        finally:
            _unlink(staged)


def put_in_place(staged: Path, folder: Path) -> None:
    """Make the verified database `staged` the store of `folder`, and its projections anew. Inside `staging`."""
    with closing(database.connect_writer(staged)) as connection:
        schema.migrate(connection)
        with database.immediate(connection):
            jobs.set_aside(connection, "it waited when the backup was made", utc_now())
    try:
        if not (exists(folder) and _pour(staged, folder)):
            _rename(staged, folder)
    except StoreDamaged:
        _rename(staged, folder)
    with closing(database.connect_writer(database_path(folder))) as connection:
        projections.catch_up(connection, folder)


def _pour(staged: Path, folder: Path) -> bool:
    """Into the store that is there, in one transaction; False where its pages are of another size."""
    path = database_path(folder)
    with (
        closing(database.connect_writer(staged)) as source,
        closing(database.connect_writer(path)) as target,
        database.faults_reported(path),
    ):
        if _page_bytes(source) != _page_bytes(target):
            return False
        target.execute("PRAGMA synchronous = FULL")  # the commit is on the disk when it is said to be
        source.backup(target, pages=WHOLE)
    return True


def _rename(staged: Path, folder: Path) -> None:
    for name in BESIDE:
        (folder / name).unlink(missing_ok=True)
    sync(staged)
    staged.rename(database_path(folder))
    sync(folder)


def _unlink(staged: Path) -> None:
    for path in (staged, *(staged.with_name(staged.name + end) for end in ("-wal", "-shm", "-journal"))):
        path.unlink(missing_ok=True)


def _page_bytes(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_size").fetchone()[0])
