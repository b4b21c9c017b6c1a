"""Judges a page in about a twentieth of a millisecond: plain, complex, scan or blank, and why.

Looks only at what `kb.read.pdf.page.extract` found: text, images, paths, rows. It never runs a model and never
`find_tables`, which takes 70-1350 ms a page. The reasons are words for people: `kb show` prints them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec

from kb.read.line import Line
from kb.read.pdf.opening import import_pymupdf
from kb.read.pdf.order import has_columns, rows
from kb.read.pdf.page import UNREADABLE, PageText, upright_page
from kb.read.pdf.resources import has_glyph_numbers

Kind = Literal["plain", "complex", "scan", "blank"]

GARBLED = "garbled text"
OCR_LAYER = "ocr layer"
MIN_TEXT_CHARS = 10  # fewer are a page number or a stamp
LITTLE_TEXT_CHARS = 200  # a scan with a printed footer has less, a page with a large photograph more
SCAN_IMAGE_SHARE = 0.5
LARGE_IMAGE_PIXELS = 250_000  # A4 at 72 dpi has 500,000; fewer cannot cover a page
SAMPLE_CHARS = 100
GARBLED_SHARE = 0.3  # of U+FFFD and private use; formulas and icons stay below
MIN_LETTER_SHARE = 0.25  # below it, and without ToUnicode, the codes are glyph numbers
OUTLINE_VECTORS = 100  # a page without text and with so many paths may be text drawn as curves
MIN_RULINGS = 3  # horizontal lines or cells: head, foot and one between them
RULING_THICKNESS_PT = 3.0
MIN_RULING_LENGTH_PT = 30.0
MIN_CELLS = 3  # side by side
MIN_TABLE_ROWS = 3
CELL_GAP = 1.0  # in font sizes; the space between words is about 0.3
ALIGNED_PT = 4.0
MIN_COLUMN_ROWS = 5


class Verdict(msgspec.Struct, frozen=True):
    kind: Kind
    reasons: tuple[str, ...] = ()
    keeps_text: bool = True
    """False where what text there is says nothing and may not stand in for OCR."""


def judge(text: PageText, document: Any) -> Verdict:
    """`document` is the `pymupdf.Document` of `text`; it is asked again only where the text leaves doubt."""
    characters = _characters(text)
    may_be_image = len(characters) < LITTLE_TEXT_CHARS or text.image_pixels >= LARGE_IMAGE_PIXELS
    image_share = _image_share(document, text) if may_be_image else 0.0
    scan = _scan_reason(text, characters, image_share, document)
    if scan:
        return Verdict("scan", (scan,), keeps_text=not scan.startswith(GARBLED))
    if not characters:
        return Verdict("blank")
    reasons = _complex_reasons(text)
    notes = ["rotated"] if text.turned else []
    if image_share >= SCAN_IMAGE_SHARE and has_invisible_text(document, text):
        notes.append(OCR_LAYER)
    return Verdict("complex" if reasons else "plain", (*reasons, *notes))


def _characters(text: PageText) -> str:
    """Those of the page but for spaces, or enough of them: more than LITTLE_TEXT_CHARS."""
    written = "".join([line.text for line in text.lines])
    first = written[: 2 * LITTLE_TEXT_CHARS].replace(" ", "")
    return first if len(first) >= LITTLE_TEXT_CHARS else written.replace(" ", "")


def _image_share(document: Any, text: PageText) -> float:
    """Of the page's area, 0 to 1. Asks MuPDF only where the page names images; that takes as long as reading the page."""
    images = text.inline_images
    if text.image_pixels:
        images = tuple([image["bbox"] for image in upright_page(document, text.number).get_image_info()])
    shown = 0.0
    for x0, y0, x1, y1 in images:
        shown += max(0.0, min(x1, text.width) - max(x0, 0.0)) * max(0.0, min(y1, text.height) - max(y0, 0.0))
    return min(1.0, shown / (text.width * text.height or 1.0))


def _scan_reason(text: PageText, characters: str, image_share: float, document: Any) -> str | None:
    if len(characters) < MIN_TEXT_CHARS and (image_share or text.vector_count >= OUTLINE_VECTORS):
        return f"{GARBLED}: no letters" if characters and not _letters(characters) else "no text"
    if (
        image_share >= SCAN_IMAGE_SHARE
        and len(characters) < LITTLE_TEXT_CHARS
        and not has_invisible_text(document, text)
    ):
        return "an image with little text"
    sample = characters[:SAMPLE_CHARS]
    if not characters.isascii() and len(UNREADABLE.findall(sample)) > GARBLED_SHARE * len(sample):
        return f"{GARBLED}: no Unicode for its glyphs"
    if _letters(sample) < MIN_LETTER_SHARE * len(sample) and has_glyph_numbers(document, text.number):
        return f"{GARBLED}: a font without ToUnicode"
    return None


def _letters(characters: str) -> int:
    return sum(map(str.isalpha, characters))


def has_invisible_text(document: Any, text: PageText) -> bool:
    """Whether most characters are neither filled nor stroked: the layer that an OCR program has put under a scan."""
    pymupdf = import_pymupdf()
    page = upright_page(document, text.number)
    visible = invisible = 0
    painted = pymupdf.mupdf.FZ_STEXT_FILLED | pymupdf.mupdf.FZ_STEXT_STROKED
    for block in page.get_text("dict", flags=pymupdf.TEXT_MEDIABOX_CLIP)["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                if span["char_flags"] & painted:
                    visible += len(span["text"])
                else:
                    invisible += len(span["text"])
    return invisible > visible


def _complex_reasons(text: PageText) -> list[str]:
    side_by_side = _side_by_side(text.lines)
    reasons = []
    if _gapped_rows(side_by_side) >= MIN_TABLE_ROWS:
        reasons.append("aligned gaps")
    if text.paths and _is_ruled(text):
        reasons.append("ruling lines")
    if len(side_by_side) >= MIN_COLUMN_ROWS and has_columns(text.lines):
        reasons.append("columns")
    return reasons


def _side_by_side(lines: Sequence[Line]) -> list[list[Line]]:
    """Rows of more than one piece; none, and no sorting, where each line stands below the one before."""
    if _are_stacked(lines):
        return []
    return [row for row in rows([line for line in lines if not line.vertical]) if len(row) > 1]


def _are_stacked(lines: Sequence[Line]) -> bool:
    for a, b in pairwise(lines):  # noqa: SIM110 all() and its generator take twice as long
        if b.y0 + b.y1 <= a.y1 + a.y1:
            return False
    return True


def _gapped_rows(side_by_side: Sequence[Sequence[Line]]) -> int:
    """Rows of three cells or more whose edges stand under those of other such rows."""
    candidates = [row for row in side_by_side if _cells(row) >= MIN_CELLS]
    if len(candidates) < MIN_TABLE_ROWS:
        return 0
    edges = Counter(edge for row in candidates for edge in _edges(row))
    shared = {edge for edge, count in edges.items() if count >= MIN_TABLE_ROWS}
    return sum(len(shared & _edges(row)) >= MIN_CELLS - 1 for row in candidates)


def _cells(row: Sequence[Line]) -> int:
    return 1 + sum(b.x0 - a.x1 > CELL_GAP * max(a.size, b.size) for a, b in pairwise(row))


def _edges(row: Sequence[Line]) -> set[tuple[str, int]]:
    """Left and right edges and middles, coarsely, since numbers stand right and heads stand centred."""
    places = [(side, x) for line in row for side, x in (("l", line.x0), ("r", line.x1), ("m", (line.x0 + line.x1) / 2))]
    return {(side, round(x / ALIGNED_PT)) for side, x in places}


def _is_ruled(text: PageText) -> bool:
    """Whether lines or shaded cells span three rows of a table that holds text."""
    horizontal: Counter[tuple[int, int]] = Counter()
    vertical = cells = 0
    for x0, y0, x1, y1 in text.paths:
        width, height = x1 - x0, y1 - y0
        if height <= RULING_THICKNESS_PT and width >= MIN_RULING_LENGTH_PT:
            horizontal[round(x0 / ALIGNED_PT), round(x1 / ALIGNED_PT)] += 1
        elif width <= RULING_THICKNESS_PT and height >= RULING_THICKNESS_PT:
            vertical += 1
        elif cells < 2 * MIN_CELLS and width >= RULING_THICKNESS_PT and _holds_text(text, x0, y0, x1, y1):
            cells += 1
    most_alike = max(horizontal.values(), default=0)
    grid = sum(horizontal.values()) >= MIN_RULINGS and vertical >= MIN_RULINGS - 1
    return grid or cells >= 2 * MIN_CELLS or (most_alike >= MIN_RULINGS and len(text.lines) > MIN_RULINGS)


def _holds_text(text: PageText, x0: float, y0: float, x1: float, y1: float) -> bool:
    """One or a few lines, not the whole page: a shaded cell or a bar of a table."""
    if y1 - y0 > text.height / 4:
        return False
    return any(x0 <= (b.x0 + b.x1) / 2 <= x1 and y0 <= (b.y0 + b.y1) / 2 <= y1 for b in text.lines)
