"""Which document each chunk belongs to, in memory: what a filter that admits many documents is answered from.

SQLite takes half a microsecond for each chunk of those documents: of 123,000 that is more than all the rest of a search. A chunk stays
with its document as long as it lives, and no id is used twice, so what was read once is only ever added to. Chunks that went are still
in it: they have no row in the matrix and come in no answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from index import database, documents, filters
from index.columns import Ids, is_among
from index.watermark import Watermark

FEW = 10
"""Where a filter admits less than one document in so many, SQLite is asked, unless the owners are known already."""
NONE = np.empty(0, np.int64)


class Owners(NamedTuple):
    mark: Watermark
    """The last transaction that is in it."""
    chunk_ids: Ids
    """Ascending."""
    document_ids: Ids
    """Of each of these chunks."""

    @classmethod
    def read(cls, connection: sqlite3.Connection, known: Owners | None) -> Owners:
        """As of the last transaction that `connection` sees; those that are known already are kept, if they are of its history."""
        head = database.head(connection)
        if known and known.mark == head:
            return known
        if known is None or not database.remembers(connection, known.mark):
            known = cls(head, NONE, NONE)
        newer = f" WHERE id > {known.chunk_ids[-1]}" if len(known.chunk_ids) else ""
        rows = connection.execute(f"SELECT id, document_id FROM chunks{newer}")
        pairs = np.fromiter((number for row in rows for number in row), np.int64).reshape(-1, 2)
        chunk_ids, document_ids = pairs[np.argsort(pairs[:, 0])].T
        return cls(
            head,
            np.concatenate([known.chunk_ids, chunk_ids]),
            np.concatenate([known.document_ids, document_ids]),
        )

    def of(self, wanted: Collection[int]) -> Ids:
        """The chunks of these documents, ascending."""
        return self.chunk_ids[is_among(self.document_ids, np.fromiter(wanted, np.int64, len(wanted)))]


def chunk_ids(
    connection: sqlite3.Connection, known: Owners | None, of: Collection[int], chunks: Collection[int] = ()
) -> tuple[Ids, Owners | None]:
    """The chunks of the documents `of`, and these chunks of others, ascending; and what is known of owners now.

    Chunks that went may be among them.
    """
    if known is None and len(of) * FEW < documents.count(connection):
        return filters.chunk_ids(connection, of, chunks), None
    known = Owners.read(connection, known)
    of_documents = known.of(of)
    return np.union1d(of_documents, np.fromiter(chunks, np.int64)) if chunks else of_documents, known
