"""Rows of the store as answers show them: where a text stands, and whether its file is still what was read."""

from __future__ import annotations

import os

from index import meta
from index.rows import ChunkRow, DocumentRow
from kb.wire import ChunkText, DocumentSummary


def lines_of(chunk: ChunkRow) -> tuple[int, int] | None:
    """First and last line in the file, from 1."""
    if chunk.start_line is None or chunk.end_line is None:
        return None
    return chunk.start_line, chunk.end_line


def is_stale(document: DocumentRow) -> bool:
    """Whether the file is gone or has another time or size: one stat."""
    if document.source_path is None:
        return False
    try:
        status = os.stat(document.source_path)  # noqa: PTH116  paths are verbatim strings
    except OSError:
        return True
    return status.st_mtime_ns != document.mtime_ns or status.st_size != document.size


def summary(row: DocumentRow) -> DocumentSummary:
    return DocumentSummary(
        document_id=row.id, title=row.title, path=row.source_path, type=row.doc_type, tags=row.tags,
        language=row.language, chunks=row.chunk_count, size=row.size, created_at=row.created_at,
        modified_at=row.modified_at, stale=is_stale(row), meta=meta.given(row.metadata),
    )  # fmt: skip


def chunk_text(chunk: ChunkRow) -> ChunkText:
    return ChunkText(
        chunk_id=chunk.id, chunk_index=chunk.chunk_index, text=chunk.text, heading=chunk.heading, page=chunk.page,
        lines=lines_of(chunk), token_count=chunk.token_count, metadata=chunk.metadata,
    )  # fmt: skip
