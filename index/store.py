"""The store as a whole: `kb.db` and its two projections in one data folder, opened to read or to write.

A projection is brought up to the truth (`catch_up`) when a writer opens, when it closes, and when a reader finds it behind
and nobody is writing. Every path that mends one (a deleted folder, a crash at any step, a restored `kb.db`) is this one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from index import builtwith, database, filters, projections, schema, watermark
from index.builtwith import BuiltWith
from index.database import ReadConnection
from index.errors import DiskFault, StoreError, StoreLocked, StoreMissing
from index.filters import Admitted, Filter
from index.kept import KeptStore, Opened, Standing, identity, kept_of
from index.lexical import Lexical
from index.lock import writer_lock
from index.watermark import Watermark
from index.writer import Writer

if TYPE_CHECKING:
    from index.columns import Ids
    from index.matrix import Matrix

StateOf = Callable[[sqlite3.Connection, Path], projections.State]

DEFAULT_LOCK_TIMEOUT_S = 30.0
ROLLBACK_JOURNAL = "kb.db-journal"
"""Only there before the switch to WAL, while the store is being made. A reader cannot open a database that has one."""


class Reader:
    """The store as it was when this was opened; nothing here blocks or changes anything."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock_timeout_s: float, kept: KeptStore) -> None:
        self.folder = folder
        self.connection = connection
        self.lock_timeout_s = lock_timeout_s
        self.warnings: list[str] = []
        self._kept = kept
        self._is_of_one_moment = True
        self._head: Watermark | None = None

    def moment(self) -> AbstractContextManager[None]:
        """All reads inside see one state of the store; `is_of_one_moment` says whether the projections saw it too."""
        self._is_of_one_moment = True
        self._head = None
        return database.snapshot(self.connection)

    @property
    def is_of_one_moment(self) -> bool:
        """False where a writer committed between the opening of a projection and the snapshot: ask again."""
        return self._is_of_one_moment or bool(self.warnings)

    def head(self) -> Watermark:
        """The last transaction of this moment."""
        self._head = self._head or database.head(self.connection)
        return self._head

    @property
    def stays_open(self) -> bool:
        """Whether this process keeps what is opened: then it may pay to read more at first."""
        return self._kept.holders > 0

    def lexical(self) -> Lexical:
        """The tantivy projection, caught up if nobody is writing."""
        self._kept.lexical = self._standing(self._kept.lexical, projections.lexical_state, self._open_lexical)
        return self._kept.lexical.projection

    def _open_lexical(self) -> tuple[Lexical, Watermark]:
        folder = projections.lexical_folder(self.folder)
        mark = watermark.read(
            folder
        )  # first: what a writer commits meanwhile is in what is opened then, and never only said to be
        return Lexical.open_reader(folder), mark

    def rebuilt_lexical(self) -> Lexical:
        """The tantivy projection made anew: for damage that shows only when it is searched."""
        with writing(self.folder, self.lock_timeout_s) as writer, database.snapshot(writer.connection):
            projections.rebuild_lexical(writer.connection, projections.lexical_folder(self.folder))
        self._kept.lexical = None
        return Lexical.open_reader(projections.lexical_folder(self.folder))

    def matrix(self) -> Matrix:
        """The vectors, caught up if nobody is writing."""
        self._kept.matrix = self._standing(self._kept.matrix, projections.matrix_state, self._open_matrix)
        return self._kept.matrix.projection

    def _open_matrix(self) -> tuple[Matrix, Watermark]:
        from index.matrix import Matrix

        opened = Matrix.open(projections.matrix_folder(self.folder))
        return opened, opened.header.watermark

    def admitted(self, wanted: Filter) -> Admitted | None:
        """What passes; None where all does.

        Not decided again for the same filter until something changes, whatever is asked without one meanwhile: of 22,000 documents it takes
        longer than a search by words.
        """
        if wanted.admits_all:
            return None
        asked = (self.head(), wanted)
        decided = self._kept.decided
        if decided is None or decided[0] != asked:
            decided = self._kept.decided = asked, filters.admitted(self.connection, wanted)
        return decided[1]

    def chunk_ids(self, admitted: Admitted) -> Ids:
        """The chunks that pass, ascending; int64 (n,). Some may be gone. Looked up once for what `admitted` gives."""
        from index import owners

        found = self._kept.found
        if found is None or found[0] is not admitted:
            ids, self._kept.owners = owners.chunk_ids(
                self.connection, self._kept.owners, admitted.documents, admitted.chunks
            )
            found = self._kept.found = admitted, ids
        return found[1]

    def _standing(
        self, kept: Standing[Opened] | None, state_of: StateOf, open_it: Callable[[], tuple[Opened, Watermark]]
    ) -> Standing[Opened]:
        head = self.head()
        if kept and kept.mark == head:
            return kept
        # Through a connection of its own: a projection may be newer than the snapshot that this reader is in.
        with closing(database.connect_reader(database_path(self.folder))) as latest:
            self._freshen(state_of(latest, self.folder))
            projection, mark = open_it()
            # A writer commits to kb.db first: if nothing was committed until now, the projection is what its mark says.
            standing = Standing(projection, mark if mark == database.head(latest) else None)
        self._is_of_one_moment &= standing.mark == head
        return standing

    def _freshen(self, state: projections.State) -> None:
        if state is projections.State.CURRENT:
            return
        # What is merely behind is served as it is while somebody writes; what is unusable is worth waiting for.
        timeout_s = 0.0 if state is projections.State.BEHIND else self.lock_timeout_s
        try:
            with writing(self.folder, timeout_s):
                pass
        except (StoreLocked, DiskFault):  # such as a read-only disk
            if state is not projections.State.BEHIND:
                raise
            note = "the store is being written: the newest documents may be missing from this answer"
            if note not in self.warnings:
                self.warnings.append(note)


def exists(folder: Path) -> bool:
    """Whether there is a store that was made to the end: a process killed while making one leaves nothing to keep."""
    connection = _connected(folder)
    if connection is not None:
        connection.close()
    return connection is not None


def _connected(folder: Path) -> ReadConnection | None:
    """A connection to the store in `folder`, if `exists`."""
    path = database_path(folder)
    if not path.is_file() or (folder / ROLLBACK_JOURNAL).exists():
        return None
    connection = database.connect_reader(path)
    try:
        with database.faults_reported(path):
            if schema.version(connection) > 0 and "model_name" in database.read_config(connection):
                return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def database_path(folder: Path) -> Path:
    return folder / "kb.db"


@contextmanager
def reading(folder: Path, lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S) -> Iterator[Reader]:
    """Open to read. Raises StoreMissing, StoreTooNew, StoreDamaged, DiskFault; migrates an older schema through a writer first."""
    path = database_path(folder)
    kept = kept_of(folder)
    of = identity(path)
    connection = (kept and kept.take(path)) or _open_to_read(folder, lock_timeout_s)
    try:
        with database.faults_reported(path):
            if not connection.is_as_before():
                schema.check_version(connection)
            with _damage_told(folder, connection):
                yield Reader(folder, connection, lock_timeout_s, kept or KeptStore())
    except BaseException:
        connection.close()
        raise
    if kept and of == identity(path):
        kept.give_back(of, connection)
    else:
        connection.close()


def _open_to_read(folder: Path, lock_timeout_s: float) -> ReadConnection:
    connection = _connected(folder)
    if connection is None:
        raise StoreMissing(f"there is no store in {folder}", "add something first: kb add PATH")
    path = database_path(folder)
    try:
        with database.faults_reported(path):
            is_current = schema.check_version(connection)
        if not is_current:
            connection.close()
            with writing(folder, lock_timeout_s):
                pass
            connection = database.connect_reader(path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def writing(folder: Path, lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S) -> Iterator[Writer]:
    """Open to write: waits for the lock, catches the projections up on the way in and on the way out.

    Raises StoreMissing, StoreLocked, StoreTooNew, StoreDamaged, DiskFault.
    """
    if not exists(folder):
        raise StoreMissing(f"there is no store in {folder}", "add something first: kb add PATH")
    with locked(folder, lock_timeout_s):
        connection = database.connect_writer(database_path(folder))
        try:
            if not schema.check_version(connection):
                schema.migrate(connection)
            with _damage_told(folder, connection):
                projections.catch_up(connection, folder)
                try:
                    yield Writer(folder, connection)
                finally:
                    database.roll_back(connection)  # one that Ctrl-C left open
                    projections.catch_up(connection, folder)
        finally:
            connection.close()


@contextmanager
def _damage_told(folder: Path, connection: sqlite3.Connection) -> Iterator[None]:
    """Raise StoreDamaged for an error that nobody foresaw, if `kb.db` turns out to be damaged."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        from index import check

        if check.is_unforeseen(error) and (found := check.damage(connection)):
            raise database.store_damaged(database_path(folder), found) from error
        raise


@contextmanager
def locked(folder: Path, lock_timeout_s: float) -> Iterator[None]:
    """The one writer in a folder, which is made if need be, with what the disk says put into words."""
    path = database_path(folder)
    with database.disk_faults_reported(path), database.faults_reported(path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with writer_lock(folder / "write.lock", lock_timeout_s):
            yield


def create(folder: Path, built: BuiltWith, lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S) -> None:
    """Make a store in `folder`, unless there is one already. Raises StoreLocked, DiskFault."""
    from index import cutting

    with locked(folder, lock_timeout_s):
        connection = database.connect_writer(database_path(folder))
        try:
            schema.check_version(connection)
            schema.migrate(connection)  # also where an earlier run was killed between two of the steps
            if "model_name" not in database.read_config(connection):
                with database.transaction(connection):
                    cutting.cut_all(connection, built.windows)
                    builtwith.set_built_with(connection, built)
            projections.catch_up(connection, folder)
        finally:
            connection.close()


def model_of(folder: Path, lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S) -> BuiltWith | None:
    """What the store was built with; None where there is no store yet."""
    if not exists(folder):
        return None
    with reading(folder, lock_timeout_s) as reader:
        return builtwith.built_with(reader.connection)
