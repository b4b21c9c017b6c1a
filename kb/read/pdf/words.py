"""The words of a page, and their letters and digits alone, by which they are compared. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


class Word(msgspec.Struct, frozen=True):
    text: str
    area: Area
    line: tuple[int, int]
    """Block and line that it stands in."""


def folded(text: str) -> str:
    """Letters and digits alone, without case, ligatures and widths."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def quarters_of(direction: tuple[float, float]) -> int:
    """How often a page is turned to the left until text that runs so, right and down, runs to the right."""
    right, down = map(round, direction)
    for quarters in range(4):
        if (right, down) == (1, 0):
            return quarters
        right, down = down, -right
    return 0


def turned(words: Sequence[Word], quarters: int) -> list[Word]:
    return [msgspec.structs.replace(word, area=turned_area(word.area, quarters)) for word in words]


def turned_area(area: Area, quarters: int) -> Area:
    for _ in range(quarters % 4):
        area = (area[1], -area[2], area[3], -area[0])
    return area


def around(inner: Iterable[Area]) -> Area:
    lefts, tops, rights, bottoms = zip(*inner, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def middle(area: Area) -> float:
    """Half way down."""
    return (area[1] + area[3]) / 2
