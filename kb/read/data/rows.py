"""CSV and TSV to markdown tables of some rows each, with the header repeated.

Finds the delimiter and whether there is a header. Does not judge types or units of columns.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import msgspec

from kb.read.data.groups import grouped
from kb.types import Block, Lines

DELIMITERS = ",;\t|"
SAMPLE_ROWS = 100  # to find the delimiter and the header by
MAX_ROW_LINES = 1_000  # beyond, a quote was opened and never closed


class Row(msgspec.Struct, frozen=True):
    cells: list[str]
    first: int
    last: int


def blocks(text: str, *, is_tabbed: bool) -> tuple[Block, ...]:
    """The row groups of a CSV file, or of a TSV file."""
    lines = text.split("\n")
    delimiter = "\t" if is_tabbed else _delimiter(lines)
    is_quoted = all(row.last - row.first < MAX_ROW_LINES for row in _rows(lines, delimiter))
    rows = _rows(lines, delimiter, is_quoted=is_quoted)
    sample = list(islice(_rows(lines, delimiter, is_quoted=is_quoted), SAMPLE_ROWS))
    header = next(rows) if _has_header(sample) else Row([""] * _width(sample), 0, 0)
    groups = list(grouped(rows, _size)) or [[]]
    return tuple(_block(header, group, is_first=group is groups[0]) for group in groups)


def _rows(lines: list[str], delimiter: str, *, is_quoted: bool = True) -> Iterator[Row]:
    """The rows that hold anything, with their lines counted from 1."""
    longest = sum(map(len, lines)) + len(lines)
    csv.field_size_limit(
        max(csv.field_size_limit(), longest)
    )  # of the whole process; the default, 128 KB, would refuse the file
    reader = csv.reader(
        (line + "\n" for line in lines),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
        skipinitialspace=True,
    )
    before = 0
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield Row(cells, before + 1, reader.line_num)
        before = reader.line_num


def _delimiter(lines: list[str]) -> str:
    """The delimiter under which most of the first rows have the same number of cells, and more than one.

    A row with half a pair of quotes in a cell does not count: it was cut inside a quoted cell.
    """

    def evenness(delimiter: str) -> tuple[float, int]:
        rows = islice(_rows(lines[: 2 * SAMPLE_ROWS], delimiter), SAMPLE_ROWS)
        widths = Counter(len(row.cells) * (not any(cell.count('"') % 2 for cell in row.cells)) for row in rows)
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        return (count / widths.total(), width) if width > 1 else (0, 0)

    return max(DELIMITERS, key=evenness)


def _has_header(sample: list[Row]) -> bool:
    """Whether the first row names the columns: filled, all different, no numbers, and not what is below it."""
    if not sample:
        return False
    first = [cell.strip() for cell in sample[0].cells]
    named = all(first) and len(set(first)) == len(first) and not any(map(_is_number, first))
    below = {cell for row in sample[1:] for cell in row.cells}
    return named and not below.intersection(first)


def _is_number(cell: str) -> bool:
    return cell.strip("+-%$€£ ").replace(",", "").replace(".", "").replace(":", "").replace("-", "").isdigit()


def _size(row: Row) -> int:
    return sum(map(len, row.cells))


def _width(sample: list[Row]) -> int:
    return max((len(row.cells) for row in sample), default=1)


def _block(header: Row, rows: list[Row], *, is_first: bool) -> Block:
    """The header stands in the file once, above the first rows; the rule below it stands there never."""
    width = max(len(row.cells) for row in (header, *rows))
    lines = [_markdown(header.cells, width), "|" + " --- |" * width, *(_markdown(row.cells, width) for row in rows)]
    above = Lines(header.first, header.last) if is_first and header.first else None
    own = [Lines(row.first, row.last) for row in rows]
    held = [above, *own] if above else own
    spanned = Lines(held[0].first, held[-1].last) if held else None
    return Block(text="\n".join(lines), kind="table", lines=spanned, places=(above, None, *own))


def _markdown(cells: list[str], width: int) -> str:
    padded = (*cells, *[""] * (width - len(cells)))
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in padded) + " |"
