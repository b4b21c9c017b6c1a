"""What every engine makes of a page: parts in reading order, which `assemble` turns into the document's blocks."""

from __future__ import annotations

import msgspec

from kb.types import Block, BlockKind


class Part(msgspec.Struct, frozen=True, gc=False):
    """A heading, a paragraph, a listing or a table of one page."""

    text: str
    kind: BlockKind = "text"
    rank: float | None = None
    """Set for headings only: the larger, the higher in the tree. Font sizes do well."""
    context: str = ""


class PageParts(msgspec.Struct, frozen=True, gc=False):
    number: int
    """Page, counted from 1."""
    parts: tuple[Part, ...] = ()
    blocks: tuple[Block, ...] = ()
    """Finished blocks, from an engine that finds the heading chains itself; bookmarks still go above them."""
