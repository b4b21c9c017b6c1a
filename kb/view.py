"""Look at a passage where it stands: the page of its PDF or the picture, as a picture with the passage marked; of other documents the lines.

What is shown is the file. Where that has changed or is gone, it is the original, if that was kept; else the page of a changed PDF as it is
now, if it still can be drawn and nothing on it looks like a secret; else the text that was read. Where a secret was not stored, neither page
nor lines of the file are shown: then it is that text too. Only reads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from index import database, documents, originals
from index.rows import ChunkRow, DocumentRow
from index.store import reading
from kb import resolve
from kb.candidates import hash_file
from kb.chunk.pack import joined
from kb.citing import fate, heading_of, is_stale, lines_of, pages_known, pages_of, summary
from kb.errors import BadRequest, NotFound, UnreadableFile
from kb.excerpts import excerpt, of_page
from kb.read.picture import LONGEST_SIDE, Picture, Size
from kb.scrub import find
from kb.scrub.found import MARK
from kb.wire_view import ExcerptLine, ViewAnswer

DPI = (20, 600)
"""The least, at which a page is a stamp, and the most."""
SHOWN_AS_PICTURES = frozenset({"pdf", "image"})
AS_READ = "this is the text that was read"
AS_IT_IS_NOW = "the file has changed since it was read: this is how it is now"
Origin = Literal["file", "original", "store"]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What of a document is wanted, and as what."""

    page: int | None = None
    """From 1. The reference is then a document; without, an id is a chunk's, as searches show them."""
    dpi: int = 110
    longest_side: int = LONGEST_SIDE
    """Pixels that neither side of the picture exceeds."""
    draws_text: bool = True
    """Whether an excerpt becomes a picture too."""
    password: str | None = None
    """Opens an encrypted PDF."""


class Viewed(msgspec.Struct, frozen=True):
    answer: ViewAnswer
    png: bytes
    """Empty where an excerpt was not to be drawn."""


class _Wanted(msgspec.Struct, frozen=True):
    """The rows that the reference means."""

    document: DocumentRow
    chunks: tuple[ChunkRow, ...]
    """All of the document."""
    chunk: ChunkRow | None
    pages: tuple[int, ...]
    """Where the passage may be; empty: the document has none."""

    @property
    def here(self) -> tuple[ChunkRow, ...]:
        """What the reference means of the document; nothing where it means all."""
        if self.chunk is not None:
            return (self.chunk,)
        return tuple(chunk for chunk in self.chunks if set(_all_pages_of(chunk)) & set(self.pages))

    @property
    def hides_a_secret(self) -> bool:
        near = [chunk for chunk in self.chunks if set(_all_pages_of(chunk)) & set(self.pages)] or self.chunks
        return any(MARK in chunk.text or MARK in chunk.heading for chunk in near)


def view(data_dir: Path, reference: str, look: Look | None = None) -> Viewed:
    """The passage with this chunk's id; with a page, that page of a document by its id or path; a path alone: its beginning.

    Raises NotFound for a document, chunk or page that is not there, UnreadableFile where the file cannot be drawn.
    """
    look = look or Look()
    if not DPI[0] <= look.dpi <= DPI[1]:
        raise BadRequest(f"dpi {look.dpi} is out of range", f"say {DPI[0]} to {DPI[1]}")
    with ExitStack() as files:
        with reading(data_dir) as reader, database.snapshot(reader.connection):
            wanted = _wanted(reader.connection, reference, look.page)
            path, origin, said = files.enter_context(_file(reader.connection, wanted))
        if path and wanted.document.doc_type in SHOWN_AS_PICTURES:
            try:
                return _pictured(wanted, path, origin, look, said)
            except (NotFound, UnreadableFile):
                if said != (AS_IT_IS_NOW,):
                    raise
                path, said = None, (f"{fate(wanted.document)}: {AS_READ}",)
        return _excerpt(wanted, path, origin, look, said)


def _all_pages_of(chunk: ChunkRow) -> Sequence[int]:
    pages = pages_of(chunk)
    return range(pages[0], pages[1] + 1) if pages else ()


def _wanted(connection: sqlite3.Connection, reference: str, page: int | None) -> _Wanted:
    chunk = _chunk(connection, reference) if page is None and resolve.is_id(reference) else None
    if chunk:
        document = documents.by_ids(connection, [chunk.document_id])[chunk.document_id]
    else:
        document = resolve.document_rows(connection, reference)[0]
    pages: Sequence[int] = (page,) if page is not None else _all_pages_of(chunk) if chunk else ()
    if not pages and document.doc_type in SHOWN_AS_PICTURES:
        pages = (1,)
    return _Wanted(document, tuple(documents.chunks_of(connection, document.id)), chunk, tuple(pages))


def _chunk(connection: sqlite3.Connection, reference: str) -> ChunkRow:
    if not documents.chunks_by_ids(connection, [int(reference)]) and documents.by_id(connection, int(reference)):
        raise NotFound(f"no chunk {reference}", f"a page of document {reference}: kb view {reference} --page 1")
    return resolve.chunk_row(connection, reference)


@contextmanager
def _file(connection: sqlite3.Connection, wanted: _Wanted) -> Iterator[tuple[str | None, Origin, tuple[str, ...]]]:
    """The file to be shown, for as long as the context lasts, which one it is, and what is to be said of that; None: the stored text."""
    row = wanted.document
    if wanted.hides_a_secret:
        yield None, "store", (f"a secret stands here that was not stored: {AS_READ}, not the file",)
    elif row.source_path and not _has_changed(row):
        yield row.source_path, "file", ()
    elif row.source_path is None and row.doc_type not in SHOWN_AS_PICTURES:  # a note
        yield None, "store", ()
    elif originals.name_of(connection, row.content_hash):
        with _original(connection, row) as path:
            yield path, "original", (f"{fate(row)}: this is the original that was kept",)
    elif row.source_path and row.doc_type == "pdf" and Path(row.source_path).is_file():
        yield row.source_path, "file", (AS_IT_IS_NOW,)
    else:
        yield None, "store", (f"{fate(row)}: {AS_READ}",)


def _has_changed(row: DocumentRow) -> bool:
    """Whether its bytes are other ones: a new time alone is none."""
    if not is_stale(row):
        return False
    try:
        return hash_file(Path(row.source_path or ""))[0] != row.content_hash
    except OSError:
        return True


@contextmanager
def _original(connection: sqlite3.Connection, row: DocumentRow) -> Iterator[str]:
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(prefix="kb-") as file:  # readable by its owner alone
        for piece in originals.pieces(connection, row.content_hash):
            file.write(piece)
        file.flush()
        yield file.name


def _pictured(wanted: _Wanted, path: str, origin: Origin, look: Look, said: tuple[str, ...]) -> Viewed:
    size = Size(dpi=look.dpi, longest_side=look.longest_side)
    passage = wanted.chunk.text if wanted.chunk else ""
    if wanted.document.doc_type == "image":
        from kb.read import image

        return _answer(wanted, "image", origin, said, image.picture(path, wanted.pages[0], size))
    from kb.read.pdf.picture import of_page

    is_as_read = AS_IT_IS_NOW not in said
    picture = of_page(path, wanted.pages, passage, size, look.password, is_as_read=is_as_read)
    if not is_as_read and find(picture.text):
        raise UnreadableFile(f"{path}: page {picture.number} holds what looks like a secret, and was not read")
    if picture.dpi < look.dpi:
        said = (*said, f"the page is large: drawn at {picture.dpi} dpi")
    if passage:
        said = (*said, *_unmarked(picture))
    return _answer(wanted, "page", origin, said, picture)


def _unmarked(picture: Picture) -> Iterator[str]:
    """What of a passage is not marked on its page, and why."""
    if not picture.marks and not (picture.rows and picture.text.strip()):
        yield "the passage is not marked: its words are not in the text of the page (a scan, or another version)"
    elif picture.rows_marked < picture.rows:
        rows = f"{picture.rows_marked} of {picture.rows} rows of the table are marked"
        yield f"{rows}: the others are not in the text of this page, or not in one place for sure"


def _excerpt(wanted: _Wanted, path: str | None, origin: Origin, look: Look, said: tuple[str, ...]) -> Viewed:
    is_page = wanted.chunk is None and bool(wanted.here)
    lines = of_page(wanted.here) if is_page else excerpt(wanted.document, path, wanted.chunks, wanted.here)
    if not any(line.number for line in lines):
        origin = "store"
    if look.page is not None and not wanted.here:
        raise NotFound(f"nothing on page {look.page}", pages_known(wanted.chunks, wanted.document))
    picture = None
    if look.draws_text:
        from kb.read.excerpt import ShownLine, of_lines

        shown = [ShownLine(line.text, line.number, line.marked) for line in lines]
        row = wanted.document
        size = Size(dpi=look.dpi, longest_side=look.longest_side)
        heading = heading_of(wanted.chunk) if wanted.chunk else ""
        place = "   ".join(filter(None, [row.source_path, heading]))
        picture = of_lines(shown, row.title, place, size, is_code=row.doc_type in {"code", "data"})
    return _answer(wanted, "excerpt", origin, said, picture, lines)


def _answer(
    wanted: _Wanted,
    kind: Literal["page", "image", "excerpt"],
    origin: Origin,
    said: tuple[str, ...],
    picture: Picture | None,
    lines: Sequence[ExcerptLine] = (),
) -> Viewed:
    drawn = picture or Picture(png=b"", width=0, height=0)
    chunk = wanted.chunk
    page = drawn.number if kind != "excerpt" else wanted.pages[0] if wanted.pages else None
    on_page = [other for other in wanted.chunks if page is not None and page in _all_pages_of(other)]
    text = chunk.text if chunk else joined((other.text, other.metadata) for other in on_page)
    answer = ViewAnswer(
        document=summary(wanted.document), chunk_id=chunk.id if chunk else None, kind=kind, origin=origin, page=page,
        page_count=drawn.page_count, lines=lines_of(chunk) if chunk else None, heading=heading_of(chunk) if chunk else "",
        text=text or "\n".join(line.text for line in lines), excerpt=tuple(lines), width=drawn.width, height=drawn.height,
        dpi=drawn.dpi, marks=drawn.marks, table_rows=drawn.rows, table_rows_marked=drawn.rows_marked, warnings=said,
    )  # fmt: skip
    return Viewed(answer, drawn.png)
