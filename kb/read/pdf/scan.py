"""Pages without usable text: rendered by MuPDF and read by OCR, cells that stand under each other as tables.

Says what is too large to be rendered, before anything is allocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from kb.read import ocr
from kb.read.line import Line
from kb.read.pdf.opening import import_pymupdf
from kb.read.pdf.order import reading_order
from kb.read.pdf.parts import Part
from kb.read.pdf.prose import parts_of
from kb.read.pdf.style import style_of
from kb.read.pdf.table import table_of

DPI = 150  # 200 dpi gave the same text in the test scans: RapidOCR scales long sides down to 2,000 pixels
MAX_SOURCE_PIXELS = 200_000_000  # of an image on the page, which MuPDF unpacks whole: 600 MB in colour
MAX_PAGE_PIXELS = 30_000_000  # of the rendered page; A2 at 150 dpi has 9 million
DPI_STEPS = (DPI, 100, 72)
HEADING_SIZE = 1.35  # heights of OCR's boxes vary by a fifth within one size
MIN_TABLE_ROWS = 3
MIN_TABLE_COLUMNS = 3
CELL_GAP = 1.0  # in font sizes


def too_large(page: Any) -> str | None:
    """How large the page, or an image on it, is, if larger than may be unpacked. Allocates nothing."""
    for _xref, _mask, width, height, *_ in page.get_images():
        if width * height > MAX_SOURCE_PIXELS:
            return f"an image of {width} x {height} pixels"
    if _pixels(page, DPI_STEPS[-1]) > MAX_PAGE_PIXELS:
        return f"a page of {page.rect.width:.0f} x {page.rect.height:.0f} points"
    return None


def read_page(page: Any) -> tuple[Part, ...]:
    """Ask `too_large` first."""
    return parts_of_picture(_render(page))


def parts_of_picture(picture: Any) -> tuple[Part, ...]:
    """The parts of a picture of a page: (height, width, 3), uint8, RGB."""
    lines = ocr.read(picture)
    rtl = 2 * sum(line.is_rtl for line in lines) > len(lines)
    style = style_of(lines, HEADING_SIZE)
    parts: list[Part] = []
    prose: list[Line] = []
    for is_table, run in groupby(_rows(reading_order(lines, rtl=rtl)), key=lambda row: len(row) > 1):
        found = list(run)
        table = grid_table(found) if is_table else ""
        if table:
            parts += [*parts_of(prose, style), Part(table, "table")]
            prose = []
        else:
            prose += [line for row in found for line in row]
    return (*parts, *parts_of(prose, style))


def grid_table(rows: Sequence[Sequence[Line]]) -> str:
    """A markdown table of rows whose cells stand under each other; empty where they do not."""
    columns = _columns([cell for row in rows for cell in row])
    if len(rows) < MIN_TABLE_ROWS or len(columns) < MIN_TABLE_COLUMNS:
        return ""
    grid = [
        [" ".join(cell.text for cell in row if low <= cell.x0 and cell.x1 <= high) for low, high in columns]
        for row in rows
    ]
    return table_of(grid)


def _columns(cells: Sequence[Line]) -> list[tuple[float, float]]:
    """The stripes of the page that hold cells, with white between them over all the rows."""
    columns: list[tuple[float, float]] = []
    for cell in sorted(cells, key=lambda cell: cell.x0):
        if columns and cell.x0 <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], cell.x1))
        else:
            columns.append((cell.x0, cell.x1))
    return columns


def _rows(ordered: Sequence[Line]) -> list[list[Line]]:
    """Neighbours that stand side by side with a gap, as one row."""
    found: list[list[Line]] = []
    for line in ordered:
        last = found[-1][-1] if found else None
        beside = last is not None and line.x0 - last.x1 > CELL_GAP * last.size
        if last is not None and beside and min(last.y1, line.y1) - max(last.y0, line.y0) > 0:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _render(page: Any) -> Any:
    import numpy as np

    dpi = next(dpi for dpi in DPI_STEPS if _pixels(page, dpi) <= MAX_PAGE_PIXELS)
    pixmap = page.get_pixmap(dpi=dpi, colorspace=import_pymupdf().csRGB, alpha=False)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


def _pixels(page: Any, dpi: int) -> float:
    return float(page.rect.width * page.rect.height * (dpi / 72) ** 2)
