"""The shape of Docling's tables: their cells in rows, and how many rows at the top are headers. Changes no text."""

from __future__ import annotations

from typing import Any

MAX_TABLE_CELLS = 2_000_000  # a grid of spans; beyond it only the cells that hold text are written


def grid(data: Any, texts: list[tuple[Any, str]]) -> list[list[str]]:
    """The cells in rows; a merged cell's text stands in each place it covers, so that no row loses its meaning."""
    if data.num_rows * data.num_cols > MAX_TABLE_CELLS:
        return [[text] for _, text in texts if text]
    rows = [[""] * data.num_cols for _ in range(data.num_rows)]
    for cell, text in texts:
        for row in rows[cell.start_row_offset_idx : cell.end_row_offset_idx]:
            span = range(cell.start_col_offset_idx, min(cell.end_col_offset_idx, data.num_cols))
            row[span.start : span.stop] = [text] * len(span)
    return [row for row in rows if any(row)]


def header_rows(data: Any) -> int:
    """The rows at the top that hold headers; a header merged across columns has its own headers below."""
    marked = {cell.start_row_offset_idx for cell in data.table_cells if cell.column_header}
    count = next((row for row in range(data.num_rows) if row not in marked), data.num_rows)
    across = any(c.start_row_offset_idx == 0 and 1 < c.col_span < data.num_cols for c in data.table_cells)
    return max(count, 2 if across else 1)
