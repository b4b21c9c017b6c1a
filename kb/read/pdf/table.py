"""Cleans up the grid that a table model has drawn: empty columns go, and the rows of a split header are found.

Markdown has no merged cells: a cell that spans columns stands in one of them, and `kb.read.tables` joins the rows of the
header above each column.
"""

from __future__ import annotations

from collections.abc import Sequence

from kb.read.pdf.prose import LETTER
from kb.read.tables import markdown_table

MAX_HEADER_ROWS = 3
MAX_CUT_SHARE = 0.05  # of the rows may have text on both sides of a false border


def table_of(grid: Sequence[Sequence[str]]) -> str:
    """Rows of cells, all of one length, to a markdown table; empty where what is filled is one row or one column."""
    filled = [row for row in grid if any(row)]
    columns = [column for column in range(len(filled[0])) if any(row[column] for row in filled)] if filled else []
    if min(len(filled), len(columns)) < 2:  # noqa: PLR2004 less than a table
        return ""
    cells = [[row[column] for column in columns] for row in filled]
    depth = _header_rows(cells)
    return markdown_table(_with_whole_columns(cells, depth), depth)


def _with_whole_columns(cells: Sequence[Sequence[str]], header_rows: int) -> list[list[str]]:
    """Put together what a model has cut in two: neighbours of which one or the other is empty in nearly every row.

    Two columns with a head each stay two, however sparse (debit and credit).
    """
    columns = [list(column) for column in zip(*cells, strict=True)]
    whole = columns[:1]
    for column in columns[1:]:
        both = [bool(left and right) for left, right in zip(whole[-1], column, strict=True)]
        if any(both[:header_rows]) or sum(both) > MAX_CUT_SHARE * len(both):
            whole.append(column)
        else:
            whole[-1] = [f"{left} {right}".strip() for left, right in zip(whole[-1], column, strict=True)]
    return [list(row) for row in zip(*whole, strict=True)]


def _header_rows(cells: Sequence[Sequence[str]]) -> int:
    """A header with holes goes on in the next row, if that fills a hole and is made of words."""
    header = list(cells[0])
    for depth, row in enumerate(cells[1:-1], start=1):
        fills = any(below and not above for above, below in zip(header, row, strict=True))
        words = [text for text in row if text]
        if depth == MAX_HEADER_ROWS or not fills or not all(map(_is_label, words)):
            return depth
        header = [above or below for above, below in zip(header, row, strict=True)]
    return 1


def _is_label(text: str) -> bool:
    return bool(LETTER.search(text)) and not any(map(str.isdigit, text))
