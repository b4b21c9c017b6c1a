"""Secrets that show by their own shape, wherever they stand (`kb.scrub.shapes`).

A row is looked at where one of its literals stands, and only there: most texts hold none, and a literal is looked for in less than
a nanosecond a character. A token that the edge of a PDF's column broke, or the edge of a chunk, is put together again as long
as what follows looks like more of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from kb.scrub.found import Found
from kb.scrub.shapes import SHAPES, Shape

MAX_BREAKS = 60
"""Within one token. A long JSON web token in a narrow column has some forty."""
WORD_BEFORE = r"(?<![A-Za-z0-9])"
FIRST_PIECE = re.compile(r"[\w+/.~-]{1,300}", re.ASCII)
NEXT_PIECE = re.compile(
    r"(?:[ \t]{1,4}|[ \t]{0,4}\n[ \t]{0,8})(?P<piece>[\w+/.~-]{1,8000}={0,2})(?=[\s.,;:!?)\]\"'`]|\Z)", re.ASCII
)
EXAMPLE = re.compile(r"EXAMPLE|example|[xX*.]{6}|(?:your|YOUR)[-_]")
"""What documentation puts in a token's place. `AKIAIOSFODNN7EXAMPLE` is the most copied key there is."""
CHANGES_A_CHARACTER = 0.3
"""Of digits, capitals and small letters into each other: 0.6 in base62 drawn by lot, 0.5 in hexadecimal, below 0.2 in words."""


TAIL = 3
"""Characters before such a sign."""
_ALL = tuple(literal for shape in SHAPES if not shape.is_folded for literal in shape.literals)
MARKED = {
    mark: tuple(
        (literal, literal[:-1].rpartition(mark)[2][-TAIL:])
        for literal in _ALL
        if literal[-1] == mark and len(literal) > TAIL
    )
    for mark in "_-."
}
UNMARKED = tuple(literal for literal in _ALL if literal[-1] not in MARKED or len(literal) <= TAIL)


def shaped(text: str, lowered: str) -> Iterator[Found]:
    """`lowered`: `text` in small letters, place by place."""
    present = _present(text)
    for shape in SHAPES:
        searched = lowered if shape.is_folded else text
        for literal in shape.literals:
            if literal in (searched if shape.is_folded else present):
                yield from _at_literals(text, searched, shape, literal)


def _present(text: str) -> set[str]:
    """Which of the literals are in the text.

    Two thirds of them end with a sign that is rare in prose. One split at the sign says what stands before it anywhere, and rules
    nearly all of them out: 35 ns a character for the whole table, where a search for each took 110.
    """
    found = {literal for literal in UNMARKED if literal in text}
    for mark, literals in MARKED.items():
        before = {piece[-TAIL:] for piece in text.split(mark)[:-1]}
        found.update(literal for literal, tail in literals if tail in before and literal in text)
    return found


def _at_literals(text: str, searched: str, shape: Shape, literal: str) -> Iterator[Found]:
    pattern = _compiled(shape)
    place = searched.find(literal)
    while place >= 0:
        found = _found(text, shape, pattern, place)
        if found:
            yield found
        place = searched.find(literal, max(place + len(literal), found.end if found else 0))


def _found(text: str, shape: Shape, pattern: re.Pattern[str], place: int) -> Found | None:
    for start in range(max(0, place - shape.lead), place + 1):
        if match := pattern.match(text, start):
            break
    else:
        return _broken(text, shape, pattern, place)
    start, end = match.span("secret" if "secret" in pattern.groupindex else 0)
    if EXAMPLE.search(text, start, end):
        return None
    if not shape.is_folded and (not shape.whole or end - start < shape.whole):
        end = _continued(text, end, end - start, shape)
    return Found(start, end, shape.kind)


def _broken(text: str, shape: Shape, pattern: re.Pattern[str], place: int) -> Found | None:
    """A token whose first piece is too short for the pattern."""
    if shape.is_folded or shape.lead or (place and text[place - 1].isalnum()):
        return None
    first = FIRST_PIECE.match(text, place)
    if not first or not text[first.end() : first.end() + 1].isspace():
        return None
    said, end = first[0], first.end()
    for _ in range(MAX_BREAKS):
        piece = NEXT_PIECE.match(text, end)
        if not piece or not _belongs(piece["piece"], len(said), shape):
            return None
        said, end = said + piece["piece"], piece.end()
        match = pattern.match(said)
        if match and not EXAMPLE.search(said):
            return Found(place, _continued(text, end, len(said), shape), shape.kind)
    return None


def _continued(text: str, end: int, length: int, shape: Shape) -> int:
    """Where a token ends of which the first `length` characters end at `end`."""
    for _ in range(MAX_BREAKS):
        piece = NEXT_PIECE.match(text, end)
        if length == shape.whole or not piece or not _belongs(piece["piece"], length, shape):
            break
        length, end = length + len(piece["piece"]), piece.end()
    return end


def _belongs(piece: str, length: int, shape: Shape) -> bool:
    """Whether a piece after a break is more of a token that has `length` characters before it."""
    return length + len(piece) == shape.whole or (is_random(piece) and not piece.startswith(shape.literals))


def is_random(piece: str) -> bool:
    """Whether it looks drawn by lot rather than written."""
    if len(piece) < 8 or ("." in piece and len(piece) < 16) or (len(piece) < 20 and not any(map(str.isdigit, piece))):  # noqa: PLR2004
        return False  # a word, Python3.11, FooBarBaz
    return sum(_class(left) != _class(right) for left, right in pairwise(piece)) >= CHANGES_A_CHARACTER * len(piece)


def _class(character: str) -> int:
    return character.isdigit() + 2 * character.isupper() + 4 * character.islower()


@cache
def _compiled(shape: Shape) -> re.Pattern[str]:
    flags = re.ASCII | (re.IGNORECASE if shape.is_folded else 0)
    return re.compile(
        ("" if shape.is_folded or (shape.pattern[0] in "/:\\" and not shape.lead) else WORD_BEFORE) + shape.pattern,
        flags,
    )
