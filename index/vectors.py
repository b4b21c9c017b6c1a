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

Vectors = npt.NDArray[np.float32]


class WaitingText(msgspec.Struct, frozen=True):
    """A text of the store that has no vector of a model yet."""

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
    """Texts of live chunks without a vector of this model, at most `limit`, in the order they were added."""
    rows = connection.execute(
        "SELECT c.text_hash, min(c.id), c.context, c.text FROM chunks c WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors v WHERE v.text_hash = c.text_hash AND v.model = ?)"
        " GROUP BY c.text_hash ORDER BY 2 LIMIT ?",
        (model, limit),
    )
    return [WaitingText(value, f"{context}\n\n{text}" if context else text) for value, _, context, text in rows]


def waiting_count(connection: sqlite3.Connection, model: str) -> int:
    """Distinct texts of live chunks without a vector of this model."""
    row = connection.execute(
        "SELECT count(DISTINCT c.text_hash) FROM chunks c WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors v WHERE v.text_hash = c.text_hash AND v.model = ?)",
        (model,),
    ).fetchone()
    return int(row[0])


def of_chunks(
    connection: sqlite3.Connection, model: str, dim: int, *, after_seq: int, batch_size: int = 2048
) -> Iterator[tuple[npt.NDArray[np.int64], Vectors]]:
    """Batches of (chunk ids, vectors) that became searchable after `after_seq` (-1: all), by chunk id.

    A chunk becomes searchable when it has both a document and a vector, whichever came later. A vector that does not have
    `dim` numbers is left out, so that one damaged row does not stop the others.
    """
    query = (
        "SELECT c.id, v.vector FROM chunks c JOIN documents d ON d.id = c.document_id"
        " JOIN vectors v ON v.text_hash = c.text_hash AND v.model = :model AND length(v.vector) = :size"
        " WHERE {} ORDER BY c.id"
    )
    if after_seq < 0:
        query = query.format("1")
    else:
        query = query.format(
            "c.id IN (SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id WHERE d.seq > :seq UNION"
            " SELECT c.id FROM vectors v JOIN chunks c ON c.text_hash = v.text_hash WHERE v.seq > :seq)"
        )
    cursor = connection.execute(query, {"model": model, "seq": after_seq, "size": dim * np.dtype(np.float32).itemsize})
    while rows := cursor.fetchmany(batch_size):
        ids = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
        yield ids, np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), dim)


def purge(connection: sqlite3.Connection, models: Collection[str]) -> int:
    """Drop vectors of other models than these, and of texts that no chunk holds any more; returns how many."""
    cursor = connection.execute(
        f"DELETE FROM vectors WHERE model NOT IN ({', '.join('?' * len(models))})"
        " OR NOT EXISTS (SELECT 1 FROM chunks c WHERE c.text_hash = vectors.text_hash)",
        tuple(models),
    )
    return cursor.rowcount
