"""Running headers and footers: what stands at the top or bottom of page after page, its numbers aside.

Pages come in windows; what was seen in earlier windows is remembered. A line that does not repeat is never dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from kb.read.line import Line
from kb.read.pdf.page import PageText

MIN_REPEATS = 3
EDGE_ROWS = 2  # rows from the top and from the bottom that may be furniture
MAX_FURNITURE_CHARS = 100
EDGE_SHARE = 0.15  # of the page's height
NUMBER = re.compile(r"\d+")
ROMAN_NUMBER = re.compile(r"[ivxlc](?<!\w.)[ivxlc]*\b")  # beginning with \b it would be tried at each character
PLACE_PT = 6.0  # a running head stands at the same height on every page, give or take

Key = tuple[int, str]


class Furniture:
    """Counts the lines at the pages' edges. Observe a window of pages, then ask for each of them once."""

    def __init__(self) -> None:
        self._seen: Counter[Key] = Counter()
        self._edges: dict[int, list[tuple[Line, Key]]] = {}

    def observe(self, pages: Iterable[PageText]) -> None:
        for page in pages:
            edges = [(line, _key(line)) for line in _edge_lines(page)]
            self._edges[page.number] = edges
            self._seen.update({key for _, key in edges})

    def without(self, page: PageText) -> PageText:
        """An observed page without what stands at the edge of several pages."""
        dropped = {id(line) for line, key in self._edges.pop(page.number) if self._repeats(key)}
        if not dropped:
            return page
        return msgspec.structs.replace(page, lines=tuple(line for line in page.lines if id(line) not in dropped))

    def _repeats(self, key: Key) -> bool:
        place, text = key
        return sum([self._seen.get((place + step, text), 0) for step in (-1, 0, 1)]) >= MIN_REPEATS


def _key(line: Line) -> Key:
    text = NUMBER.sub("#", ROMAN_NUMBER.sub("#", line.text.casefold()))
    return round(line.y0 / PLACE_PT), " ".join(text.split())


def _edge_lines(page: PageText) -> list[Line]:
    top, bottom = EDGE_SHARE * page.height, (1 - EDGE_SHARE) * page.height
    candidates = [
        line for line in page.lines if (line.y1 < top or line.y0 > bottom) and len(line.text) <= MAX_FURNITURE_CHARS
    ]
    heights = sorted({round(line.y0) for line in candidates})
    allowed = set(heights[:EDGE_ROWS]) | set(heights[-EDGE_ROWS:])
    return [line for line in candidates if round(line.y0) in allowed]
