"""Where a passage stands, and how many there are, in words."""

from __future__ import annotations


def said_pages(pages: tuple[int, int]) -> str:
    first, last = pages
    return f"page {first}" if first == last else f"pages {first}-{last}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
