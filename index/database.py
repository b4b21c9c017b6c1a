"""Connections to `kb.db`, and the one way to change it.

Every change is a `transaction`: it takes the next `seq`, logs it with a random token, and commits all or nothing.
Readers open the file read-only and run no DDL. Not here: what the tables mean (`schema`, `documents`, `vectors`, `tags`).
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from index import originals
from index.atomic import for_us_alone, sync
from index.errors import DiskFault, ProjectionDamaged, StoreDamaged, StoreLocked
from index.watermark import Watermark

PRIMARY_CODE = 0xFF
"""The part of an error code of SQLite that says which kind of error it is."""
DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
DISK = frozenset({
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
})  # fmt: skip
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
DISK_ERRNO = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.ESTALE, errno.ETIMEDOUT,  # of network file systems
})  # fmt: skip
WRITER_CACHE_KB = 32_000
"""The indexes by hash and path are written all over: with SQLite's own 2 MB a transaction writes the same pages again and again."""
BUSY_TIMEOUT_S = 10.0
"""How long SQLite itself waits for its own short locks (a checkpoint); writers are kept apart by `lock`."""


def connect_writer(path: Path) -> sqlite3.Connection:
    """A read-write connection in WAL mode with foreign keys on. The caller holds the writer lock."""
    with faults_reported(path):
        if not path.exists():  # SQLite would let others read what it makes
            os.close(for_us_alone(str(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC))
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    _check_readable(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KB}")
    return connection


class ReadConnection(sqlite3.Connection):
    """One that is kept for many readings, and knows whether anybody committed since the last."""

    _version: int | None = None

    def is_as_before(self) -> bool:
        """Whether the database is what it was at the last call, so that what was found out then still holds."""
        before, (self._version,) = self._version, self.execute("PRAGMA data_version").fetchone()
        return before == self._version


def connect_reader(path: Path) -> ReadConnection:
    """A connection that cannot change anything.

    Where nothing can be written, SQLite cannot make the files beside the database that tell readers of writers; there is no
    writer either, so the database is read as one that never changes.
    """
    try:
        return _connect_reader(path, "mode=ro")
    except DiskFault:
        if os.access(path.parent, os.W_OK) or Path(f"{path}-wal").exists():
            raise
        return _connect_reader(path, "immutable=1")


def _connect_reader(path: Path, how: str) -> ReadConnection:
    with faults_reported(path):
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?{how}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            factory=ReadConnection,
        )
    _check_readable(connection, path)
    return connection


def _check_readable(connection: sqlite3.Connection, path: Path) -> None:
    try:
        with faults_reported(path):
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise


@contextmanager
def faults_reported(path: Path) -> Iterator[None]:
    """Raise StoreDamaged for what SQLite finds wrong with the file while it is being used, DiskFault for what the disk does.

    And StoreLocked where SQLite waited for somebody in vain: writers of this program wait for each other elsewhere (`index.lock`).
    """
    try:
        yield
    except ProjectionDamaged as error:  # one that was whole, or made anew, a moment ago
        raise disk_fault(path, error) from error
    except UnicodeDecodeError as error:  # what SQLite says quotes what it found
        raise store_damaged(path, "a text is no UTF-8 any more") from error
    except sqlite3.DatabaseError as error:
        code = _code(error)
        if code in DISK:
            raise disk_fault(path, error) from error
        if code in BUSY:
            raise StoreLocked(f"another process keeps {path} locked: {error}", "wait until it has finished") from error
        if code not in DAMAGE and not is_no_text(error):
            raise
        raise store_damaged(path, "a text is no UTF-8 any more" if is_no_text(error) else str(error)) from error


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & PRIMARY_CODE  # errors of Python's module have none


def is_of_disk(error: sqlite3.Error) -> bool:
    """Whether it says something of the disk, and nothing of what is on it."""
    return _code(error) in DISK


def is_no_text(error: Exception) -> bool:
    """Whether a text in the database is no UTF-8; the error itself quotes it."""
    return str(error).startswith("Could not decode to UTF-8")


def store_damaged(path: Path, reason: str) -> StoreDamaged:
    hint = "kb doctor says more; restore kb.db from a backup, or move it away and add again"
    return StoreDamaged(f"{path} cannot be read: {reason}", hint)


@contextmanager
def disk_faults_reported(path: Path) -> Iterator[None]:
    """Raise DiskFault for what the system says while the files beside the database are written."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_ERRNO:
            raise
        raise disk_fault(path, error) from error


def disk_fault(path: Path, error: Exception) -> DiskFault:
    hint = "free space or give permission, then give the command again: what was committed is kept"
    return DiskFault(f"the disk does not serve {path}: {error}", hint)


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """All reads inside see the store at one moment."""
    try:
        connection.execute("BEGIN")
        yield
    finally:
        roll_back(connection)


@contextmanager
def immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """One change, all or nothing, that takes no number of the log: commits at the end, rolls back on any exception."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    finally:
        roll_back(connection)


def roll_back(connection: sqlite3.Connection) -> None:
    """End the transaction that is open, if one is: SQLite itself has done it where the disk failed."""
    # Ctrl-C between two steps of a `with` leaves it unfinished until its exception goes, and the connection is closed by then.
    with suppress(sqlite3.ProgrammingError):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[int]:
    """One change: yields its `seq`; else as `immediate`."""
    from index import checksums  # a search changes nothing

    with immediate(connection):
        seq = head(connection).seq + 1
        connection.execute("INSERT INTO log VALUES (?, ?)", (seq, int.from_bytes(os.urandom(8)) >> 2))
        yield seq
        originals.drop_loose(connection)
        checksums.settle(connection)


def head(connection: sqlite3.Connection) -> Watermark:
    """The last committed transaction."""
    return Watermark(*connection.execute("SELECT seq, token FROM log ORDER BY seq DESC LIMIT 1").fetchone())


def remembers(connection: sqlite3.Connection, mark: Watermark) -> bool:
    """Whether `mark` lies in this database's own history, so that what came after it can be replayed.

    It does not after a power loss that took the last commits, after a restore of an older `kb.db`, or when the log was
    pruned past it; then a projection is built anew.
    """
    row = connection.execute("SELECT token FROM log WHERE seq = ?", (mark.seq,)).fetchone()
    return row is not None and row[0] == mark.token


def make_durable(connection: sqlite3.Connection) -> None:
    """Make all commits so far survive a power loss, which `synchronous = NORMAL` leaves to SQLite's checkpoints.

    Its log may be opened and closed beside it: SQLite holds no lock on that file.
    """
    log = Path(f"{connection.execute('PRAGMA database_list').fetchone()[2]}-wal")
    if log.exists():
        sync(log)
    sync(log.parent)


def prune_log(connection: sqlite3.Connection) -> None:
    """Forget the history before the last transaction. Both projections must stand at the head."""
    connection.execute("DELETE FROM log WHERE seq < (SELECT max(seq) FROM log)")
    connection.execute("DELETE FROM deleted_chunks")


def read_config(connection: sqlite3.Connection) -> dict[str, str]:
    """What the store was built with: schema_version, model_name, embedding_dim, model_max_tokens, model_key, windows, cut_words.

    And what a switch to another model has left to be done (`kb.switch`).
    """
    return dict(connection.execute("SELECT key, value FROM config"))


def write_config(connection: sqlite3.Connection, values: Mapping[str, str | None]) -> None:
    """Inside a transaction. None takes a key away."""
    kept = [(key, value) for key, value in values.items() if value is not None]
    connection.executemany("INSERT OR REPLACE INTO config VALUES (?, ?)", kept)
    connection.executemany("DELETE FROM config WHERE key = ?", [(key,) for key in values.keys() - dict(kept).keys()])
