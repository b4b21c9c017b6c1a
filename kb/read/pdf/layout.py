"""Complex pages by PyMuPDF's bundled layout and table models: reading order, headings, tables as markdown.

The models say where things are; the text comes from the page itself, so that nothing is lost or invented: lines that no
box claims are read where they stand. Needs no download. Takes about a second a page. Not thread-safe, as PyMuPDF.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import msgspec

from kb.read.line import Line
from kb.read.pdf.order import Box as Rectangle
from kb.read.pdf.order import reading_order, rows
from kb.read.pdf.page import PageText
from kb.read.pdf.parts import Part
from kb.read.pdf.prose import parts_of
from kb.read.pdf.seams import joined
from kb.read.pdf.stext import text_flags
from kb.read.pdf.style import Style
from kb.read.pdf.table import table_of

HEADINGS = frozenset({"title", "section-header"})
MIN_BOX_PT = 2.0  # smaller boxes are specks
CAPTION_GAP_PT = 40.0  # from a caption to its table
HEADING_RANK = 0.25  # above a bold line of the same size, which the fonts alone would call a heading


class Box(msgspec.Struct, frozen=True, gc=False):
    """A region of the page in points; `grid` for tables only."""

    kind: str
    x0: float
    y0: float
    x1: float
    y1: float
    grid: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Borders of the rows (y) and of the columns (x), the outer ones included."""

    def holds(self, other: Rectangle) -> bool:
        x, y = (other.x0 + other.x1) / 2, (other.y0 + other.y1) / 2
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1

    @property
    def area(self) -> float:
        return (self.x1 - self.x0) * (self.y1 - self.y0)


class _Word(msgspec.Struct, frozen=True, gc=False):
    text: str
    x0: float
    y0: float
    x1: float
    y1: float


def read_page(page: Any, text: PageText, style: Style) -> tuple[Part, ...]:
    """The parts of one page. `text` is what `extract` gave for `page`, running headers already dropped."""
    boxes = _boxes(page)
    claimed = _claims(text.lines, boxes)
    parts: list[Part] = []
    for box, lines in _in_order(claimed):
        table = table_of(_cells(box.grid, _words(page, box, boxes))) if box.grid else ""
        if table:
            parts.append(Part(table, "table", context=_caption(box, claimed)))
        elif box.kind in HEADINGS:
            parts += _heading(lines, style)
        else:
            parts += parts_of(lines, style)
    return tuple(parts)


def _in_order(claimed: dict[Box, list[Line]]) -> list[tuple[Box, list[Line]]]:
    """Boxes in the order in which their lines are read, which tells columns better than the few boxes do; a table is
    read as one.
    """
    owner: dict[int, Box] = {id(line): box for box, lines in claimed.items() for line in lines}
    pieces: list[Box | Line] = [box for box in claimed if box.grid]
    pieces += [line for box, lines in claimed.items() if not box.grid for line in lines]
    rtl = 2 * sum(line.is_rtl for lines in claimed.values() for line in lines) > len(owner)
    ordered: dict[Box, list[Line]] = {}
    for piece in reading_order(pieces, rtl=rtl):
        if isinstance(piece, Box):
            ordered[piece] = reading_order(claimed[piece], rtl=rtl)
        else:
            ordered.setdefault(owner[id(piece)], []).append(piece)
    return list(ordered.items())


def _boxes(page: Any) -> list[Box]:
    _activate()
    page.get_layout(return_raw=True)
    found = []
    for region in page.layout_information:
        x0, y0, x1, y1 = map(float, region["group_bbox"])
        if min(x1 - x0, y1 - y0) > MIN_BOX_PT:
            found.append(Box(region["class_name"], x0, y0, x1, y1, _grid(region, x0, y0, x1, y1)))
    return found


def _activate() -> None:
    """Load the models that `import_pymupdf` has held back."""
    layout: Any = import_module("pymupdf.layout")
    layout.activate()


def _grid(region: Any, x0: float, y0: float, x1: float, y1: float) -> Any:
    grid = region.get("table_grid") if region["class_name"] == "table" else None
    if not grid or not len(grid.h_lines) or not len(grid.v_lines):
        return None  # one row or one column is no table
    return (y0, *(y0 + float(y) for y in grid.h_lines), y1), (x0, *(x0 + float(x) for x in grid.v_lines), x1)


def _claims(lines: Sequence[Line], boxes: Sequence[Box]) -> dict[Box, list[Line]]:
    """Each line to the smallest box that holds its middle; a line that none holds gets a box of its own."""
    by_area = sorted(boxes, key=lambda box: box.area)
    claimed: dict[Box, list[Line]] = {}
    for line in lines:
        own = Box("text", line.x0, line.y0, line.x1, line.y1)
        owner = next((box for box in by_area if box.holds(line)), own)
        claimed.setdefault(owner, []).append(line)
    return claimed


def _words(page: Any, box: Box, boxes: Sequence[Box]) -> list[_Word]:
    """The words of a table, without those of smaller boxes that lie on it."""
    inner = [other for other in boxes if other.area < box.area and box.holds(other)]
    found = [_Word(word[4], *word[:4]) for word in page.get_text("words", flags=text_flags())]
    return [word for word in found if box.holds(word) and not any(other.holds(word) for other in inner)]


def _cells(grid: tuple[tuple[float, ...], tuple[float, ...]], words: Sequence[_Word]) -> list[list[str]]:
    """The text of each cell, a word in the cell that holds its middle."""
    row_borders, column_borders = grid
    cells: dict[tuple[int, int], list[_Word]] = {}
    for word in words:
        row = _interval(row_borders, (word.y0 + word.y1) / 2)
        column = _interval(column_borders, (word.x0 + word.x1) / 2)
        cells.setdefault((row, column), []).append(word)
    return [
        [_cell_text(cells.get((row, column), ())) for column in range(len(column_borders) - 1)]
        for row in range(len(row_borders) - 1)
    ]


def _interval(borders: Sequence[float], value: float) -> int:
    found = next((i for i, (low, high) in enumerate(pairwise(borders)) if low <= value < high), None)
    return found if found is not None else (0 if value < borders[0] else len(borders) - 2)


def _cell_text(words: Sequence[_Word]) -> str:
    text = ""
    for row in rows(words):
        line = " ".join(word.text for word in row)
        text = joined(text, line) if text else line
    return text


def _caption(table: Box, claimed: dict[Box, list[Line]]) -> str:
    """The text of the caption that stands just above or below a table."""
    for box, lines in claimed.items():
        near = min(abs(table.y0 - box.y1), abs(box.y0 - table.y1)) <= CAPTION_GAP_PT
        if box.kind == "caption" and near and box.x0 < table.x1 and box.x1 > table.x0:
            return " ".join(line.text.strip() for line in lines)
    return ""


def _heading(lines: Sequence[Line], style: Style) -> list[Part]:
    parts = parts_of(lines, style)
    if len(parts) != 1 or parts[0].kind != "text":
        return parts
    size = max(line.size for line in lines)
    return [msgspec.structs.replace(parts[0], rank=parts[0].rank or size + HEADING_RANK)]
