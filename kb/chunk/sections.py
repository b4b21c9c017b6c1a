"""Blocks to sections: runs under one heading, small ones merged with the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from kb.types import Block

if TYPE_CHECKING:
    from kb.chunk import TokenCounter


def sections(blocks: Sequence[Block], counter: TokenCounter, *, min_tokens: int, max_tokens: int) -> list[list[Block]]:
    """One list of blocks a section, in order.

    A section under `min_tokens` joins the next one where both fit in `max_tokens`, or where it stands right above it: a
    bare heading, or a line of introduction, says nothing alone.
    """
    merged: list[list[Block]] = []
    pending: list[Block] = []
    pending_tokens = 0
    for _, run in groupby(blocks, key=lambda block: block.heading):
        section = list(run)
        tokens = sum(counter.count(block.text) for block in section)
        if pending and pending_tokens + tokens > max_tokens and not _introduces(pending, section):
            merged.append(pending)
            pending, pending_tokens = [], 0
        pending += section
        pending_tokens += tokens
        if pending_tokens >= min_tokens:
            merged.append(pending)
            pending, pending_tokens = [], 0
    return [*merged, pending] if pending else merged


def _introduces(pending: Sequence[Block], section: Sequence[Block]) -> bool:
    """Whether all of `pending` stands under headings that the section stands under too."""
    chain = section[0].heading
    return all(block.heading == chain[: len(block.heading)] for block in pending)
