"""The filled cells of a worksheet to tables: empty rows part them, empty columns go.

A merged cell's text stands in each filled row and column that it covers, so that a row found alone keeps its meaning; a
cell merged across a whole table above its header is the table's title. Never makes a cell for an empty range: the work
is proportional to the filled cells, whatever their distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Literal

import msgspec

from kb.read.tables import markdown_table

Rows = dict[int, dict[int, str]]
MAX_FILL = 20  # a table may have this many places for each filled cell; sparser ones are written cell by cell


class Span(msgspec.Struct, frozen=True):
    """A merged range: rows and columns counted from 1, ends included."""

    first_row: int
    last_row: int
    first_column: int
    last_column: int


class Region(msgspec.Struct, frozen=True):
    text: str
    kind: Literal["text", "table"]
    title: str = ""


def regions(rows: Rows, merged: list[Span]) -> list[Region]:
    """The tables and texts of a sheet, from top to bottom."""
    return [region for numbers in _runs(rows) if (region := _region({n: rows[n] for n in numbers}, merged)).text]


def _runs(rows: Rows) -> Iterator[list[int]]:
    """The row numbers in groups without a gap."""
    for _, group in groupby(enumerate(sorted(rows)), key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in group]


def _region(rows: Rows, merged: list[Span]) -> Region:
    numbers = sorted(rows)
    inside = [span for span in merged if span.first_row in rows]
    columns = sorted({column for cells in rows.values() for column in cells})
    title = _title(rows[numbers[0]], numbers, columns, inside)
    if title:
        numbers = numbers[1:]
    if len(columns) == 1:
        return Region("\n".join(text for n in numbers for text in rows[n].values()), "text", title)
    filled = sum(len(rows[n]) for n in numbers)
    if len(numbers) * len(columns) > MAX_FILL * filled:
        return Region(
            "\n".join(f"{_address(n, c)}: {text}" for n in numbers for c, text in rows[n].items()), "text", title
        )
    grid = _grid(rows, numbers, columns, inside)
    is_parted = any(s.first_row == numbers[0] == s.last_row and s.last_column > s.first_column for s in inside)
    return Region(markdown_table(grid, 2 if is_parted else 1), "table", title)


def _title(first: dict[int, str], numbers: list[int], columns: list[int], merged: list[Span]) -> str:
    """The text of a first row that is one cell merged over several columns, with a table below."""
    if len(first) != 1 or len(numbers) == 1 or len(columns) == 1:
        return ""
    ((column, text),) = first.items()
    is_merged = any(s.first_row == s.last_row == numbers[0] and s.first_column == column for s in merged)
    return text if is_merged else ""


def _grid(rows: Rows, numbers: list[int], columns: list[int], merged: list[Span]) -> list[list[str]]:
    grid = {number: [rows[number].get(column, "") for column in columns] for number in numbers}
    for span in merged:
        text = rows.get(span.first_row, {}).get(span.first_column)
        if not text or span.first_row not in grid:
            continue
        places = [at for at, column in enumerate(columns) if span.first_column <= column <= span.last_column]
        for number in range(span.first_row, min(span.last_row, numbers[-1]) + 1):
            for place in places:
                grid[number][place] = grid[number][place] or text
    return list(grid.values())


def _address(row: int, column: int) -> str:
    """The name of a cell: `_address(3, 28)` is AB3."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"
