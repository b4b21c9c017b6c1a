"""The values that pass between readers, chunkers and use cases.

All are frozen `msgspec.Struct`s, so that they cross process boundaries and become JSON as they are. Nothing here reads,
writes or decides.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

BlockKind = Literal["text", "code", "table", "data"]
OCR_PAGES = "ocr_pages"
"""The key of a document's metadata that says which of its pages were read from a picture: `[[first, last], ...]`, from 1."""

WARNINGS = "reader_warnings"
"""The key of a document's metadata that says what was lost or repaired while it was read."""


class Lines(msgspec.Struct, frozen=True, array_like=True):
    """A range of lines in the source file, counted from 1, both ends included. JSON: `[first, last]`."""

    first: int
    last: int


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A run of text that a reader found to belong together: a paragraph run, a table, a fenced block, a function.

    Blocks come in reading order. A chunker may join neighbours and split what is too long; it does not cut a `code` or
    `table` block that fits in one chunk.
    """

    text: str
    kind: BlockKind = "text"
    heading: tuple[str, ...] = ()
    """The chain of headings above the block, outermost first; for data the key path."""
    page: int | None = None
    """Page, slide or sheet number, counted from 1."""
    lines: Lines | None = None
    places: tuple[Lines | None, ...] = ()
    """Where each line of the text stands in the file, None: in no line of it. Empty where they follow each other from `lines` on."""
    symbol: str | None = None
    """The qualified name of the function, class or method that the block defines (`Store.open`)."""
    context: str = ""
    """What the text needs to be understood beyond its headings: a class's signature and docstring, a table's caption."""
    metadata: dict[str, Any] = {}
    """What only this kind of document knows of a block, JSON values: who speaks in a turn, and when."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader made of one source."""

    blocks: tuple[Block, ...]
    extractor: str
    """Who read it, e.g. `markdown`, `pymupdf`, `pymupdf+layout`, `docling`, `rapidocr`, `ast`, `tree-sitter`."""
    title: str | None = None
    language: str | None = None
    """Programming language of code (`python`), else None."""
    metadata: dict[str, Any] = {}
    """JSON values only."""
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """One sentence each: what was lost or repaired while reading."""


class Resume(msgspec.Struct, frozen=True):
    """Where to go on in a file of which the store holds what stands before."""

    byte: int
    """From 0; the beginning of a line."""
    line: int
    """Its number, from 1."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a reader is asked to read."""

    path: str
    """Absolute path of the file to open."""
    doc_type: str
    language: str | None = None
    resume: Resume | None = None
    """Only for transcripts that have grown; None: from the beginning."""


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user decided about reading; every reader takes what concerns it."""

    enable_ocr: Literal["auto", "always", "never"] = "auto"
    pdf_engine: Literal["auto", "docling", "pymupdf"] = "auto"
    password: str | None = None
    max_ocr_pages: int = 200
    """Pages a document that may be sent through OCR; the rest is left out with a warning."""
    docling_artifacts: str | None = None
    """Folder that holds Docling's models, as `kb init --docling` leaves them."""
    max_expanded_bytes: int = 512 * 1024 * 1024
    """What an archive (docx, xlsx, epub ...) may unpack to before it is refused as a bomb."""


class Reader(Protocol):
    """One kind of document to one `Document`. Found in the table of `kb.read.kinds`, imported when first needed.

    Raises `kb.errors.UnreadableFile` (or a subclass) with one line that says why and what to do.
    """

    def __call__(self, source: Source, options: ReadOptions) -> Document: ...


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A passage as it is stored, searched and cited."""

    text: str
    token_count: int
    """Tokens of `text` by the model's tokenizer, special tokens not counted."""
    heading: tuple[str, ...] = ()
    page: int | None = None
    lines: Lines | None = None
    context: str = ""
    """Embedded and searched before `text`, but not part of it: the heading chain, or what the reader gave."""
    metadata: dict[str, Any] = {}

    @property
    def embedded_text(self) -> str:
        """What the model is shown, its own passage prefix aside."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text
