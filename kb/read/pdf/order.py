"""The order in which a reader takes what lies on a page: columns one after the other, rows from left to right.

Works on anything with x0, y0, x1, y1: lines of a PDF, lines found by OCR, boxes of a layout model. A column is accepted
only where it is filled like running text, so that the cells of a table are read row by row. Knows nothing of fonts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from statistics import median
from typing import Protocol, TypeVar

MIN_COLUMN_LINES = 3
MIN_COLUMN_SHARE = 0.15  # of the region's width
MIN_FILL = 0.55  # median width of a column's lines over the column's width; cells of tables stay below
MAX_SPANNING_SHARE = 0.5  # of a region's lines may cross the gutter (titles, wide figures)
MIN_LINE_ASPECT = 8.0  # a column's median line over its height: about 20 letters; labels of forms are shorter
MIN_GUTTER_SHARE = 0.008  # of the region's width; LaTeX's default columnsep is 10 pt of 360
BINS = 256


class Box(Protocol):
    @property
    def x0(self) -> float: ...
    @property
    def y0(self) -> float: ...
    @property
    def x1(self) -> float: ...
    @property
    def y1(self) -> float: ...


B = TypeVar("B", bound=Box)


def rows(boxes: Sequence[B]) -> list[list[B]]:
    """Boxes that stand side by side, top to bottom; within a row from left to right."""
    found: list[list[B]] = []
    middle_of_row, bottom_of_row = 0.0, float("-inf")
    for box in sorted(boxes, key=lambda b: b.y0 + b.y1):
        middle = (box.y0 + box.y1) / 2
        if found and (middle < bottom_of_row - (bottom_of_row - middle_of_row) / 2 or box.y0 < middle_of_row):
            found[-1].append(box)
            continue
        found.append([box])
        middle_of_row, bottom_of_row = middle, box.y1
    for row in found:
        row.sort(key=lambda b: b.x0)
    return found


def reading_order(boxes: Sequence[B], *, rtl: bool = False, min_aspect: float = MIN_LINE_ASPECT) -> list[B]:
    """All the boxes, in the order of reading. With `rtl` the right column comes first.

    `min_aspect` is for boxes that are single lines; pass 0 for paragraphs and figures.
    """
    gutter = _gutter(boxes, min_aspect)
    if gutter is None:
        return [box for row in rows(boxes) for box in (reversed(row) if rtl else row)]
    ordered: list[B] = []
    left: list[B] = []
    right: list[B] = []
    for box in sorted(boxes, key=lambda b: (b.y0, b.x0)):
        if box.x1 <= gutter:
            left.append(box)
        elif box.x0 >= gutter:
            right.append(box)
        else:
            ordered += _columns(left, right, rtl, min_aspect)
            ordered.append(box)
            left, right = [], []
    return ordered + _columns(left, right, rtl, min_aspect)


def has_columns(boxes: Sequence[Box]) -> bool:
    return _gutter(boxes, MIN_LINE_ASPECT) is not None


def _columns(left: list[B], right: list[B], rtl: bool, min_aspect: float) -> list[B]:
    first, second = (right, left) if rtl else (left, right)
    return [b for side in (first, second) for b in reading_order(side, rtl=rtl, min_aspect=min_aspect)]


def _gutter(boxes: Sequence[Box], min_aspect: float) -> float | None:
    """The x in the middle of the white space between two columns of text, or None."""
    if len(boxes) < 2 * MIN_COLUMN_LINES:
        return None
    x0, x1 = min(b.x0 for b in boxes), max(b.x1 for b in boxes)
    width = x1 - x0
    if width <= 0:
        return None
    candidates = _white_stripes(boxes, x0, width)
    for middle in candidates:
        if _is_gutter(boxes, middle, width, min_aspect):
            return middle
    return None


def _white_stripes(boxes: Sequence[Box], x0: float, width: float) -> list[float]:
    """Middles of the stripes that the fewest lines cross, the emptiest and widest first."""
    steps = [0] * (BINS + 1)
    for box in boxes:
        first = int((box.x0 - x0) / width * BINS)
        last = max(first, min(BINS - 1, int((box.x1 - x0) / width * BINS - 1e-9)))
        steps[first] += 1
        steps[last + 1] -= 1
    coverage = list(accumulate(steps))
    low, high = int(BINS * MIN_COLUMN_SHARE), int(BINS * (1 - MIN_COLUMN_SHARE))
    least = min(coverage[low:high])
    stripes, start = [], None
    for position in range(low, high + 1):
        is_white = position < high and coverage[position] <= least + 1
        if is_white and start is None:
            start = position
        elif not is_white and start is not None:
            emptiest = min(coverage[start:position])
            inner = [p for p in range(start, position) if coverage[p] == emptiest]
            if len(inner) >= BINS * MIN_GUTTER_SHARE:
                stripes.append((emptiest, -len(inner), x0 + (inner[0] + inner[-1] + 1) / 2 / BINS * width))
            start = None
    return [middle for _, _, middle in sorted(stripes)]


def _is_gutter(boxes: Sequence[Box], middle: float, width: float, min_aspect: float) -> bool:
    left = [b for b in boxes if b.x1 <= middle]
    right = [b for b in boxes if b.x0 >= middle]
    spanning = len(boxes) - len(left) - len(right)
    if min(len(left), len(right)) < MIN_COLUMN_LINES or spanning > MAX_SPANNING_SHARE * len(boxes):
        return False
    return all(_is_text_column(side, width, min_aspect) for side in (left, right))


def _is_text_column(boxes: Sequence[Box], width: float, min_aspect: float) -> bool:
    column = max(b.x1 for b in boxes) - min(b.x0 for b in boxes)
    line_width = median(b.x1 - b.x0 for b in boxes)
    line_height = median(b.y1 - b.y0 for b in boxes)
    return column >= MIN_COLUMN_SHARE * width and line_width >= max(MIN_FILL * column, min_aspect * line_height)
