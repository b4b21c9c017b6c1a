"""Lines of text as a picture, those of a passage marked: for those who want a picture of whatever was found.

MuPDF sets them, since it brings letters of every script.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import Any

import msgspec

from kb.read.pdf.opening import import_pymupdf
from kb.read.pdf.picture import DRAWING, POINTS_AN_INCH
from kb.read.picture import Picture, Size

WIDTH_PT = 640
TALLEST_PT = 2400
"""Some 150 lines; a passage is 40, and what does not fit is left out."""
MARGIN_PT = 24
CSS = """
* { margin: 0; padding: 0 }
h1 { font: bold 12pt sans-serif } h2 { font: 9pt sans-serif; color: #666; margin-bottom: 8pt }
div { font-size: 10pt; line-height: 1.35; white-space: pre-wrap } .text { font-family: sans-serif } .code { font-family: monospace }
.marked { background-color: #ffe15a } span { color: #999; font-family: monospace; font-size: 9pt }
"""


class ShownLine(msgspec.Struct, frozen=True):
    text: str
    number: int | None
    marked: bool


def of_lines(lines: Sequence[ShownLine], title: str, place: str, size: Size, *, is_code: bool = False) -> Picture:
    """`title` and `place` stand above the lines."""
    with DRAWING:
        return _drawn(_html(lines, title, place, "code" if is_code else "text"), size)


def _html(lines: Sequence[ShownLine], title: str, place: str, kind: str) -> str:
    digits = max((len(str(line.number)) for line in lines if line.number), default=0)
    shown = [f"<h1>{escape(title)}</h1><h2>{escape(place)}</h2>"]
    for count, line in enumerate(lines):
        number = f"<span>{line.number or '':>{digits}}  </span>" if digits else ""
        name = f' id="m{count}"' if line.marked else ""
        shown.append(
            f'<div{name} class="{kind}{" marked" * line.marked}">{number}{escape(line.text) or "&#160;"}</div>'
        )
    return "".join(shown)


def _drawn(html: str, size: Size) -> Picture:
    pymupdf = import_pymupdf()
    story = pymupdf.Story(html, user_css=CSS)
    _, filled = story.place(pymupdf.Rect(MARGIN_PT, MARGIN_PT, WIDTH_PT - MARGIN_PT, TALLEST_PT - MARGIN_PT))
    height_pt = min(filled[3] + MARGIN_PT, TALLEST_PT)
    areas: list[Any] = []
    story.element_positions(lambda place: areas.append(place.rect) if _opens_a_marked(place) else None)
    file = BytesIO()
    writer = pymupdf.DocumentWriter(file)
    story.draw(writer.begin_page(pymupdf.Rect(0, 0, WIDTH_PT, height_pt)))
    writer.end_page()
    writer.close()
    dpi = max(1, min(size.dpi, int(size.longest_side * POINTS_AN_INCH / max(WIDTH_PT, height_pt))))
    with pymupdf.open("pdf", file.getvalue()) as document:
        pixmap = document.load_page(0).get_pixmap(dpi=dpi, alpha=False)
    scale = dpi / POINTS_AN_INCH
    x0, y0, x1, y1 = range(4)
    marks = tuple(
        (round(area[x0] * scale), round(area[y0] * scale), round(area[x1] * scale), round(area[y1] * scale))
        for area in areas
    )
    return Picture(png=pixmap.tobytes("png"), width=pixmap.width, height=pixmap.height, dpi=dpi, marks=marks)


def _opens_a_marked(place: Any) -> bool:
    return bool(place.id) and place.open_close == 1
