"""The text of one PDF page as lines with their place, font size and weight, and what else of it triage looks at.

Coordinates are points from the top left of the page as displayed. Does not order lines, judge pages or join words.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kb.read.line import RTL_LETTERS, Line
from kb.read.pdf.opening import import_pymupdf
from kb.read.pdf.resources import image_pixels
from kb.read.pdf.stext import SCALE, Area, PrintedBlock, PrintedBox, PrintedLine, printed

MIN_DIRECTION_CHARS = 3  # a shorter line does not show its direction
MIN_SIDEWAYS_SHARE = 0.6  # of the page's characters, before the page is turned
UNREADABLE = re.compile("[\ufffd\ue000-\uf8ff]")


class PageText(msgspec.Struct, frozen=True, gc=False):
    """A page as extracted: its lines in the order of the content stream."""

    number: int
    """Counted from 1."""
    width: float
    height: float
    lines: tuple[Line, ...]
    vector_count: int = 0
    """Filled or stroked paths: ruling lines, shading, drawings."""
    paths: tuple[Area, ...] = ()
    """Where they stand, unless they are too few to rule a table."""
    image_pixels: int = 0
    """Of the images that its resources name."""
    inline_images: tuple[Area, ...] = ()
    """Where those stand that are written into its content; looked for only where its resources name none."""
    has_notes: bool = False
    """Whether there are form fields or comments."""
    turned: bool = False
    """Set where the page is shown sideways or upside down and was turned to read it."""


def extract(document: Any, number: int) -> PageText:
    """Read a page, counted from 1, of a `pymupdf.Document`. A page whose text runs sideways is turned in memory.

    Calls MuPDF itself: the objects that PyMuPDF makes for a page cost more than reading its lines from JSON.
    """
    mupdf = import_pymupdf().mupdf
    page = mupdf.fz_load_page(document.this, number - 1)
    pdf_page = mupdf.pdf_page_from_fz_page(page)
    has_notes = bool(pdf_page.pdf_first_annot().m_internal or pdf_page.pdf_first_widget().m_internal)
    pixels = image_pixels(pdf_page)
    found = printed(page, with_notes=has_notes, with_images=not pixels)
    turns = _quarter_turns(found.blocks)
    if turns:
        shown = document.load_page(number - 1)
        shown.set_rotation((shown.rotation + 90 * turns) % 360)
        page = mupdf.fz_load_page(document.this, number - 1)
        found = printed(page, with_notes=has_notes, with_images=not pixels)
    area = mupdf.fz_bound_page(page)
    return PageText(
        number=number,
        width=area.x1 - area.x0,
        height=area.y1 - area.y0,
        lines=tuple(_lines(found.blocks)),
        vector_count=found.vector_count,
        paths=found.paths,
        image_pixels=pixels,
        inline_images=tuple([_area(block.bbox) for block in found.blocks if block.bbox and block.type == "image"]),
        has_notes=has_notes,
        turned=turns > 0,
    )


def upright_page(document: Any, number: int) -> Any:
    """The `pymupdf.Page` that `extract` has read, in the same coordinates, for whoever needs more than its text.

    PyMuPDF gives text in the coordinates of the page before its rotation and images in those after; so it is taken out.
    """
    page = document.load_page(number - 1)
    if page.rotation:
        page.remove_rotation()
    return page


def _lines(blocks: tuple[PrintedBlock, ...]) -> list[Line]:
    lines = []
    for number, block in enumerate(blocks):
        for line in block.lines:
            if line.text.isspace() or not line.text:
                continue
            box, font = line.bbox, line.font
            lines.append(
                Line(
                    line.text,
                    box.x / SCALE,
                    box.y / SCALE,
                    (box.x + box.w) / SCALE,
                    (box.y + box.h) / SCALE,
                    font.size / SCALE,
                    font.weight == "bold",
                    font.family == "monospace",
                    line.wmode == 1,
                    number,
                )
            )
    return lines


def _quarter_turns(blocks: tuple[PrintedBlock, ...]) -> int:
    """How often to turn the page by 90 degrees clockwise so that most of its text is upright."""
    if _is_upright(blocks):
        return 0
    votes = [0, 0, 0, 0]
    for block in blocks:
        for line in block.lines:
            if len(line.text) >= MIN_DIRECTION_CHARS:
                votes[_turns(line)] += len(line.text)
    winner = max(range(4), key=votes.__getitem__)
    return winner if votes[winner] > MIN_SIDEWAYS_SHARE * sum(votes) else 0


def _is_upright(blocks: tuple[PrintedBlock, ...]) -> bool:
    """Whether each line is wider than high and begins at its left: most pages."""
    for block in blocks:
        for line in block.lines:
            box = line.bbox
            if box.h > box.w or line.x - box.x > box.w / 2:
                return False
    return True


def _turns(line: PrintedLine) -> int:
    box = line.bbox
    if line.wmode:
        return 0
    if box.h > box.w:
        return 1 if line.y - box.y > box.h / 2 else 3
    starts_right = line.x - box.x > box.w / 2
    return 2 if starts_right and not RTL_LETTERS.search(line.text) else 0


def _area(box: PrintedBox) -> Area:
    return box.x / SCALE, box.y / SCALE, (box.x + box.w) / SCALE, (box.y + box.h) / SCALE
