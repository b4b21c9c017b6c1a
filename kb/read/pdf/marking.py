"""Which words of a page a passage is made of, although it was put together from them in another way. Pure.

Tables, which readers write as markdown, are placed row by row (`kb.read.pdf.rows`). What a reader makes of the text around them has joined
lines, words put together at hyphens, other spaces and its own reading order. So only letters and digits are compared, in runs of at least
a dozen: first along the words as the file has them, then along the rows of the page. The longest run has its part of the passage to itself,
so that a phrase that the page repeats is not marked twice. Shorter words count where they stand beside one that was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from kb.read.pdf import rows
from kb.read.pdf.cells import Page
from kb.read.pdf.words import Area, Word, around, folded

SHORTEST_RUN = 12
"""Characters: two or three words. A page of 3,000 characters shares shorter ones with any text of its language."""

MOST_PLACES = 8
"""Of the same characters in the passage, that are compared: dotted lines and zeros would take minutes."""


class Found(msgspec.Struct, frozen=True):
    words: frozenset[int]
    """Places in the sequence of words."""
    characters: int
    """Letters and digits of the passage that were found."""
    rows: int
    """Of tables in the passage, without heads."""
    rows_found: int


class _Run(msgspec.Struct, frozen=True):
    """The same characters in the page and in the passage."""

    page: int
    passage: int
    length: int


def find(words: Sequence[Word], passage: str, *, is_here: bool = False) -> Found:
    """`is_here`: all of the passage is on this page, and not on the next one in part. The words stand upright."""
    tables, texts = rows.split(passage)
    placed = rows.of_tables(Page(words), tables, is_here=is_here)
    of_tables = frozenset[int]().union(*placed.words)
    shortest = min(SHORTEST_RUN, len(folded(passage)))
    of_texts, characters = _of_texts(words, of_tables, folded("".join(texts)), shortest)
    return Found(
        words=of_tables | of_texts,
        characters=characters + sum(len(folded(words[number].text)) for number in of_tables),
        rows=sum(not row.is_head for table in tables for row in table),
        rows_found=placed.rows,
    )


def _of_texts(words: Sequence[Word], taken: frozenset[int], wanted: str, shortest: int) -> tuple[frozenset[int], int]:
    """Words that are not of tables, and how many letters and digits of the texts they are."""
    claimed = bytearray(len(wanted))
    found: set[int] = set()
    in_file = [number for number in range(len(words)) if number not in taken]
    in_rows = [number for number in _by_rows(words) if number not in taken]
    for order in (in_file, in_rows):
        found |= _along(words, order, wanted, claimed, shortest)
    for order in (in_rows, in_rows[::-1]):
        found |= _beside(words, order, found, wanted, claimed)
    return frozenset(found), sum(claimed)


def areas(words: Sequence[Word], found: Found) -> list[Area]:
    """A rectangle for each stretch of found words that follow each other in a line."""
    stretches: list[list[int]] = []
    for number in sorted(found.words):
        before = stretches[-1][-1] if stretches else None
        if before == number - 1 and _go_on(words[before], words[number]):
            stretches[-1].append(number)
        else:
            stretches.append([number])
    return [around(words[number].area for number in stretch) for stretch in stretches]


def _along(words: Sequence[Word], order: Iterable[int], wanted: str, claimed: bytearray, shortest: int) -> set[int]:
    """The words of runs, the longest first, whose part of the passage no other run has; those parts become claimed."""
    texts = [(number, folded(words[number].text)) for number in order]
    owners = [number for number, text in texts for _ in text]
    covered: dict[int, int] = {}
    for run in sorted(_runs("".join(text for _, text in texts), wanted, shortest), key=lambda run: -run.length):
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


def _runs(page: str, passage: str, length: int) -> Iterable[_Run]:
    """Of this length at least, from left to right in the page, at each place the longest; runs do not overlap there."""
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
    lines: list[list[int]] = []
    for number in sorted(range(len(words)), key=lambda number: words[number].area[1] + words[number].area[3]):
        _, top, _, bottom = words[number].area
        last = words[lines[-1][-1]].area if lines else None
        if last and last[1] < (top + bottom) / 2 < last[3]:
            lines[-1].append(number)
        else:
            lines.append([number])
    return [number for line in lines for number in sorted(line, key=lambda number: words[number].area[0])]


def _go_on(word: Word, after: Word) -> bool:
    """Whether they stand in one line: MuPDF begins a new one after a wide space."""
    if word.line == after.line:
        return True
    height = word.area[3] - word.area[1]
    return (
        word.area[1] < (after.area[1] + after.area[3]) / 2 < word.area[3] and 0 <= after.area[0] - word.area[2] < height
    )
