"""What is in the store: list documents, show one, get text to cite. Only reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from index import database, documents, failures, filters, originals
from index.filters import Filter
from index.rows import ChunkRow, DocumentRow
from index.store import reading
from kb import resolve
from kb.chunk.pack import joined
from kb.citing import chunk_text, fate, is_stale, pages_known, pages_of, summary
from kb.errors import BadRequest, NotFound
from kb.read.decode import read_text
from kb.transcripts import TYPE as TRANSCRIPT
from kb.types import WARNINGS
from kb.wire import GetAnswer, ListAnswer, ShowAnswer
from kb.wire_failed import FailedAnswer, FailedFile

LINE_TYPES = frozenset({"markdown", "text", "code", "data"})
"""Their lines are the lines of the file."""


class Part(msgspec.Struct, frozen=True):
    """Which part of a document is wanted; at most one of the three."""

    lines: tuple[int, int] | None = None
    page: int | None = None
    around: int | None = None
    """Chunks before and after; the reference is then a chunk's id."""


WHOLE = Part()


def list_documents(data_dir: Path, wanted: Filter, *, limit: int | None, offset: int) -> ListAnswer:
    with reading(data_dir) as reader, database.snapshot(reader.connection):
        admitted = filters.document_ids(reader.connection, wanted)
        rows = documents.page_of(reader.connection, admitted, limit=limit, offset=offset)
        total = documents.count(reader.connection) if admitted is None else len(admitted)
    return ListAnswer(documents=tuple(summary(row) for row in rows), total=total, offset=offset, returned=len(rows))


def list_failed(data_dir: Path, *, limit: int | None, offset: int) -> FailedAnswer:
    """Files that could not be read, then those without text, by path."""
    with reading(data_dir) as reader:
        rows = sorted(failures.every(reader.connection), key=lambda row: row.kind)
    page = rows[offset:] if limit is None else rows[offset : offset + limit]
    files = tuple(
        FailedFile(path=row.source_path, status=row.kind, reason=row.reason, failed_at=row.failed_at) for row in page
    )
    return FailedAnswer(files=files, total=len(rows), offset=offset, returned=len(files))


def show(data_dir: Path, reference: str) -> ShowAnswer:
    """Everything the store knows of a document. Raises NotFound."""
    with reading(data_dir) as reader, database.snapshot(reader.connection):
        row = resolve.document_rows(reader.connection, reference)[0]
        chunks = documents.chunks_of(reader.connection, row.id)
        original = originals.name_of(reader.connection, row.content_hash)
    metadata = dict(row.metadata)
    return ShowAnswer(
        document=summary(row), extractor=row.extractor, content_hash=row.content_hash, original=original,
        warnings=tuple(metadata.pop(WARNINGS, ())), metadata=metadata, chunks=tuple(chunk_text(chunk, row) for chunk in chunks),
    )  # fmt: skip


def original(data_dir: Path, reference: str) -> Iterator[bytes]:
    """The file of a document as it was, in pieces. Raises NotFound where it was not kept."""
    with reading(data_dir) as reader, database.snapshot(reader.connection):
        row = resolve.document_rows(reader.connection, reference)[0]
        if originals.name_of(reader.connection, row.content_hash) is None:
            raise NotFound(f"the original of {row.title} is not kept", "kb add --keep-original FILE keeps it")
        yield from originals.pieces(reader.connection, row.content_hash)


def get(data_dir: Path, reference: str, part: Part) -> GetAnswer:
    """The text of a document or of a part of it. Raises NotFound where there is no such part."""
    with reading(data_dir) as reader, database.snapshot(reader.connection):
        if part.around is not None:
            chunk = resolve.chunk_row(reader.connection, reference)
            row = documents.by_ids(reader.connection, [chunk.document_id])[chunk.document_id]
            near = range(chunk.chunk_index - part.around, chunk.chunk_index + part.around + 1)
            chunks = [c for c in documents.chunks_of(reader.connection, row.id) if c.chunk_index in near]
        else:
            row = resolve.document_rows(reader.connection, reference)[0]
            chunks = documents.chunks_of(reader.connection, row.id)
    if part.page is not None:
        chunks = _on_page(row, chunks, part.page)
    warnings: tuple[str, ...] = ()
    text = joined((chunk.text, chunk.metadata) for chunk in chunks)
    if part.lines is not None:
        chunks, text, warnings = _lines(row, chunks, part.lines)
    return GetAnswer(
        document=summary(row), text=text, chunks=tuple(chunk_text(chunk, row) for chunk in chunks), warnings=warnings
    )


def _on_page(row: DocumentRow, chunks: Sequence[ChunkRow], page: int) -> list[ChunkRow]:
    found = [chunk for chunk in chunks if (pages := pages_of(chunk)) and pages[0] <= page <= pages[1]]
    if not found:
        raise NotFound(f"nothing on page {page}", pages_known(chunks, row))
    return found


def _lines(
    row: DocumentRow, chunks: Sequence[ChunkRow], wanted: tuple[int, int]
) -> tuple[list[ChunkRow], str, tuple[str, ...]]:
    """The lines as they stand in the file; the chunks that hold them where the file has changed or has no such lines."""
    first, last = wanted
    touching = [c for c in chunks if c.start_line is not None and c.start_line <= last and (c.end_line or 0) >= first]
    if not touching:
        ends = [chunk.end_line for chunk in chunks if chunk.end_line is not None]
        without = (
            "it has pages and no lines"
            if any(c.page for c in chunks)
            else "it has no lines: read all of it, or around a chunk"
        )
        raise NotFound(
            f"nothing on lines {first}:{last}", f"it has text on lines 1 to {max(ends)}" if ends else without
        )
    if row.doc_type in LINE_TYPES and row.source_path and not is_stale(row):
        return touching, "\n".join(_lines_of(row.source_path)[first - 1 : last]), ()
    text = joined((chunk.text, chunk.metadata) for chunk in touching)
    if row.doc_type == TRANSCRIPT and not is_stale(row):  # a line of a log is JSON, which nobody wants to read
        return touching, text, ()
    return touching, text, (f"{fate(row)}: these are the stored chunks that held the lines",)


def _lines_of(path: str) -> list[str]:
    return read_text(path).text.removesuffix("\n").split("\n")


def lines_of_text(answer: GetAnswer, asked: Sequence[int] | None) -> tuple[int, int] | None:
    """Those that were `asked` for, where a file has lines, else those that the answer's chunks come from."""
    if asked is not None and answer.document.type in LINE_TYPES and not answer.warnings:
        return asked[0], asked[0] + answer.text.count("\n")
    known = [line for chunk in answer.chunks if chunk.lines for line in chunk.lines]
    return (min(known), max(known)) if known else None


def parse_lines(text: str) -> tuple[int, int]:
    """`A:B`, `A:` or `A`, from 1. Raises BadRequest."""
    first, colon, last = text.partition(":")
    try:
        start = int(first)
        end = int(last) if last else (10**9 if colon else start)
    except ValueError:
        start = end = 0
    if not 1 <= start <= end:
        raise BadRequest(f"--lines {text!r} is not a range", "say --lines 10:20")
    return start, end
