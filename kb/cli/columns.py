"""Markdown tables as aligned columns, as a person reads them and as the document showed them.

For tables that a reader made of a PDF, a sheet or a page; a markdown file's own tables are left as they are written.
"""

from __future__ import annotations

import re
from itertools import groupby

from kb.chunk.units import TABLE_RULE

WIDEST_PADDING = 40
"""A cell longer than this does not push the column further out."""
CELL_BORDER = re.compile(r"(?<!\\)\|")


def with_columns(text: str) -> str:
    """The text, each markdown table in it as columns two spaces apart."""
    parts = []
    for is_table, run in groupby(text.split("\n"), key=lambda line: line.startswith("|")):
        lines = list(run)
        parts += _columns(lines) if is_table and any(map(TABLE_RULE.match, lines)) else lines
    return "\n".join(parts)


def _columns(lines: list[str]) -> list[str]:
    rows = [_cells(line) for line in lines if not TABLE_RULE.match(line)]
    widths = [0] * max(map(len, rows), default=0)
    for row in rows:
        for number, cell in enumerate(row):
            widths[number] = max(widths[number], min(len(cell), WIDEST_PADDING))
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in CELL_BORDER.split(inner)]
