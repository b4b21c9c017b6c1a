"""The heads of tables: engines call the first row of every table its head, also where a table goes on from the page before.

A first row that is of a kind with the rows below it is a row. Above it stands the head of the table that goes on, where that has as many
columns, else none. Where no column tells (all of them words), the first row stays the head. Changes no cell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from kb.types import Block

MIN_ROWS = 2  # below the first, to compare it with
MIN_SHARE = 0.8  # of a column's filled cells that are of one kind
CELL_BORDER = re.compile(r"(?<!\\)\|")
YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d")
DATE = re.compile(r"\d{1,4}([-./:])\d{1,2}(?:\1\d{1,4})?(?: \d{1,2}:\d{2}(?::\d{2})?)?")
NUMBER = re.compile(r"[-+(]?[$€£]? ?[-+]?\d[\d.,' ]*[%)]?")
TELLING = frozenset({"date", "number"})


def with_true_heads(blocks: Iterable[Block]) -> list[Block]:
    """The blocks of a PDF, in order."""
    found: list[Block] = []
    above: Block | None = None
    for block in blocks:
        if block.kind == "table":
            above = _with_true_head(block, above)
        found.append(above if above and block.kind == "table" else block)
    return found


def _with_true_head(table: Block, above: Block | None) -> Block:
    """`above`: the table before it in the document."""
    first, rule, *rows = table.text.split("\n")
    cells = _cells(first)
    if _is_head(cells, [_cells(row) for row in rows]):
        return table
    head = above.text.partition("\n")[0] if above and _goes_on(above, table) else ""
    if len(_cells(head)) != len(cells):
        head = "|" + "  |" * len(cells)
    return msgspec.structs.replace(table, text="\n".join([head, rule, first, *rows]))


def _goes_on(above: Block, table: Block) -> bool:
    is_next_page = above.page is not None and table.page == above.page + 1
    return is_next_page and above.heading[: len(table.heading)] == table.heading


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in CELL_BORDER.split(row.strip())[1:-1]]


def _is_head(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether in some column the first cell is of another kind than the dates or numbers below it, or no column has such."""
    if len(below) < MIN_ROWS:
        return True
    pairs = [
        (_kind(cell), kind) for number, cell in enumerate(first) if (kind := _kind_of([row[number] for row in below]))
    ]
    return not pairs or any(kind != common for kind, common in pairs)


def _kind_of(column: Sequence[str]) -> str:
    """Of what kind nearly all are, if that is one that tells."""
    kinds = Counter(_kind(cell) for cell in column if cell)
    kind, count = kinds.most_common(1)[0] if kinds else ("", 0)
    return kind if kind in TELLING and count >= max(MIN_ROWS, MIN_SHARE * kinds.total()) else ""


def _kind(cell: str) -> str:
    """A year over numbers is a head: it is a kind of its own. So are words, with or without a number in them."""
    if YEAR.fullmatch(cell):
        return "year"
    if DATE.fullmatch(cell):
        return "date"
    return "number" if NUMBER.fullmatch(cell) else "words"
