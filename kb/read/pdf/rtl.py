"""Mends the one thing that MuPDF gets wrong in Arabic: lam-alef, drawn as one glyph, comes out as alef-lam.

MuPDF spells such a glyph out from left to right, as if it were Latin; the letter that got no width is the one that
should come second. Pages without Arabic letters are returned as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kb.read.pdf.page import PageText, upright_page
from kb.read.pdf.stext import text_flags

LAM = "\u0644"
ALEFS = frozenset("\u0622\u0623\u0625\u0627")
NO_WIDTH_PT = 0.01


def mended(document: Any, text: PageText) -> PageText:
    if LAM not in "".join([line.text for line in text.lines]):
        return text
    page = upright_page(document, text.number)
    corrections: dict[str, str] = {}
    for block in page.get_text("rawdict", flags=text_flags())["blocks"]:
        for line in block.get("lines", ()):
            characters = [character for span in line["spans"] for character in span["chars"]]
            corrections["".join(character["c"] for character in characters)] = _spelled(characters)
    lines = tuple(msgspec.structs.replace(line, text=corrections.get(line.text, line.text)) for line in text.lines)
    return msgspec.structs.replace(text, lines=lines)


def _spelled(characters: Sequence[dict[str, Any]]) -> str:
    letters = [character["c"] for character in characters]
    for position in range(len(letters) - 1):
        x0, _, x1, _ = characters[position]["bbox"]
        if letters[position] in ALEFS and letters[position + 1] == LAM and x1 - x0 < NO_WIDTH_PT:
            letters[position], letters[position + 1] = LAM, letters[position]
    return "".join(letters)
