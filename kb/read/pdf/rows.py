"""Where the rows of a table stand on a page. Pure.

A page repeats dates, numbers and names in many rows. So a row is placed as a whole: its cells side by side in one band of the page, and
nothing else between them. The rows of a passage follow each other on the page, and of the ways to place them that one counts which places
most of them, closest together. What could as well stand elsewhere is not placed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from kb.read.pdf.cells import Page, Place
from kb.read.pdf.words import Area, around, folded, middle

ROW = re.compile(r"\s*\|.*\|\s*")
RULE = re.compile(r"\s*\|(\s*:?-+:?\s*\|)+\s*")
BORDER = re.compile(r"(?<!\\)\|")
MOST_BANDS = 40
"""In which a row may stand; more is a page of one number."""
LONG_CELL = 12
"""Letters and digits, as of the runs in `kb.read.pdf.marking`."""
CHARACTER = 1_000_000
"""Of a row that is placed, against a word that stands between two rows."""
LEAST_SHARE = 0.5
"""Of the letters and digits of a row: less of it is not the row."""


class Row(msgspec.Struct, frozen=True):
    cells: tuple[str, ...]
    """Folded; those without letters and digits are left out."""
    is_head: bool
    has_gaps: bool = False
    """Whether cells of it are empty, so that it could be a part of a row that has them."""

    @property
    def characters(self) -> int:
        return sum(map(len, self.cells))


class Placed(msgspec.Struct, frozen=True):
    words: tuple[frozenset[int], ...]
    """Of each row that was placed."""
    rows: int
    """How many, without heads."""


class _Band(msgspec.Struct, frozen=True):
    """One way to place a row."""

    words: frozenset[int]
    area: Area
    characters: int


def split(passage: str) -> tuple[list[list[Row]], list[str]]:
    """The tables of a passage, as readers write them, and the texts around these."""
    tables: list[list[Row]] = []
    texts: list[list[str]] = [[]]
    is_open = False
    for line in passage.split("\n"):
        if not ROW.fullmatch(line):
            is_open = False
            texts[-1].append(line)
            continue
        if not is_open:
            tables.append([])
            texts.append([])
            is_open = True
        if RULE.fullmatch(line):
            tables[-1] = [*tables[-1][:-1], *(msgspec.structs.replace(row, is_head=True) for row in tables[-1][-1:])]
        else:
            written = BORDER.split(line.strip())[1:-1]
            cells = tuple(filter(None, map(folded, written)))
            tables[-1].append(Row(cells, is_head=False, has_gaps=not all(map(str.strip, written))))
    with_text = [[row for row in table if row.cells] for table in tables]
    return with_text, ["\n".join(lines) for lines in texts if any(map(str.strip, lines))]


def of_tables(page: Page, tables: Sequence[Sequence[Row]], *, is_here: bool) -> Placed:
    """`is_here`: every row is on this page. Then a long cell that the page has once is marked even where its row is not placed."""
    found: list[frozenset[int]] = []
    missing: list[Row] = []
    count = 0
    for table in tables:
        of_rows = placed(page, [msgspec.structs.replace(row, has_gaps=row.has_gaps and not is_here) for row in table])
        missing += [row for row, words in zip(table, of_rows, strict=True) if not (words or row.is_head)]
        bodies = [words for row, words in zip(table, of_rows, strict=True) if words and not row.is_head]
        stands_alone = all(row.is_head for row in table)
        if bodies or stands_alone:  # else the head is that of another table, or of its part on this page
            found += of_rows
        count += len(bodies)
    if is_here:
        found += _cells_once(page, missing, frozenset[int]().union(*found))
    return Placed(tuple(filter(None, found)), count)


def _cells_once(page: Page, missing: Sequence[Row], taken: frozenset[int]) -> Iterator[frozenset[int]]:
    for cell in {cell for row in missing for cell in row.cells if len(cell) >= LONG_CELL}:
        places = page.places(cell)
        if len(places) == 1 and taken.isdisjoint(places[0].words):
            yield frozenset(places[0].words)


def placed(page: Page, rows: Sequence[Row]) -> list[frozenset[int]]:
    """The words of each row of a table; empty for a row that is not on the page, or not in one place for sure."""
    bands = [_bands(page, row) for row in rows]
    before = _best(page, bands)
    after = [each[::-1] for each in _best(page, [each[::-1] for each in bands][::-1], upwards=True)[::-1]]
    totals = [
        [ahead + behind - _worth(band) for ahead, behind, band in zip(*each, strict=True)]
        for each in zip(before, after, bands, strict=True)
    ]
    most = max((total for each in totals for total in each), default=0)
    found = []
    for each, ways in zip(totals, bands, strict=True):
        sure = [band.words for total, band in zip(each, ways, strict=True) if total == most]
        found.append(sure[0] if len(sure) == 1 else frozenset())
    return found


def _worth(band: _Band) -> int:
    return band.characters * CHARACTER


def _best(page: Page, bands: Sequence[Sequence[_Band]], *, upwards: bool = False) -> list[list[int]]:
    """For each way to place each row, what the best way to place the rows before it, and this one so, is worth."""
    worth: list[list[int]] = []
    for number, ways in enumerate(bands):
        earlier = [pair for row in range(number) for pair in zip(bands[row], worth[row], strict=True)]
        worth.append([_worth(band) + max(_ahead(page, band, earlier, upwards=upwards), default=0) for band in ways])
    return worth


def _ahead(page: Page, band: _Band, earlier: Sequence[tuple[_Band, int]], *, upwards: bool) -> Iterator[int]:
    for other, value in earlier:
        upper, lower = (band, other) if upwards else (other, band)
        if middle(upper.area) < lower.area[1] and upper.area[3] < middle(lower.area):
            yield value - page.count_between(upper.area[3], lower.area[1])


def _bands(page: Page, row: Row) -> list[_Band]:
    """The ways to place a row, from top to bottom, no two of them in one place."""
    found = [_band(page, row, [place]) for place in page.places("".join(row.cells), in_one_line=True)]
    places = {cell: page.places(cell) for cell in row.cells}
    heights = {(round(place.area[1], 1), round(place.area[3], 1)) for each in places.values() for place in each}
    for top, bottom in heights:
        here = {cell: [each for each in places[cell] if top <= middle(each.area) <= bottom] for cell in places}
        for cells in (row.cells, row.cells[::-1]):
            found += [_band(page, row, chosen) for chosen in _side_by_side(cells, here)]
    kept: list[_Band] = []
    for band in sorted(
        filter(None, found), key=lambda band: (-band.characters, band.area[3] - band.area[1], band.area)
    ):
        if not any(
            band.area[1] < middle(other.area) < band.area[3] or other.area[1] < middle(band.area) < other.area[3]
            for other in kept
        ):
            kept.append(band)
    return sorted(kept, key=lambda band: band.area[1]) if len(kept) <= MOST_BANDS else []


def _side_by_side(cells: Sequence[str], here: dict[str, list[Place]]) -> Iterator[list[Place]]:
    """From each place of the first cell that is here, the next ones to the right of it."""
    first = next((number for number, cell in enumerate(cells) if here[cell]), None)
    if first is None:
        return
    for start in here[cells[first]]:
        chosen = [start]
        for cell in cells[first + 1 :]:
            last = chosen[-1].area
            after = [place for place in here[cell] if place.area[0] >= last[0] and place.area[2] > last[2]]
            if after:
                chosen.append(min(after, key=lambda place: place.area[0]))
        yield chosen


def _band(page: Page, row: Row, places: Sequence[Place]) -> _Band | None:
    """None where other words stand between these, or where what is missing may be other words beside them."""
    words = frozenset(number for place in places for number in place.words)
    area = around(place.area for place in places)
    characters = sum(len(page.texts[number]) for number in words)
    if characters < LEAST_SHARE * row.characters:
        return None
    others = [number for number in page.between(area[1], area[3]) if number not in words and page.texts[number]]
    if characters >= row.characters and not row.has_gaps:
        others = [number for number in others if area[0] <= page.words[number].area[0] <= area[2]]
    return None if others else _Band(words, area, min(characters, row.characters))
