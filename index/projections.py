"""The two projections of `kb.db`, and the one way to bring them up to it.

Each remembers the last transaction it has seen. Where the database remembers that transaction too, what came after it is
replayed; otherwise (deleted, damaged, ahead of the truth, of another model) the projection is built anew from the
database. Nothing is ever embedded here. numpy is loaded only where vectors are: a search by words needs none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from index import database, segments, watermark
from index.lexical import Lexical, LexicalDamaged, LexicalDocument
from index.watermark import Watermark

if TYPE_CHECKING:
    from index.matrix import Matrix

WHOLE_HISTORY = -1


class State(Enum):
    CURRENT = "current"
    BEHIND = "behind"
    """Can be searched; misses the newest documents."""
    UNUSABLE = "unusable"
    """Missing, damaged, or of another history or model: to be built anew."""


def matrix_folder(folder: Path) -> Path:
    return folder / "matrix"


def lexical_folder(folder: Path) -> Path:
    return folder / "lexical"


def catch_up(connection: sqlite3.Connection, folder: Path) -> None:
    """Bring both projections to the last committed transaction. The caller holds the writer lock."""
    segments.drop_leftovers(lexical_folder(folder))
    with database.snapshot(connection):
        states = matrix_state(connection, folder), lexical_state(connection, folder)
        if states != (State.CURRENT, State.CURRENT):
            # A row is killed in place: were its delete lost with the power, no watermark would tell.
            database.make_durable(connection)
        _catch_up_matrix(connection, matrix_folder(folder), states[0])
        _catch_up_lexical(connection, lexical_folder(folder), states[1])


def matrix_state(connection: sqlite3.Connection, folder: Path) -> State:
    from index import windows
    from index.epoch import MatrixDamaged
    from index.matrix import Matrix

    try:
        header = Matrix.open(matrix_folder(folder), copied_ids=False).header
    except MatrixDamaged:
        return State.UNUSABLE
    config = database.read_config(connection)
    built = config["model_key"], int(config["embedding_dim"]), windows.served(config)
    if (header.model, header.dim, header.windows) != built:
        return State.UNUSABLE
    return _state(connection, header.watermark)


def lexical_state(connection: sqlite3.Connection, folder: Path) -> State:
    try:
        Lexical.open_reader(lexical_folder(folder))
    except LexicalDamaged:
        return State.UNUSABLE
    return _state(connection, watermark.read(lexical_folder(folder)))


def _state(connection: sqlite3.Connection, mark: Watermark) -> State:
    if mark == database.head(connection):
        return State.CURRENT
    known = mark != watermark.BEGINNING and database.remembers(connection, mark)
    return State.BEHIND if known else State.UNUSABLE


def rebuild_matrix(connection: sqlite3.Connection, folder: Path) -> Matrix:
    """A new epoch from every live chunk that has a vector. Inside a snapshot, under the writer lock."""
    from index import matrixwriter, vectors, windows

    config = database.read_config(connection)
    model, dim, words = config["model_key"], int(config["embedding_dim"]), windows.served(config)
    return matrixwriter.rebuild(
        folder,
        vectors.of_chunks(connection, model, dim, after_seq=WHOLE_HISTORY, with_windows=words > 0),
        dim=dim,
        model=model,
        watermark=database.head(connection),
        windows=words,
    )


def rebuild_lexical(connection: sqlite3.Connection, folder: Path) -> None:
    """A new index from every live chunk. Inside a snapshot, under the writer lock. Raises DiskFault."""
    everything = lexical_documents(connection, after_seq=WHOLE_HISTORY)
    try:
        Lexical.open_or_create(folder).rebuild(everything, database.head(connection))
    except LexicalDamaged as error:  # nothing is read here, and tantivy names no reason that could be asked for
        raise database.disk_fault(folder, error) from error


def _catch_up_matrix(connection: sqlite3.Connection, folder: Path, state: State) -> None:
    import numpy as np

    from index import epoch, matrixwriter, vectors
    from index.matrix import Matrix

    if state is State.UNUSABLE:
        rebuild_matrix(connection, folder)
    elif state is State.BEHIND:
        current = Matrix.open(folder, copied_ids=False)
        seq = current.header.seq
        has_windows = current.header.windows > 0
        added = vectors.of_chunks(
            connection, current.header.model, current.header.dim, after_seq=seq, with_windows=has_windows
        )
        removed = np.array(_deleted_chunks(connection, seq), np.int64)
        matrixwriter.apply(current, added, removed, database.head(connection))
    epoch.unlink_orphans(folder, epoch.read_header(folder))


def _catch_up_lexical(connection: sqlite3.Connection, folder: Path, state: State) -> None:
    if state is State.UNUSABLE:
        rebuild_lexical(connection, folder)
    elif state is State.BEHIND:
        seq = watermark.read(folder).seq
        added = lexical_documents(connection, after_seq=seq)
        try:  # not `open_or_create`: what is opened must be what the watermark speaks of
            Lexical.open_reader(folder).apply(added, _deleted_chunks(connection, seq), database.head(connection))
        except LexicalDamaged:  # damage inside a segment shows only when its chunks are deleted
            rebuild_lexical(connection, folder)


def lexical_documents(connection: sqlite3.Connection, *, after_seq: int) -> Iterator[LexicalDocument]:
    """The chunks of documents added, grown or renamed after `after_seq`, as tantivy gets them."""
    # As a list of documents, which SQLite looks up; a condition on `d.seq` made it read every chunk to have them in order.
    changed = "1" if after_seq < 0 else "c.document_id IN (SELECT id FROM documents WHERE seq > :seq)"
    rows = connection.execute(
        "SELECT c.id, c.document_id, d.title, c.heading, coalesce(d.source_path, ''), c.text, c.metadata FROM chunks c"
        f" JOIN documents d ON d.id = c.document_id WHERE {changed} ORDER BY c.document_id, c.chunk_index",
        {"seq": after_seq},
    )
    for chunk_id, document_id, title, heading, path, text, metadata in rows:
        symbol = msgspec.json.decode(metadata).get("symbol") or ""
        yield LexicalDocument(
            chunk_id=chunk_id,
            document_id=document_id,
            title=title,
            heading=heading,
            path=path,
            body=text,
            symbols=symbol,
        )


def _deleted_chunks(connection: sqlite3.Connection, after_seq: int) -> list[int]:
    return [row[0] for row in connection.execute("SELECT id FROM deleted_chunks WHERE seq > ?", (after_seq,))]
