"""Lines of a block's text to lines of the file. Where each stands is the reader's word (`Block.places`)."""

from __future__ import annotations

from kb.types import Block, Lines


def in_file(block: Block, first: int, last: int) -> Lines | None:
    """Where the lines `first` to `last` of the text, counted from 0, stand; None where that is nowhere."""
    if block.lines is None:
        return None
    if not block.places:
        begin = min(block.lines.first + first, block.lines.last)
        return Lines(begin, min(block.lines.first + last, block.lines.last))
    known = [lines for lines in block.places[first : last + 1] if lines]
    return Lines(min(lines.first for lines in known), max(lines.last for lines in known)) if known else None
