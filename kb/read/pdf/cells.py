"""Where the text of a table's cell stands on a page: words beside and below each other that are the text, all of it. Pure.

Does not choose among several places: `kb.read.pdf.rows` does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from kb.read.pdf.words import Area, Word, around, folded, middle

SPACE = 0.5
"""Heights of a line between words that certainly stand in one cell: a line of a cell neither begins nor ends between them."""
NEAR = 1.0
"""Heights of a line between words of one cell; in the next column they are farther."""
FAR = 4.0
"""Where lines are stretched to one width."""
BELOW = 2.0
"""Heights of a line from one line of a cell to the next."""
LEAST_HEIGHT = 0.1
"""Points: some files have words of none."""
MOST_STEPS = 100_000
"""From word to word on a page: zeros without end would take minutes."""
ASIDE = 3.0
"""Heights of a line that a centred line may begin before the one above it, or after it."""


class Place(msgspec.Struct, frozen=True):
    words: tuple[int, ...]
    area: Area


class Page:
    """Words by their height on the page, and the places of texts, each looked for once."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.texts = [folded(word.text) for word in words]
        self._by_middle = sorted(range(len(words)), key=lambda number: middle(words[number].area))
        self._middles = [middle(words[number].area) for number in self._by_middle]
        self._starts: dict[str, list[int]] = {}
        for number, text in enumerate(self.texts):
            if text:
                self._starts.setdefault(text, []).append(number)
        self._places: dict[tuple[str, bool], list[Place]] = {}
        self._steps = 0

    def between(self, top: float, bottom: float) -> list[int]:
        """The words whose middle is in this band."""
        return self._by_middle[bisect_left(self._middles, top) : bisect_right(self._middles, bottom)]

    def count_between(self, top: float, bottom: float) -> int:
        return max(0, bisect_left(self._middles, bottom) - bisect_right(self._middles, top))

    def places(self, text: str, *, in_one_line: bool = False) -> list[Place]:
        """Of folded text, from top to bottom. `in_one_line`: with gaps of any width, and nothing below."""
        key = (text, in_one_line)
        if key not in self._places:
            starts = [number for size in range(1, len(text) + 1) for number in self._starts.get(text[:size], ())]
            traced = (self._traced(start, text, in_one_line=in_one_line) for start in starts)
            found = [Place(words, around(self.words[number].area for number in words)) for words in traced if words]
            self._places[key] = sorted(found, key=lambda place: middle(place.area))
        return self._places[key]

    def _traced(self, start: int, text: str, *, in_one_line: bool) -> tuple[int, ...]:
        """The words from this one on that are the text; empty where they are another."""
        taken = [start]
        rest = text[len(self.texts[start]) :]
        while rest and self._steps < MOST_STEPS:
            self._steps += 1
            after = self._beside(taken[-1]) if in_one_line else self._following(taken)
            number = next((each for each in after if rest.startswith(self.texts[each]) and each not in taken), None)
            if number is None:
                return ()
            taken.append(number)
            rest = rest[len(self.texts[number]) :]
        return () if rest else tuple(taken)

    def _following(self, taken: Sequence[int]) -> Iterator[int]:
        """What a cell may go on with: close by in the line, else in the line below, else farther in the line."""
        last = self.words[taken[-1]].area
        height = max(last[3] - last[1], LEAST_HEIGHT)
        gaps = [(_gap(last, self.words[number].area) / height, number) for number in self._beside(taken[-1])]
        yield from (number for gap, number in gaps if gap < NEAR)
        if not any(gap < SPACE for gap, _ in gaps):
            yield from self._below(taken)
        yield from (number for gap, number in gaps if NEAR <= gap < FAR)

    def _beside(self, number: int) -> list[int]:
        """The next word to the right, and the one after it in the file's own line, which is to the left in some languages."""
        area = self.words[number].area
        right = [
            (self.words[other].area[0], other)
            for other in self.between(area[1], area[3])
            if self.texts[other] and self.words[other].area[0] >= (area[0] + area[2]) / 2 and other != number
        ]
        own = number + 1 < len(self.words) and self.words[number + 1].line == self.words[number].line
        return [*([min(right)[1]] if right else []), *([number + 1] if own and self.texts[number + 1] else [])]

    def _below(self, taken: Sequence[int]) -> list[int]:
        area = around(self.words[number].area for number in taken)
        last = self.words[taken[-1]].area
        height = max(last[3] - last[1], LEAST_HEIGHT)
        under = [
            (round((middle(self.words[other].area) - middle(last)) / height * 4), self.words[other].area[0], other)
            for other in self.between(middle(last) + height / 2, middle(last) + BELOW * height)
            if self.texts[other]
            and self.words[other].area[2] > area[0] - ASIDE * height
            and self.words[other].area[0] < area[2] + ASIDE * height
        ]
        return [other for _, _, other in sorted(under) if self._begins(other)]

    def _begins(self, number: int) -> bool:
        """Whether no word stands close before it."""
        area = self.words[number].area
        least = SPACE * (area[3] - area[1])
        return not any(
            0 <= area[0] - self.words[other].area[2] < least
            for other in self.between(area[1], area[3])
            if self.texts[other] and other != number
        )


def _gap(one: Area, other: Area) -> float:
    return max(other[0] - one[2], one[0] - other[2])
