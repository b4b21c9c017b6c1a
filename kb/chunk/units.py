"""Blocks to units: the smallest pieces that packing moves around, each within the budget.

A table or a code block that fits is one unit; prose gives a unit a paragraph. What is too large is cut at the best
boundary that helps: rows (with the header repeated) for tables, lines for code and data, then lines, sentences and at last
tokens.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kb.chunk.context import MOST_CHARACTERS_A_TOKEN
from kb.chunk.lines import in_file
from kb.types import Block, Lines

if TYPE_CHECKING:
    from kb.chunk import TokenCounter

PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
LINE_END = re.compile(r"\n")
SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")  # noqa: RUF001  full width, of Chinese and Japanese
LONGEST_JOINT = 15
"""Characters of white space between two sentences: with one token each, as many of both fit as `kb.chunk.BoundedCounter` allows."""
TABLE_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")


LITTLE = 4
"""What is less than so great a part of the budget should not be left alone: the end of a block, a title or a caption."""


class Line(NamedTuple):
    """Where it is in the text of its block, without the line end."""

    start: int
    end: int
    tokens: int


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    tokens: int
    joint: str
    """What stands between this unit and the one before it, when both are in one chunk."""
    heading: tuple[str, ...] = ()
    page: int | None = None
    lines: Lines | None = None
    divisible: bool = True
    """Prose, whose end may be repeated as overlap."""
    repeated: int = 0
    """Characters at the start that an earlier unit said already: a table's header over its further rows."""


def units_of(section: Sequence[Block], budget: int, counter: TokenCounter, *, titled: bool) -> list[Unit]:
    """The units of a section, in order. `titled`: where the text does not open with its heading, it is put there."""
    units: list[Unit] = []
    heading: tuple[str, ...] | None = None
    for block in section:
        if titled and block.heading and block.heading != heading and not _opens_with_title(block):
            title = block.heading[-1]
            lines = None if block.lines is None else Lines(block.lines.first, block.lines.first)
            alone = msgspec.structs.replace(block, text=title, kind="text", lines=lines, places=())
            units += _cut(alone, budget, counter)
        heading = block.heading
        if block.kind == "table" and block.context:  # its caption, or what else it needs to be understood
            units += _cut(msgspec.structs.replace(block, text=block.context, kind="text", places=()), budget, counter)
        units += _units_of_block(block, budget, _lead(units, budget), counter)
    return units


def _lead(units: Sequence[Unit], budget: int) -> int:
    """Tokens of the short line that stands above what comes next: a title or a caption."""
    last = units[-1].tokens if units and units[-1].divisible else 0
    return last if last <= budget // LITTLE else 0


def _opens_with_title(block: Block) -> bool:
    first = block.text.lstrip().partition("\n")[0].strip("#= \t*_")
    return first.casefold().startswith(block.heading[-1].strip("#= \t*_").casefold())


def _units_of_block(block: Block, budget: int, lead: int, counter: TokenCounter) -> list[Unit]:
    """What is cut anyway leaves room for the `lead` tokens above it."""
    tokens = counter.count(block.text)
    if block.kind != "text" and tokens <= budget:
        return [_unit(block, block.text, 0, tokens, "\n\n")]
    if block.kind == "table":
        return list(_table(block, budget - lead, counter))
    if block.kind != "text":
        return list(_gathered(block, LINE_END, budget - lead, counter))
    return _cut(block, budget, counter)


def _cut(block: Block, budget: int, counter: TokenCounter) -> list[Unit]:
    """A unit a paragraph; finer where a paragraph is too long."""
    units: list[Unit] = []
    for start, end in _spans(block.text, PARAGRAPH):
        units += _within(block, start, end, "\n\n", budget, counter, (LINE_END, SENTENCE))
    return units


def _within(
    block: Block,
    start: int,
    end: int,
    joint: str,
    budget: int,
    counter: TokenCounter,
    finer: tuple[re.Pattern[str], ...],
) -> Iterator[Unit]:
    """`block.text[start:end]` as units of at most `budget` tokens, cut at the first of `finer` that helps."""
    text = block.text[start:end]
    tokens = counter.count(text)
    if tokens <= budget:
        yield _unit(block, text, start, tokens, joint)
        return
    for level, boundary in enumerate(finer):
        spans = _spans(text, boundary)
        if len(spans) > 1:
            for number, (first, last) in enumerate(spans):
                between = joint if number == 0 else text[spans[number - 1][1] : first][:LONGEST_JOINT]
                yield from _within(block, start + first, start + last, between, budget, counter, finer[level + 1 :])
            return
    yield from _by_characters(block, text, start, joint, budget, counter)


def _by_characters(
    block: Block, text: str, start: int, joint: str, budget: int, counter: TokenCounter
) -> Iterator[Unit]:
    """The last resort, for text with no boundary at all: pieces of even length, at a space where there is one near."""
    even = max(1, len(text) * budget // max(counter.count(text), 1))
    position = 0
    while position < len(text):
        length = even
        while counter.count(text[position : position + length]) > budget and length > 1:
            length = length * 3 // 4
        end = position + length
        space = text.rfind(" ", position + length * 3 // 4, end)
        if space > position and end < len(text):
            end = space
        piece = text[position:end]
        if piece.strip():
            yield _unit(block, piece, start + position, counter.count(piece), joint if position == 0 else "")
        position = end


def _gathered(block: Block, boundary: re.Pattern[str], budget: int, counter: TokenCounter) -> Iterator[Unit]:
    """Lines of code or data, gathered into units as large as the budget allows. Where little is left over, it repeats lines before it."""
    lines = [Line(start, end, counter.count(block.text[start:end])) for start, end in _spans(block.text, boundary)]
    before: list[Line] = []
    for group in _groups(lines, budget):
        start, end = group[0].start, group[-1].end
        if group[0].tokens > budget:
            yield from _within(block, start, end, "\n", budget, counter, (SENTENCE,))
            before = []
            continue
        whole = _enlarged(group, before, budget // LITTLE) if group[-1] is lines[-1] else group
        unit = _unit(block, block.text[whole[0].start : end], whole[0].start, _tokens(whole), "\n")
        yield unit if whole is group else msgspec.structs.replace(unit, repeated=start - 1 - whole[0].start)
        before = group


def _groups(lines: Sequence[Line], budget: int) -> list[list[Line]]:
    """As many lines together as fit; one that does not fit is alone."""
    groups: list[list[Line]] = []
    tokens = 0
    for line in lines:
        added = line.tokens + (_gap(groups[-1][-1], line) if groups else 0)
        if groups and tokens + added <= budget:
            groups[-1].append(line)
            tokens += added
        else:
            groups.append([line])
            tokens = line.tokens
    return groups


def _enlarged(group: list[Line], before: list[Line], tokens: int) -> list[Line]:
    """The group with as many of the last lines before it as have so many tokens with it."""
    for line in reversed(before):
        larger = [line, *group]
        if _tokens(larger) > tokens:
            break
        group = larger
    return group


def _tokens(lines: Sequence[Line]) -> int:
    return sum(line.tokens for line in lines) + sum(map(_gap, lines, lines[1:]))


def _gap(line: Line, following: Line) -> int:
    """Blank lines between two take room too."""
    return (following.start - line.end) // MOST_CHARACTERS_A_TOKEN


def _table(block: Block, budget: int, counter: TokenCounter) -> Iterator[Unit]:
    """Rows in groups, each under the table's header."""
    rows = block.text.split("\n")
    header = rows[:2] if len(rows) > 2 and TABLE_RULE.match(rows[1]) else []  # noqa: PLR2004  title row, rule, rows
    head_tokens = counter.count("\n".join(header)) if header else 0
    if head_tokens > budget // 2:  # a header that leaves no room for rows is not repeated
        header, head_tokens = [], 0
    group: list[str] = []
    begun = 0
    is_first = True
    tokens = head_tokens
    for number, row in enumerate(rows[len(header) :], start=len(header)):
        count = counter.count(row)
        if group and (tokens + count > budget or head_tokens + count > budget):
            yield _rows(block, header, group, begun, tokens, is_first=is_first)
            group, tokens, is_first = [], head_tokens, False
        if head_tokens + count > budget:
            if is_first and header:
                yield _rows(block, header, [], number, head_tokens, is_first=True)
            is_first = False
            yield from _long_row(block, row, number, budget, counter)
            continue
        if not group:
            begun = number
        group.append(row)
        tokens += count
    if group:
        yield _rows(block, header, group, begun, tokens, is_first=is_first)


def _rows(block: Block, header: list[str], rows: list[str], begun: int, tokens: int, *, is_first: bool) -> Unit:
    """Rows from number `begun` on, under the header; the first rows bring the header's own lines with them."""
    lines = in_file(block, 0 if is_first else begun, begun + len(rows) - 1)
    return Unit(
        text="\n".join([*header, *rows]), tokens=tokens, joint="\n\n" if is_first else "\n", heading=block.heading,
        page=block.page, lines=lines, divisible=False, repeated=0 if is_first else len("\n".join(header)),
    )  # fmt: skip


def _long_row(block: Block, row: str, number: int, budget: int, counter: TokenCounter) -> Iterator[Unit]:
    lines = in_file(block, number, number)
    alone = msgspec.structs.replace(block, text=row, lines=lines, places=(lines,) if lines else ())
    yield from _within(alone, 0, len(row), "\n", budget, counter, (SENTENCE,))


def _unit(block: Block, text: str, start: int, tokens: int, joint: str) -> Unit:
    first = bisect_left(_line_ends(block.text), start) if block.lines else 0
    lines = in_file(block, first, first + text.count("\n"))
    return Unit(
        text=text, tokens=tokens, joint=joint, heading=block.heading, page=block.page, lines=lines,
        divisible=block.kind == "text",
    )  # fmt: skip


@lru_cache(maxsize=1)
def _line_ends(text: str) -> list[int]:
    """Where its lines end: counted once for all units of a block, since from the start for each takes the square of its length."""
    return [match.start() for match in LINE_END.finditer(text)]


def _spans(text: str, boundary: re.Pattern[str]) -> list[tuple[int, int]]:
    """What lies between the matches of `boundary`, as (start, end); stretches without any character are left out."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in boundary.finditer(text):
        spans.append((start, match.start()))
        start = match.end()
    spans.append((start, len(text)))
    return [(first, last) for first, last in spans if text[first:last].strip()]
