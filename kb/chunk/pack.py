"""Units to chunks: as many as fit, and the end of one chunk again at the beginning of the next.

So that the text can be put together again (`joined`), a chunk's metadata says how many of its first characters repeat the
chunk before (`overlap`), and what stands between the two where that is not a blank line (`joint`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from kb.chunk.context import common_heading, unsaid
from kb.chunk.units import Unit
from kb.types import Block, Chunk, Lines

if TYPE_CHECKING:
    from kb.chunk import TokenCounter


class Limits(msgspec.Struct, frozen=True):
    max_tokens: int
    overlap_tokens: int
    one_page: bool = False
    """All of it is of one slide or sheet (`kb.chunk.context.common_heading`)."""


def pack(
    units: Sequence[Unit], limits: Limits, counter: TokenCounter, *, context: str, metadata: dict[str, Any]
) -> list[Chunk]:
    """Chunks of at most `limits.max_tokens`, in order; every unit is in one of them."""
    chunks: list[Chunk] = []
    group: list[Unit] = []
    tokens = 0
    joins: dict[str, Any] = {}
    for unit in units:
        if group and (unit.repeated or tokens + unit.tokens > limits.max_tokens):  # a repetition opens a chunk
            chunks.append(_chunk(group, limits, counter, context, {**metadata, **joins}))
            group = _overlap(group[-1], limits, counter, room=limits.max_tokens - unit.tokens)
            tokens = sum(repeated.tokens for repeated in group)
            joins = _joins(group[0] if group else None, unit)
        group.append(unit)
        tokens += unit.tokens
    return [*chunks, _chunk(group, limits, counter, context, {**metadata, **joins})] if group else chunks


def _joins(overlap: Unit | None, first: Unit) -> dict[str, Any]:
    """How a chunk follows the one before it."""
    if overlap or first.repeated:
        return {"overlap": len(overlap.text) if overlap else first.repeated}
    return {"joint": first.joint} if first.joint != "\n\n" else {}


def joined(chunks: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """The text of (text, metadata) chunks that follow each other, said once."""
    whole = ""
    for text, metadata in chunks:
        overlap = metadata.get("overlap", 0)
        joint = "" if overlap or not whole else metadata.get("joint", "\n\n")
        whole += joint + (text[overlap:] if whole else text)
    return whole


def _overlap(last: Unit, limits: Limits, counter: TokenCounter, *, room: int) -> list[Unit]:
    """The end of `last` that is said again, where there is room for it and it is prose."""
    wanted = min(limits.overlap_tokens, room)
    if not last.divisible or wanted <= 0:
        return []
    offsets = counter.offsets(last.text)
    if len(offsets) <= wanted:
        return [last] if last.tokens <= wanted else []
    start = offsets[-wanted][0]
    while start < len(last.text) and not last.text[start - 1].isspace():  # not in the middle of a word
        start += 1
    text = last.text[start:].lstrip()  # a line end at its beginning would count as a line
    if not text:
        return []
    lines = last.lines and Lines(max(last.lines.first, last.lines.last - text.count("\n")), last.lines.last)
    return [msgspec.structs.replace(last, text=text, tokens=counter.count(text), lines=lines)]


def _chunk(
    units: Sequence[Unit], limits: Limits, counter: TokenCounter, context: str, metadata: dict[str, Any]
) -> Chunk:
    text = units[0].text + "".join(unit.joint + unit.text for unit in units[1:])
    lines = [unit.lines for unit in units if unit.lines]
    pages = [unit.page for unit in units if unit.page is not None]
    if pages and pages[-1] != pages[0]:
        metadata = {**metadata, "pages": [pages[0], pages[-1]]}
    return Chunk(
        text=text,
        token_count=counter.count(text),
        heading=common_heading([Block(text="", heading=unit.heading) for unit in units], one_page=limits.one_page),
        page=pages[0] if pages else None,
        lines=Lines(min(part.first for part in lines), max(part.last for part in lines)) if lines else None,
        context=unsaid(context, text),
        metadata=metadata,
    )
