"""Where a secret stands in a text, and what to do where several claims overlap. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

import msgspec


class Found(msgspec.Struct, frozen=True, order=True):
    """The characters [start, end) of a text are a secret."""

    start: int
    end: int
    kind: str


def merged(claims: Iterable[Found]) -> list[Found]:
    """Claims that do not overlap, in order. The first claim on a place says the kind, and a later one may make it longer.

    A label over a vendor's token says "token", the vendor's shape says whose: it comes first and is kept.
    """
    ranked = sorted(((found.start, found.end, rank, found.kind) for rank, found in enumerate(claims)))
    kept: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in ranked:
        if kept and start < kept[-1][1]:
            before_start, before_end, before_rank, before_kind = kept[-1]
            first = (before_rank, before_kind) if before_rank < rank else (rank, kind)
            kept[-1] = (before_start, max(before_end, end), *first)
        else:
            kept.append((start, end, rank, kind))
    return [Found(start, end, kind) for start, end, _, kind in kept]


def without_marked(text: str, founds: list[Found]) -> list[Found]:
    """Without those that begin or end in the mark of an earlier scrub: scrubbed twice is scrubbed once."""
    if not founds or MARK not in text:
        return founds
    marks = [match.span() for match in MARKED.finditer(text)]
    starts = [start for start, _ in marks]

    def is_in_mark(place: int) -> bool:
        number = bisect_right(starts, place) - 1
        return number >= 0 and place < marks[number][1]

    return [found for found in founds if not is_in_mark(found.start) and not is_in_mark(found.end - 1)]


def redacted(text: str, founds: Iterable[Found]) -> str:
    """The text with `[redacted: kind]` in their places. What is redacted keeps its line ends, so that lines keep their numbers."""
    pieces: list[str] = []
    position = 0
    for found in founds:
        line_ends = "\n" * text.count("\n", found.start, found.end)
        pieces += [text[position : found.start], mark(found.kind), line_ends]
        position = found.end
    return "".join([*pieces, text[position:]])


def mark(kind: str) -> str:
    return f"{MARK}{kind}]"


MARK = "[redacted: "
MARKED = re.compile(r"\[redacted: [^\[\]\n]{1,40}\]")
