"""Reads a PDF page by page, each with the cheapest reader that is right, and keeps account of which and why.

Pages come in windows, so that a thousand pages take no more memory than thirty. Does not open files, judge pages or know
how any one reader works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kb.read import ocr
from kb.read.pdf import docling, extras, layout, plain, scan
from kb.read.pdf.account import Account
from kb.read.pdf.furniture import Furniture
from kb.read.pdf.opening import first_line, import_pymupdf
from kb.read.pdf.page import PageText, extract, upright_page
from kb.read.pdf.parts import PageParts, Part
from kb.read.pdf.rtl import mended
from kb.read.pdf.style import Style, style_of
from kb.read.pdf.triage import Verdict, judge
from kb.types import ReadOptions

WINDOW_PAGES = 32


class Judged(msgspec.Struct, frozen=True):
    """A page between triage and reading."""

    text: PageText
    verdict: Verdict


def read_pages(document: Any, path: str, options: ReadOptions, account: Account) -> Iterator[PageParts]:
    """Every page of an open `pymupdf.Document` that can be read, in order."""
    furniture = Furniture()
    for start in range(1, document.page_count + 1, WINDOW_PAGES):
        numbers = range(start, min(start + WINDOW_PAGES, document.page_count + 1))
        window = list(_judged(document, numbers, account))
        furniture.observe(item.text for item in window)
        window = [msgspec.structs.replace(item, text=furniture.without(item.text)) for item in window]
        style = style_of([line for item in window for line in item.text.lines])
        by_docling = _by_docling(window, path, options, account)
        for item in window:
            parts = by_docling.get(item.text.number) or PageParts(
                item.text.number, _parts(document, item, style, options, account)
            )
            yield _with_notes(document, parts, account) if item.text.has_notes else parts
            _drop_images(item.verdict)


def _drop_images(verdict: Verdict) -> None:
    """Let MuPDF forget the images that it has unpacked, up to 256 MB. Not after plain pages: they have none, and share
    fonts that would have to be read again.
    """
    if verdict.kind in {"complex", "scan"}:
        import_pymupdf().TOOLS.store_shrink(100)


def _judged(document: Any, numbers: Sequence[int], account: Account) -> Iterator[Judged]:
    for number in numbers:
        try:
            text = mended(document, extract(document, number))
            verdict = judge(text, document)
        except Exception as error:  # noqa: BLE001 MuPDF raises RuntimeError for any damage; the other pages are fine
            account.miss(number, f"damaged ({first_line(error)})")
            continue
        if text.paths:  # a map has 100,000, which would stay in memory as long as the window
            text = msgspec.structs.replace(text, paths=())
        account.judge(text, verdict)
        yield Judged(text, verdict)


def _by_docling(window: Sequence[Judged], path: str, options: ReadOptions, account: Account) -> dict[int, PageParts]:
    """The complex pages of a window as Docling read them; empty where another engine is to be used."""
    numbers = [item.text.number for item in window if item.verdict.kind == "complex"]
    if not numbers or account.engine != docling.ENGINE:
        return {}
    try:
        pages = docling.read_pages(path, numbers, options)
    except docling.DoclingFailed as error:
        account.fall_back(str(error))
        return {}
    account.use("docling")
    return {page.number: page for page in pages}


def _parts(document: Any, item: Judged, style: Style, options: ReadOptions, account: Account) -> tuple[Part, ...]:
    kind = item.verdict.kind
    if kind == "scan" or (options.enable_ocr == "always" and kind != "blank"):
        parts, problem = _by_ocr(document, item, options, account)
        if parts:
            return parts
        if kind == "scan" and (problem or not item.verdict.keeps_text):
            problem = problem or "its text layer is garbled and OCR found no text"
        if problem and kind == "scan":
            account.miss(item.text.number, problem)
        if not item.verdict.keeps_text:
            return ()
    return _by_layout(document, item, style, account) or _plain(item.text, style, account)


def _by_layout(document: Any, item: Judged, style: Style, account: Account) -> tuple[Part, ...]:
    """A complex page as the layout models see it; empty for other pages, and where the models fail."""
    if item.verdict.kind != "complex":
        return ()
    number = item.text.number
    parts = account.attempt(
        f"Page {number}: finding its layout",
        lambda: layout.read_page(upright_page(document, number), item.text, style),
    )
    if parts:
        account.use("layout")
    return tuple(parts)


def _plain(text: PageText, style: Style, account: Account) -> tuple[Part, ...]:
    if text.lines:
        account.use("pymupdf")
    return plain.read_page(text, style)


def _by_ocr(document: Any, item: Judged, options: ReadOptions, account: Account) -> tuple[tuple[Part, ...], str | None]:
    """What OCR found, and why it found nothing, if there is more to it than a page without text."""
    if options.enable_ocr == "never":
        return (), "a scan, and OCR is off"
    if not ocr.is_available():
        return (), "a scan, and RapidOCR is not installed"
    if account.ocr_pages >= options.max_ocr_pages:
        return (), f"a scan beyond the {options.max_ocr_pages} pages a document that OCR may read"
    try:
        page = upright_page(document, item.text.number)
        size = scan.too_large(page)
    except Exception as error:  # noqa: BLE001  as in `_judged`; a page may be gone since, where MuPDF has repaired the file meanwhile
        return (), f"a scan that is damaged ({first_line(error)})"
    if size:
        return (), f"a scan too large to unpack: {size}"
    account.ocr_pages += 1
    parts = account.attempt(f"Page {item.text.number}: OCR", lambda: scan.read_page(page))
    if parts:
        account.recognise(item.text.number)
    return tuple(parts), None


def _with_notes(document: Any, page: PageParts, account: Account) -> PageParts:
    """The page with its form values and comments, as far as they are not printed on it."""
    printed = "\n".join([part.text for part in page.parts] + [block.text for block in page.blocks])
    notes = account.attempt(
        f"Page {page.number}: reading its fields and comments",
        lambda: extras.notes(upright_page(document, page.number), printed),
    )
    return msgspec.structs.replace(page, parts=(*page.parts, Part("\n".join(notes)))) if notes else page
