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

from index import neighbours
from index.neighbours import Placed

Vectors = npt.NDArray[np.float32]


_WAITS = (
    "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.text_hash = c.text_hash AND v.model = :model)"
    " AND NOT EXISTS (SELECT 1 FROM unembedded u WHERE u.text_hash = c.text_hash AND u.model = :model)"
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
    connection.executemany(
        "INSERT OR IGNORE INTO vectors (text_hash, model, vector, seq) VALUES (?, ?, ?, ?)",
        ((value, model, row.tobytes(), seq) for value, row in zip(hashes, vectors, strict=True)),
    )


def waiting(connection: sqlite3.Connection, model: str, limit: int) -> list[WaitingText]:
    """Texts of live chunks that wait for a vector of this model, at most `limit`, in the order they were added."""
    rows = connection.execute(
        f"SELECT c.text_hash, min(c.id), c.context, c.text FROM chunks c WHERE {_WAITS}"
        " GROUP BY c.text_hash ORDER BY 2 LIMIT :limit",
        {"model": model, "limit": limit},
    )
    return [WaitingText(value, f"{context}\n\n{text}" if context else text) for value, _, context, text in rows]


def waiting_count(connection: sqlite3.Connection, model: str) -> int:
    """Distinct texts of live chunks that wait for a vector of this model."""
    row = connection.execute(f"SELECT count(DISTINCT c.text_hash) FROM chunks c WHERE {_WAITS}", {"model": model})
    return int(row.fetchone()[0])


def dim_of(connection: sqlite3.Connection, model: str) -> int | None:
    """How many numbers the vectors of this model have; None if there are none yet. Looks at all vectors in the worst case."""
    row = connection.execute("SELECT length(vector) FROM vectors WHERE model = ? LIMIT 1", (model,)).fetchone()
    return row[0] // np.dtype(np.float32).itemsize if row else None


def of_chunks(
    connection: sqlite3.Connection, model: str, dim: int, *, after_seq: int, batch_size: int = 2048
) -> Iterator[tuple[npt.NDArray[np.int64], Vectors]]:
    """Batches of (chunk ids, rows of the matrix) of all documents that may have other rows than at `after_seq` (-1: of all).

    A chunk has a row when it has both a document and a vector, whichever came later; what the row is, `index.neighbours`
    says. A vector that does not have `dim` numbers is left out, so that one damaged row does not stop the others.
    """
    query = (
        "SELECT c.document_id, c.chunk_index, c.id, v.vector FROM chunks c JOIN documents d ON d.id = c.document_id"
        " JOIN vectors v ON v.text_hash = c.text_hash AND v.model = :model AND length(v.vector) = :size"
        " WHERE {} ORDER BY c.document_id, c.chunk_index"
    )
    if after_seq < 0:
        query = query.format("1")
    else:
        query = query.format(
            "c.document_id IN (SELECT id FROM documents WHERE seq > :seq UNION"
            " SELECT c.document_id FROM vectors v JOIN chunks c ON c.text_hash = v.text_hash WHERE v.seq > :seq)"
        )
    cursor = connection.execute(query, {"model": model, "seq": after_seq, "size": dim * np.dtype(np.float32).itemsize})
    yield from neighbours.rows((Placed(*row) for row in cursor), dim, batch_size)


def purge(connection: sqlite3.Connection, models: Collection[str]) -> int:
    """Drop vectors of other models than these, and of texts that no chunk holds any more; returns how many."""
    cursor = connection.execute(
        f"DELETE FROM vectors WHERE model NOT IN ({', '.join('?' * len(models))})"
        " OR NOT EXISTS (SELECT 1 FROM chunks c WHERE c.text_hash = vectors.text_hash)",
        tuple(models),
    )
    return cursor.rowcount
