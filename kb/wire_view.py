"""What `kb view` answers: which page or part of a document was shown, and where the passage stands in the picture."""

from __future__ import annotations

from typing import Literal

import msgspec

from kb.wire import Answer, DocumentSummary

Rectangle = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels of the picture, from its top left."""


class ExcerptLine(msgspec.Struct, frozen=True, kw_only=True):
    number: int | None
    """In the file, from 1; null where the text stored is not the file's lines."""
    text: str
    marked: bool
    """Whether it is of the passage, and not what stands around it."""


class ViewAnswer(Answer, frozen=True):
    document: DocumentSummary
    chunk_id: int | None
    """The passage; null where a document was asked for."""
    kind: Literal["page", "image", "excerpt"]
    """page: of a PDF, rendered. image: the document is a picture. excerpt: lines of a text, or what was read from another document."""
    origin: Literal["file", "original", "store"]
    """What is shown: the file as it is now, the file as it was (`kb add --keep-original`), or the text that was read from it."""
    page: int | None
    """Page, slide or sheet, from 1."""
    page_count: int | None
    """Of a PDF."""
    lines: tuple[int, int] | None
    """Of the passage in the file, from 1."""
    heading: str
    text: str
    """The passage; where a document was asked for, the text of that page or of the excerpt."""
    excerpt: tuple[ExcerptLine, ...]
    """Of kind excerpt."""
    picture: str | None = None
    """The file that it was written to."""
    width: int = 0
    """Pixels of the picture; 0: none was made."""
    height: int = 0
    dpi: int = 0
    """As rendered: less than asked for where the page would be too large. 0: a document that is a picture."""
    marks: tuple[Rectangle, ...] = ()
    """Where the passage stands in the picture, a rectangle a line, of a table a cell. What could as well stand elsewhere is not marked."""
    table_rows: int = 0
    """Of tables in the passage, without their heads. Of a page."""
    table_rows_marked: int = 0
