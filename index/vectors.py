"""Vectors in SQLite: each text's vector once, keyed by the hash of the embedded text and the model.

A vector outlives its chunk until `purge`, so that a file that is changed, moved or added again is not embedded again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from index import database, neighbours, windows
from index.neighbours import Placed

Vectors = npt.NDArray[np.float32]


_WAITS = (
    "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.text_hash = t.text_hash AND v.model = :model)"
    " AND NOT EXISTS (SELECT 1 FROM unembedded u WHERE u.text_hash = t.text_hash AND u.model = :model)"
)


class WaitingText(msgspec.Struct, frozen=True):
    """A text of the store that has no vector of a model yet, and was not found to get none."""

    text_hash: bytes
    embedded_text: str


def text_hash(embedded_text: str) -> bytes:
    """32 bytes. The passage prefix is not part of it: it belongs to the model's key."""
    return hashlib.sha256(embedded_text.encode("utf-8", "surrogatepass")).digest()


def known(connection: sqlite3.Connection, hashes: Collection[bytes], model: str) -> set[bytes]:
    """Those of `hashes` that have a vector of this model."""
    found: set[bytes] = set()
    for value in hashes:
        if connection.execute("SELECT 1 FROM vectors WHERE text_hash = ? AND model = ?", (value, model)).fetchone():
            found.add(value)
    return found


def insert(connection: sqlite3.Connection, hashes: Sequence[bytes], vectors: Vectors, model: str, *, seq: int) -> None:
    """Store `vectors` (float32, (n, dim), unit rows) under `hashes`; one that is there already stays."""
    if vectors.shape[0] != len(hashes) or vectors.dtype != np.float32:
        raise ValueError(f"expected float32 ({len(hashes)}, dim), got {vectors.dtype} {vectors.shape}")
    from index import checksums  # a search inserts nothing

    connection.executemany(
        "INSERT OR IGNORE INTO vectors (text_hash, model, vector, seq, crc) VALUES (?, ?, ?, ?, ?)",
        (
            (value, model, vector, seq, checksums.of_vector(vector))
            for value, vector in zip(hashes, map(np.ndarray.tobytes, vectors), strict=True)
        ),
    )


def waiting(connection: sqlite3.Connection, model: str, limit: int) -> list[WaitingText]:
    """Texts that wait for a vector of this model, at most `limit` (-1: all), in the order they were added, windows last."""
    rows = connection.execute(
        f"SELECT t.text_hash, min(t.id), t.context, t.text FROM chunks t WHERE {_WAITS}"
        " GROUP BY t.text_hash ORDER BY 2 LIMIT :limit",
        {"model": model, "limit": limit},
    )
    found = [WaitingText(value, f"{context}\n\n{text}" if context else text) for value, _, context, text in rows]
    return found + _waiting_windows(connection, model, limit if limit < 0 else limit - len(found))


def _waiting_windows(connection: sqlite3.Connection, model: str, limit: int) -> list[WaitingText]:
    words = windows.cut_words(database.read_config(connection))
    if not words:
        return []
    rows = connection.execute(
        "SELECT t.text_hash, min(t.chunk_id), t.number, c.context, c.text FROM windows t"
        f" JOIN chunks c ON c.id = t.chunk_id WHERE {_WAITS} GROUP BY t.text_hash ORDER BY 2, 3 LIMIT :limit",
        {"model": model, "limit": limit},
    )
    return [WaitingText(value, windows.texts(context, text, words)[number]) for value, _, number, context, text in rows]


def waiting_count(connection: sqlite3.Connection, model: str) -> int:
    """Distinct texts that wait for a vector of this model."""
    texts = "SELECT t.text_hash FROM {} t WHERE " + _WAITS
    both = f"{texts.format('chunks')} UNION {texts.format('windows')}"
    return int(connection.execute(f"SELECT count(*) FROM ({both})", {"model": model}).fetchone()[0])


def window_count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM windows").fetchone()[0])


def text_count(connection: sqlite3.Connection) -> int:
    """Distinct texts that have a vector or should have one."""
    both = "SELECT text_hash FROM chunks UNION SELECT text_hash FROM windows"
    return int(connection.execute(f"SELECT count(*) FROM ({both})").fetchone()[0])


def hashes_of(connection: sqlite3.Connection, document_id: int) -> list[bytes]:
    """Of the texts of a document that have a vector or should have one: its chunks in reading order, then their windows."""
    chunks = "SELECT text_hash FROM chunks WHERE document_id = ? ORDER BY chunk_index"
    parts = "SELECT w.text_hash FROM chunks c JOIN windows w ON w.chunk_id = c.id WHERE c.document_id = ?"
    return [row[0] for query in (chunks, parts) for row in connection.execute(query, (document_id,))]


def dim_of(connection: sqlite3.Connection, model: str) -> int | None:
    """How many numbers the vectors of this model have; None if there are none yet. Looks at all vectors in the worst case."""
    row = connection.execute("SELECT length(vector) FROM vectors WHERE model = ? LIMIT 1", (model,)).fetchone()
    return row[0] // np.dtype(np.float32).itemsize if row else None


def of_these(connection: sqlite3.Connection, chunk_ids: Collection[int], model: str, dim: int) -> Vectors:
    """The vectors of those chunks that have a sound one of this model, float32 (n, dim), unit rows."""
    rows = connection.execute(
        f"SELECT v.vector FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash AND v.model = ? AND length(v.vector) = ?"
        f" WHERE c.id IN ({','.join(map(str, chunk_ids))}) ORDER BY c.id",
        (model, dim * np.dtype(np.float32).itemsize),
    )
    found = np.frombuffer(b"".join(vector for (vector,) in rows), "<f4").reshape(-1, dim)
    sound: Vectors = found[np.isfinite(found).all(axis=1)]
    return sound


def of_chunks(
    connection: sqlite3.Connection, model: str, dim: int,
    *, after_seq: int, with_windows: bool = False, batch_size: int = 2048,
) -> Iterator[tuple[npt.NDArray[np.int64], Vectors]]:  # fmt: skip
    """Batches of (row ids, rows of the matrix) of all documents that may have other rows than at `after_seq` (-1: of all).

    A chunk has a row when it has both a document and a vector, whichever came later; what the row is, `index.neighbours`
    says. With windows, each of these whose chunk has a row has one as well: its vector, as it is. A vector that does not have
    `dim` numbers is left out, so that one damaged row does not stop the others.
    """
    changed = "1" if after_seq < 0 else f"c.document_id IN ({_CHANGED}{_CHANGED_WINDOWS if with_windows else ''})"
    values = {"model": model, "seq": after_seq, "size": dim * np.dtype(np.float32).itemsize}
    cursor = connection.execute(f"{_WHOLES} WHERE {changed} ORDER BY c.document_id, c.chunk_index", values)
    yield from neighbours.rows((Placed(*row) for row in cursor), dim, batch_size)
    if with_windows:
        cursor = connection.execute(f"{_WINDOWS} WHERE {changed} ORDER BY w.chunk_id, w.number", values)
        while rows := cursor.fetchmany(batch_size):
            ids = np.array([windows.row_id(chunk_id, number) for chunk_id, number, _ in rows], np.int64)
            yield ids, np.frombuffer(b"".join(vector for *_, vector in rows), "<f4").reshape(len(rows), dim)


_WHOLES = (
    "SELECT c.document_id, c.chunk_index, c.id, v.vector FROM chunks c JOIN documents d ON d.id = c.document_id"
    " JOIN vectors v ON v.text_hash = c.text_hash AND v.model = :model AND length(v.vector) = :size"
)
_WINDOWS = (
    "SELECT w.chunk_id, w.number, v.vector FROM windows w JOIN chunks c ON c.id = w.chunk_id"
    " JOIN vectors whole ON whole.text_hash = c.text_hash AND whole.model = :model AND length(whole.vector) = :size"
    " JOIN vectors v ON v.text_hash = w.text_hash AND v.model = :model AND length(v.vector) = :size"
)
_CHANGED = (
    "SELECT id FROM documents WHERE seq > :seq UNION"
    " SELECT c.document_id FROM vectors v JOIN chunks c ON c.text_hash = v.text_hash WHERE v.seq > :seq"
)
_CHANGED_WINDOWS = (
    " UNION SELECT c.document_id FROM vectors v JOIN windows w ON w.text_hash = v.text_hash"
    " JOIN chunks c ON c.id = w.chunk_id WHERE v.seq > :seq"
)


def purge(connection: sqlite3.Connection, models: Collection[str]) -> int:
    """Drop vectors of other models than these, and of texts that no chunk or window holds any more; returns how many."""
    cursor = connection.execute(
        f"DELETE FROM vectors WHERE model NOT IN ({', '.join('?' * len(models))})"
        " OR NOT (EXISTS (SELECT 1 FROM chunks c WHERE c.text_hash = vectors.text_hash)"
        " OR EXISTS (SELECT 1 FROM windows w WHERE w.text_hash = vectors.text_hash))",
        tuple(models),
    )
    return cursor.rowcount
