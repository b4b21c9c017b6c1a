"""The store as a whole: `kb.db` and its two projections in one data folder, opened to read or to write.

A projection is brought up to the truth (`catch_up`) when a writer opens, when it closes, and when a reader finds it behind
and nobody is writing. Every path that mends one (a deleted folder, a crash at any step, a restored `kb.db`) is this one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from index import database, documents, projections, schema, vectors
from index.errors import ModelMismatch, StoreLocked, StoreMissing
from index.lexical import Lexical
from index.lock import writer_lock
from index.matrix import Matrix
from index.rows import NewDocument

DEFAULT_LOCK_TIMEOUT_S = 30.0
ROLLBACK_JOURNAL = "kb.db-journal"
"""Only there before the switch to WAL, while the store is being made. A reader cannot open a database that has one."""


class BuiltWith(msgspec.Struct, frozen=True, kw_only=True):
    """The embedding model that a store's vectors are of."""

    model_name: str
    model_key: str
    """`model_name`, and more where the passages are prefixed in an unusual way."""
    embedding_dim: int
    model_max_tokens: int


class Writer:
    """The one process that may change the store now."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.connection = connection

    @contextmanager
    def transaction(self) -> Iterator[int]:
        with database.transaction(self.connection) as seq:
            yield seq

    def insert(self, document: NewDocument, new_vectors: dict[bytes, vectors.Vectors], model: str, *, seq: int) -> int:
        """Add a document with those of its vectors that are new; returns its id.

        `model` is the key of the model that made the vectors. Where the store has switched to another meanwhile, they are
        kept under the old key, and the document's texts wait for `kb reindex`.
        """
        for text_hash, vector in new_vectors.items():
            vectors.insert(self.connection, [text_hash], vector[None, :], model, seq=seq)
        return documents.insert(self.connection, document, created_at=utc_now(), seq=seq)


class Reader:
    """The store as it was when this was opened; nothing here blocks or changes anything."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock_timeout_s: float) -> None:
        self.folder = folder
        self.connection = connection
        self.lock_timeout_s = lock_timeout_s
        self.warnings: list[str] = []

    def lexical(self) -> Lexical:
        """The tantivy projection, caught up if nobody is writing."""
        self._freshen(projections.lexical_state)
        return Lexical.open_reader(projections.lexical_folder(self.folder))

    def rebuilt_lexical(self) -> Lexical:
        """The tantivy projection made anew: for damage that shows only when it is searched."""
        with writing(self.folder, self.lock_timeout_s) as writer, database.snapshot(writer.connection):
            projections.rebuild_lexical(writer.connection, projections.lexical_folder(self.folder))
        return Lexical.open_reader(projections.lexical_folder(self.folder))

    def matrix(self) -> Matrix:
        """The vectors, caught up if nobody is writing."""
        self._freshen(projections.matrix_state)
        return Matrix.open(projections.matrix_folder(self.folder))

    def _freshen(self, state_of: Callable[[sqlite3.Connection, Path], projections.State]) -> None:
        # Through a connection of its own: a projection may be newer than the snapshot that this reader is in.
        with closing(database.connect_reader(database_path(self.folder))) as latest:
            state = state_of(latest, self.folder)
        if state is projections.State.CURRENT:
            return
        # What is merely behind is served as it is while somebody writes; what is unusable is worth waiting for.
        timeout_s = 0.0 if state is projections.State.BEHIND else self.lock_timeout_s
        try:
            with writing(self.folder, timeout_s):
                pass
        except (StoreLocked, OSError):  # the folder may be on a read-only disk
            if state is not projections.State.BEHIND:
                raise
            note = "the store is being written: the newest documents may be missing from this answer"
            if note not in self.warnings:
                self.warnings.append(note)


def exists(folder: Path) -> bool:
    """Whether there is a store that was made to the end: a process killed while making one leaves nothing to keep."""
    if not database_path(folder).is_file() or (folder / ROLLBACK_JOURNAL).exists():
        return False
    path = database_path(folder)
    with closing(database.connect_reader(path)) as connection, database.damage_reported(path):
        return schema.version(connection) > 0 and "model_name" in database.read_config(connection)


def database_path(folder: Path) -> Path:
    return folder / "kb.db"


@contextmanager
def reading(folder: Path, lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S) -> Iterator[Reader]:
    """Open to read. Raises StoreMissing, StoreTooNew, StoreDamaged; migrates an older schema through a writer first."""
    if not exists(folder):
        raise StoreMissing(f"there is no store in {folder}", "add something first: kb add PATH")
    connection = database.connect_reader(database_path(folder))
    try:
        if not schema.check_version(connection):
            connection.close()
            with writing(folder, lock_timeout_s):
                pass
            connection = database.connect_reader(database_path(folder))
        with database.damage_reported(database_path(folder)):
            yield Reader(folder, connection, lock_timeout_s)
    finally:
        connection.close()


@contextmanager
def writing(folder: Path, lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S) -> Iterator[Writer]:
    """Open to write: waits for the lock, catches the projections up on the way in and on the way out.

    Raises StoreMissing, StoreLocked, StoreTooNew, StoreDamaged.
    """
    if not exists(folder):
        raise StoreMissing(f"there is no store in {folder}", "add something first: kb add PATH")
    with writer_lock(folder / "write.lock", lock_timeout_s), database.damage_reported(database_path(folder)):
        connection = database.connect_writer(database_path(folder))
        try:
            if not schema.check_version(connection):
                schema.migrate(connection)
            projections.catch_up(connection, folder)
            try:
                yield Writer(folder, connection)
            finally:
                projections.catch_up(connection, folder)
        finally:
            connection.close()


def create(folder: Path, built: BuiltWith, lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S) -> None:
    """Make a store in `folder`, unless there is one already."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with writer_lock(folder / "write.lock", lock_timeout_s):
        connection = database.connect_writer(database_path(folder))
        try:
            if schema.version(connection) == 0:
                schema.migrate(connection)
            if "model_name" not in database.read_config(connection):
                with database.transaction(connection):
                    set_built_with(connection, built)
            projections.catch_up(connection, folder)
        finally:
            connection.close()


def built_with(connection: sqlite3.Connection) -> BuiltWith:
    return msgspec.convert(database.read_config(connection), BuiltWith, strict=False)


def set_built_with(connection: sqlite3.Connection, built: BuiltWith) -> None:
    """Inside a transaction."""
    database.write_config(connection, {name: str(value) for name, value in msgspec.structs.asdict(built).items()})


def check_model(built: BuiltWith, model_name: str, model_key: str) -> None:
    """Raises ModelMismatch unless the store was built with the model given."""
    if built.model_key != model_key:
        raise ModelMismatch(
            f"the store was built with {built.model_key}, the configuration says {model_key}",
            f"switch the store: kb reindex --model {model_name}; or set embedding.model back to {built.model_name}",
        )


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
