"""JSON lines to groups of lines; a long one is pretty-printed.

A line that is not JSON is kept as text and named in a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from kb.errors import UnreadableFile
from kb.read.data import json_
from kb.read.data.groups import MAX_GROUP, grouped
from kb.read.data.invalid import Invalid
from kb.read.data.json_pretty import pretty
from kb.types import Block, Lines


class Row(msgspec.Struct, frozen=True):
    line: int
    text: str
    is_valid: bool


def blocks(text: str) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """The groups of rows, and the warnings."""
    invalid: list[int] = []
    found: list[Block] = []
    for group in grouped(_rows(text), lambda row: len(row.text)):
        places = [Lines(row.line, row.line) for row in group for _ in row.text.split("\n")]
        found.append(
            Block(
                text="\n".join(row.text for row in group),
                kind="data",
                lines=Lines(group[0].line, group[-1].line),
                places=tuple(places),
            )
        )
        invalid += [row.line for row in group if not row.is_valid]
    if not invalid:
        return tuple(found), ()
    more = f" and {len(invalid) - 1} more" if len(invalid) > 1 else ""
    return tuple(found), (f"not valid JSON (line {invalid[0]}{more}): indexed as text",)


def is_likely(text: str) -> bool:
    """Whether the first two lines are JSON objects or lists, each by itself."""
    rows = list(islice(_rows(text), 2))
    return len(rows) > 1 and all(row.is_valid and row.text.lstrip()[0] in "{[" for row in rows)


def _rows(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            json_.validate(line)
        except Invalid:
            yield Row(number, line, is_valid=False)
        except UnreadableFile as error:
            raise UnreadableFile(f"line {number} is {error.message}", error.hint) from error
        else:
            shown = json_.unescaped(line) if len(line) <= MAX_GROUP else "\n".join(pretty(line).lines)
            yield Row(number, shown, is_valid=True)
