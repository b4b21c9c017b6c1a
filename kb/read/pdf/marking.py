"""Which words of a page a passage is made of, although it was put together from them in another way. Pure.

What a reader makes of a page has joined lines, words put together at hyphens, tables as markdown, other spaces and its own reading order.
So only letters and digits are compared, in runs of at least a dozen: first along the words as the file has them, then along the rows
of the page. The longest run has its part of the passage to itself, so that a phrase that the page repeats is not marked twice. Shorter
words count where they stand beside one that was found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""
SHORTEST_RUN = 12
"""Characters: two or three words. A page of 3,000 characters shares shorter ones with any text of its language."""

MOST_PLACES = 8
"""Of the same characters in the passage, that are compared: dotted lines and zeros would take minutes."""


class Word(msgspec.Struct, frozen=True):
    text: str
    area: Area
    line: tuple[int, int]
    """Block and line that it stands in."""


class Found(msgspec.Struct, frozen=True):
    words: frozenset[int]
    """Places in the sequence of words."""
    characters: int
    """Letters and digits of the passage that were found."""


class _Run(msgspec.Struct, frozen=True):
    """The same characters in the page and in the passage."""

    page: int
    passage: int
    length: int


def find(words: Sequence[Word], passage: str) -> Found:
    wanted = folded(passage)
    claimed = bytearray(len(wanted))
    found: set[int] = set()
    rows = _by_rows(words)
    for order in (range(len(words)), rows):
        found |= _along(words, order, wanted, claimed)
    for row_order in (rows, rows[::-1]):
        found |= _beside(words, row_order, found, wanted, claimed)
    return Found(frozenset(found), sum(claimed))


def areas(words: Sequence[Word], found: Found) -> list[Area]:
    """A rectangle for each stretch of found words that follow each other in a line."""
    stretches: list[list[int]] = []
    for number in sorted(found.words):
        before = stretches[-1][-1] if stretches else None
        if before == number - 1 and _go_on(words[before], words[number]):
            stretches[-1].append(number)
        else:
            stretches.append([number])
    return [_around(words[number].area for number in stretch) for stretch in stretches]


def folded(text: str) -> str:
    """Letters and digits alone, without case, ligatures and widths."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _along(words: Sequence[Word], order: Iterable[int], wanted: str, claimed: bytearray) -> set[int]:
    """The words of runs, the longest first, whose part of the passage no other run has; those parts become claimed."""
    texts = [(number, folded(words[number].text)) for number in order]
    owners = [number for number, text in texts for _ in text]
    covered: dict[int, int] = {}
    for run in sorted(_runs("".join(text for _, text in texts), wanted), key=lambda run: -run.length):
        end = run.passage + run.length
        if 2 * sum(claimed[run.passage : end]) >= run.length:
            continue
        claimed[run.passage : end] = b"\1" * run.length
        for owner in owners[run.page : run.page + run.length]:
            covered[owner] = covered.get(owner, 0) + 1
    return {number for number, text in texts if 2 * covered.get(number, 0) > len(text)}


def _beside(words: Sequence[Word], order: Sequence[int], found: set[int], wanted: str, claimed: bytearray) -> set[int]:
    """Words after a found one, as long as the passage has them and nothing else is known to be them; signs between two found ones."""
    more: set[int] = set()
    for before, number in pairwise(order):
        if number in found or not (before in found or before in more):
            continue
        text = folded(words[number].text)
        place = _unclaimed(text, wanted, claimed) if text else 0
        if place >= 0:
            claimed[place : place + len(text)] = b"\1" * len(text)
            more.add(number)
    return more


def _unclaimed(text: str, wanted: str, claimed: bytearray) -> int:
    """Where the passage has it and no run is; -1: nowhere."""
    place = wanted.find(text)
    while place >= 0 and any(claimed[place : place + len(text)]):
        place = wanted.find(text, place + 1)
    return place


def _runs(page: str, passage: str) -> Iterable[_Run]:
    """From left to right in the page, at each place the longest; runs do not overlap there."""
    length = min(SHORTEST_RUN, len(passage))
    if not length:
        return
    places: dict[str, list[int]] = {}
    for start in range(len(passage) - length + 1):
        places.setdefault(passage[start : start + length], []).append(start)
    position = 0
    while position <= len(page) - length:
        starts = places.get(page[position : position + length], ())[:MOST_PLACES]
        best = max((_Run(position, start, _alike(page, position, passage, start)) for start in starts),
                   key=lambda run: run.length, default=None)  # fmt: skip
        if best:
            yield best
        position += best.length if best else 1


def _alike(page: str, position: int, passage: str, start: int) -> int:
    length = 0
    for one, other in zip(page[position:], passage[start:], strict=False):
        if one != other:
            break
        length += 1
    return length


def _by_rows(words: Sequence[Word]) -> list[int]:
    """From top to bottom, and from left to right among words that stand side by side."""
    rows: list[list[int]] = []
    for number in sorted(range(len(words)), key=lambda number: words[number].area[1] + words[number].area[3]):
        _, top, _, bottom = words[number].area
        last = words[rows[-1][-1]].area if rows else None
        if last and last[1] < (top + bottom) / 2 < last[3]:
            rows[-1].append(number)
        else:
            rows.append([number])
    return [number for row in rows for number in sorted(row, key=lambda number: words[number].area[0])]


def _go_on(word: Word, after: Word) -> bool:
    """Whether they stand in one line: MuPDF begins a new one after a wide space."""
    if word.line == after.line:
        return True
    height = word.area[3] - word.area[1]
    return (
        word.area[1] < (after.area[1] + after.area[3]) / 2 < word.area[3] and 0 <= after.area[0] - word.area[2] < height
    )


def _around(inner: Iterable[Area]) -> Area:
    lefts, tops, rights, bottoms = zip(*inner, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
