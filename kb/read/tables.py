"""Rows of cells to a markdown table. Knows nothing of where the cells come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WHITE = re.compile(r"\s+")


def markdown_table(rows: Sequence[Sequence[str]], header_rows: int = 1) -> str:
    """A markdown table; several header rows become one, as markdown has one only. Empty for no text at all.

    >>> print(markdown_table([["Region", "Q1", "Q1"], ["Region", "Jan", "Feb"], ["North", "1", "2"]], header_rows=2))
    | Region | Q1 Jan | Q1 Feb |
    | --- | --- | --- |
    | North | 1 | 2 |
    """
    width = max((len(row) for row in rows), default=0)
    padded = [[*map(_cell, row), *[""] * (width - len(row))] for row in rows]
    kept = [row for row in padded if any(row)]
    if not kept:
        return ""
    header_rows = max(1, min(header_rows, len(kept)))
    header = [" ".join(_distinct(column)) for column in zip(*kept[:header_rows], strict=True)]
    lines = [header, ["---"] * width, *kept[header_rows:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return WHITE.sub(" ", text).strip().replace("|", "\\|")


def _distinct(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
