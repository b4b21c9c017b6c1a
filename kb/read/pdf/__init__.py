"""PDF: triage of every page, then the cheapest reader that is right for it. See ARCHITECTURE.md, "Ingest".

opening   opens the file, or says why not          order      columns and rows
stext     one run of MuPDF over a page             resources  images and fonts that a page names
page      text of a page, with places and fonts    prose      lines to paragraphs and headings
triage    plain, complex, scan or blank, and why   furniture  running headers and footers
plain     plain pages                              seams      where two lines meet: hyphens, spaces
layout    complex pages, PyMuPDF's models          assemble   parts of pages to blocks
table     grids of cells to markdown               extras     fields, comments, title, attachments
docling   complex pages, Docling in a worker       account    who read what: extractor and metadata
scan      pages without text, by OCR               style      what is usual in a document
heads     which first rows are heads of tables     reading    puts them together, window by window
"""

from __future__ import annotations

from kb.errors import BadConfig, NoText
from kb.read.pdf import extras
from kb.read.pdf.account import Account
from kb.read.pdf.assemble import blocks_of, bookmarks_of
from kb.read.pdf.docling import ENGINE, engine_status, prefetch
from kb.read.pdf.heads import with_true_heads
from kb.read.pdf.opening import opened
from kb.read.pdf.reading import read_pages
from kb.types import Block, Document, ReadOptions, Source

__all__ = ["engine_status", "prefetch", "read"]


def read(source: Source, options: ReadOptions) -> Document:
    """Raises EncryptedFile, NoText, or UnreadableFile for what is damaged beyond repair."""
    engine, reason = engine_status(options)
    if options.pdf_engine == ENGINE != engine:
        raise BadConfig(
            f"pdf_engine is docling, but {reason}", "Run `kb init --docling`, or set ingestion.pdf_engine to auto."
        )
    account = Account(engine)
    with opened(source.path, options.password) as (document, repairs):
        pages = list(read_pages(document, source.path, options, account))
        bookmarks = account.attempt("Reading the bookmarks", lambda: bookmarks_of(document.get_toc()))
        attached = account.attempt("Listing the attached files", lambda: extras.attachments(document))
        blocks = with_true_heads(blocks_of(pages, bookmarks))
        title = extras.title(document, account.first_page)
        facts = extras.facts(document)
    if not blocks:
        raise NoText(f"{source.path}: {_why_empty(account)}", _hint(account))
    if attached:
        blocks.append(Block(text="Attached files: " + ", ".join(attached), page=1))
        facts["attachments"] = ", ".join(attached)
    return Document(
        blocks=tuple(blocks),
        extractor=account.extractor,
        title=title,
        metadata=account.metadata() | facts,
        warnings=(*repairs, *account.warnings),
    )


def _why_empty(account: Account) -> str:
    return "holds no text" + "".join(f"; {warning.rstrip('.')}" for warning in account.warnings)


def _hint(account: Account) -> str:
    if any("OCR is off" in reason for reason in account.missed):
        return "Set ingestion.enable_ocr to auto."
    if any("not installed" in reason for reason in account.missed):
        return "Install it: pip install rapidocr."
    return "There is nothing to index in it."
