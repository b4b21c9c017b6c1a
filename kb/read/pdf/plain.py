"""Plain pages: MuPDF's text as it comes, unless it comes in another order than it is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kb.read.line import Line
from kb.read.pdf.order import reading_order
from kb.read.pdf.page import PageText
from kb.read.pdf.parts import Part
from kb.read.pdf.prose import parts_of
from kb.read.pdf.style import Style

MAX_JUMP_UP = 0.5  # in font sizes; superscripts and pieces of one row stand higher than what comes before them


def read_page(text: PageText, style: Style) -> tuple[Part, ...]:
    lines = text.lines
    if _is_disordered(lines):
        rtl = 2 * sum(line.is_rtl for line in lines) > len(lines)
        lines = tuple(reading_order(lines, rtl=rtl))
    return tuple(parts_of(lines, style))


def _is_disordered(lines: Sequence[Line]) -> bool:
    """Whether the page's content goes back up. Vertical writing starts each column at the top and is left as it is."""
    for a, b in pairwise(lines):  # noqa: SIM110 any() and its generator take twice as long
        if b.y1 < a.y0 - MAX_JUMP_UP * b.size and not b.vertical:
            return True
    return False
