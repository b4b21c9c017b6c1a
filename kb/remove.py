"""Remove documents: one transaction for all that were named, or none of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from index import documents, tags
from index.store import writing
from kb import resolve
from kb.citing import summary
from kb.wire import RemoveAnswer


def remove(data_dir: Path, references: Sequence[str], *, lock_timeout_s: float) -> RemoveAnswer:
    """Raises NotFound, and removes nothing, where one of the references means no document.

    Rows of the matrix die in place; `kb compact` gives their room back. The files on disk are not touched.
    """
    with writing(data_dir, lock_timeout_s) as writer:
        found = {row.id: row for name in references for row in resolve.document_rows(writer.connection, name)}
        with writer.transaction():
            documents.delete(writer.connection, found)
            tags.forget_unused(writer.connection)
    chunks = sum(row.chunk_count for row in found.values())
    return RemoveAnswer(removed=tuple(summary(row) for row in found.values()), chunks=chunks)
