"""A line of text on a page: what the PDF text layer and OCR both give, and what is put in order and made into paragraphs."""

from __future__ import annotations

import re

import msgspec

RTL_LETTERS = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of one column, as the page's content shows it."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    """Font size in points, of the line's first character."""
    bold: bool = False
    mono: bool = False
    vertical: bool = False
    """Set in columns, top to bottom (Chinese, Japanese)."""
    block: int = 0
    """Number of the group of lines that MuPDF found to belong together."""

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def is_rtl(self) -> bool:
        return 2 * len(RTL_LETTERS.findall(self.text)) > len(self.text.replace(" ", ""))
