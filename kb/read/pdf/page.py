"""The text of one PDF page as lines with their place, font size and weight, in one pass over the page.

MuPDF writes the page as JSON in C and msgspec reads it: as fast as `page.get_text()` and five times faster than
`get_text("dict")`, which builds the same in Python. Coordinates are points from the top left of the page as displayed.
Does not order lines, judge pages or join words.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from kb.read.line import RTL_LETTERS, Line
from kb.read.pdf.opening import import_pymupdf

SCALE = 10  # MuPDF prints whole numbers: tenths of a point are fine enough to tell 10.9 from 10
BUFFER_BYTES = 32 * 1024  # a full page of text needs 10 to 30 KB
MIN_DIRECTION_CHARS = 3  # a shorter line does not show its direction
MIN_SIDEWAYS_SHARE = 0.6  # of the page's characters, before the page is turned
CONTROL_CHARACTERS = re.compile(rb"[\x00-\x1f]")
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
    has_notes: bool = False
    """Whether there are form fields or comments."""
    turned: bool = False
    """Set where the page is shown sideways or upside down and was turned to read it."""


class _Box(msgspec.Struct, gc=False):
    x: float
    y: float
    w: float
    h: float


class _Font(msgspec.Struct, gc=False):
    size: float
    family: str = ""
    weight: str = ""


class _Line(msgspec.Struct, gc=False):
    bbox: _Box
    font: _Font
    text: str
    x: float
    y: float
    wmode: int = 0


class _Block(msgspec.Struct, gc=False):
    type: str
    lines: tuple[_Line, ...] = ()


class _Page(msgspec.Struct, gc=False):
    blocks: tuple[_Block, ...]


_decode = msgspec.json.Decoder(_Page).decode


def extract(document: Any, number: int) -> PageText:
    """Read a page, counted from 1, of a `pymupdf.Document`. A page whose text runs sideways is turned in memory.

    Calls MuPDF itself: the objects that PyMuPDF makes for a page cost more than reading its lines from JSON.
    """
    pymupdf = import_pymupdf()
    page = pymupdf.mupdf.fz_load_page(document.this, number - 1)
    blocks = _blocks(page)
    turns = _quarter_turns(blocks)
    if turns:
        shown = document.load_page(number - 1)
        shown.set_rotation((shown.rotation + 90 * turns) % 360)
        page = pymupdf.mupdf.fz_load_page(document.this, number - 1)
        blocks = _blocks(page)
    pdf_page = pymupdf.mupdf.pdf_page_from_fz_page(page)
    area = pymupdf.mupdf.fz_bound_page(page)
    return PageText(
        number=number,
        width=area.x1 - area.x0,
        height=area.y1 - area.y0,
        lines=tuple(_lines(blocks)),
        vector_count=sum(b.type == "vector" for b in blocks),
        has_notes=bool(pdf_page.pdf_first_annot().m_internal or pdf_page.pdf_first_widget().m_internal),
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


def text_flags() -> int:
    """MuPDF's flags for text: ligatures are spelled out and unknown glyphs become U+FFFD.

    That is because the two flags that say otherwise are left out.
    """
    pymupdf = import_pymupdf()
    return int(pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP)


@cache
def _options() -> Any:
    """Paths are wanted, images are not: with them MuPDF takes up to 1.5 times as long. Triage asks where they matter."""
    pymupdf = import_pymupdf()
    return pymupdf.mupdf.FzStextOptions(text_flags() | pymupdf.TEXT_COLLECT_VECTORS)


@cache
def _identity() -> Any:
    return import_pymupdf().mupdf.FzMatrix()


def _blocks(page: Any) -> tuple[_Block, ...]:
    mupdf = import_pymupdf().mupdf
    text = mupdf.FzStextPage(mupdf.fz_bound_page(page))
    device = mupdf.fz_new_stext_device(text, _options())
    mupdf.fz_run_page(page, device, _identity(), mupdf.FzCookie())
    mupdf.fz_close_device(device)
    buffer = mupdf.fz_new_buffer(BUFFER_BYTES)
    output = mupdf.FzOutput(buffer)
    mupdf.fz_print_stext_page_as_json(output, text, float(SCALE))
    output.fz_close_output()
    raw = buffer.fz_buffer_extract()
    try:
        return _decode(raw).blocks
    except msgspec.DecodeError:  # a font's name may hold what JSON may not
        cleaned = CONTROL_CHARACTERS.sub(b" ", raw).decode("utf-8", "replace").encode()
        return _decode(cleaned).blocks


def _lines(blocks: tuple[_Block, ...]) -> list[Line]:
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


def _quarter_turns(blocks: tuple[_Block, ...]) -> int:
    """How often to turn the page by 90 degrees clockwise so that most of its text is upright."""
    lines = [line for block in blocks for line in block.lines if len(line.text) >= MIN_DIRECTION_CHARS]
    if not any(line.bbox.h > line.bbox.w or line.x - line.bbox.x > line.bbox.w / 2 for line in lines):
        return 0
    votes = [0, 0, 0, 0]
    for line in lines:
        votes[_turns(line)] += len(line.text)
    winner = max(range(4), key=votes.__getitem__)
    return winner if votes[winner] > MIN_SIDEWAYS_SHARE * sum(votes) else 0


def _turns(line: _Line) -> int:
    box = line.bbox
    if line.wmode:
        return 0
    if box.h > box.w:
        return 1 if line.y - box.y > box.h / 2 else 3
    starts_right = line.x - box.x > box.w / 2
    return 2 if starts_right and not RTL_LETTERS.search(line.text) else 0
