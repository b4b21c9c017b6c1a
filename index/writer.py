"""What the one writer does: transactions, and documents with the vectors that are their own.

Not here: how it comes to be the only one (`index.store.writing`), the tables (`index.documents`, `index.vectors`).
"""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from index import database, documents
from index.rows import NewDocument

if TYPE_CHECKING:
    from index.vectors import Vectors


class Writer:
    """The one process that may change the store now."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.connection = connection

    def transaction(self) -> AbstractContextManager[int]:
        """One change, all or nothing, and its number in the log."""
        return database.transaction(self.connection)

    def insert(
        self, document: NewDocument, new_vectors: dict[bytes, Vectors], model: str, *, seq: int, created_at: str = ""
    ) -> int:
        """Add a document with those of the new vectors that are its own; returns its id. `created_at`: unless that is now.

        `model` is the key of the model that made the vectors. Where the store has switched to another meanwhile, they are
        kept under the old key, and the document's texts wait for `kb reindex`.
        """
        document_id = documents.insert(self.connection, document, created_at=created_at or utc_now(), seq=seq)
        self._insert_vectors(document_id, new_vectors, model, seq=seq)
        return document_id

    def append(
        self, document_id: int, document: NewDocument, new_vectors: dict[bytes, Vectors], model: str,
        *, first_chunk: int, seq: int,
    ) -> int:  # fmt: skip
        """`index.documents.append`, with the vectors that are new as in `insert`; returns how many chunks are new."""
        count = documents.append(self.connection, document_id, document, first_chunk=first_chunk, seq=seq)
        self._insert_vectors(document_id, new_vectors, model, seq=seq)
        return count

    def _insert_vectors(self, document_id: int, new_vectors: dict[bytes, Vectors], model: str, *, seq: int) -> None:
        from index import vectors

        for text_hash in vectors.hashes_of(self.connection, document_id) if new_vectors else ():
            if text_hash in new_vectors:
                vectors.insert(self.connection, [text_hash], new_vectors[text_hash][None, :], model, seq=seq)


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
