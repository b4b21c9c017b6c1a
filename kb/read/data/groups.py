"""Rows to groups of moderate size, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

MAX_ROWS = 40
MAX_GROUP = 1_500  # characters: about 500 tokens, twice what the default model sees

Row = TypeVar("Row")


def grouped(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    """Groups of at most MAX_ROWS rows and MAX_GROUP characters; a longer row is a group of its own."""
    group: list[Row] = []
    total = 0
    for row in rows:
        if group and (len(group) == MAX_ROWS or total + size(row) > MAX_GROUP):
            yield group
            group, total = [], 0
        group.append(row)
        total += size(row)
    if group:
        yield group
