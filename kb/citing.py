"""Rows of the store as answers show them: where a text stands, and whether its file is still what was read."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from index import meta
from index.rows import ChunkRow, DocumentRow
from kb.types import OCR_PAGES, WARNINGS
from kb.wire import ChunkText, DocumentSummary


def lines_of(chunk: ChunkRow) -> tuple[int, int] | None:
    """First and last line in the file, from 1."""
    if chunk.start_line is None or chunk.end_line is None:
        return None
    return chunk.start_line, chunk.end_line


def pages_of(chunk: ChunkRow) -> tuple[int, int] | None:
    """First and last page, slide or sheet, from 1."""
    if chunk.page is None:
        return None
    first, last = chunk.metadata.get("pages", (chunk.page, chunk.page))
    return first, last


def pages_together(ranges: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    """From the first page of any to the last."""
    ends = [end for pages in ranges for end in pages or ()]
    return (min(ends), max(ends)) if ends else None


def pages_known(chunks: Iterable[ChunkRow], document: DocumentRow) -> str:
    """To whom asks for a page that is not there: which ones hold text."""
    every = pages_together(map(pages_of, chunks))
    if every:
        return f"it has text on pages {every[0]} to {every[1]}"
    return f"type {document.doc_type} has no pages: read all of it, or around a chunk"


def by_ocr(chunk: ChunkRow, document: DocumentRow) -> bool | UnsetType:
    """True where some of the text was read from a picture, else nothing."""
    pages = document.metadata.get(OCR_PAGES)
    if not pages or chunk.page is None:
        return UNSET
    first, last = chunk.metadata.get("pages", (chunk.page, chunk.page))
    return any(begin <= last and first <= end for begin, end in pages) or UNSET


def heading_of(chunk: ChunkRow) -> str:
    """The heading chain; of code, which has none, the symbol that the chunk defines."""
    symbol: str = chunk.metadata.get("symbol", "")
    return chunk.heading or symbol


def fate(document: DocumentRow) -> str:
    """What became of the file of a document that is stale, or that came from none."""
    if document.source_path is None:
        return "it came from no file"
    changed = os.path.exists(document.source_path)  # noqa: PTH110  as below
    return "the file has changed since it was read" if changed else "the file is gone"


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
        warnings=tuple(row.metadata.get(WARNINGS, ())),
    )  # fmt: skip


def chunk_text(chunk: ChunkRow, document: DocumentRow) -> ChunkText:
    return ChunkText(
        chunk_id=chunk.id, chunk_index=chunk.chunk_index, text=chunk.text, heading=heading_of(chunk), page=chunk.page,
        pages=pages_of(chunk), lines=lines_of(chunk), token_count=chunk.token_count, metadata=chunk.metadata,
        ocr=by_ocr(chunk, document),
    )  # fmt: skip
