"""Where a passage stands, in words."""

from __future__ import annotations


def said_pages(pages: tuple[int, int]) -> str:
    first, last = pages
    return f"page {first}" if first == last else f"pages {first}-{last}"
