"""Secrets in the columns of a table that its header announces: `| user | password |`. Tables are markdown's, which ours all are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.scrub.found import Found
from kb.scrub.labels import kind_of_name
from kb.scrub.values import Claim, Kind, is_secret

RULE = re.compile(
    r"^[ \t]{0,8}\|?(?:[ \t]{0,8}:?-{2,200}:?[ \t]{0,8}\|){1,200}(?:[ \t]{0,8}:?-{2,200}:?)?[ \t]{0,8}$", re.MULTILINE
)
CELL = re.compile(r"(?:\\.|[^|\\\n])*")
MARKUP = " \t`*_"


def in_columns(text: str) -> Iterator[Found]:
    if "--|" not in text and "-- |" not in text:
        return
    rules = list(RULE.finditer(text))
    ends = (*(_line_start(text, rule.start()) for rule in rules[1:]), len(text))
    for rule, end in zip(rules, ends, strict=False):
        header_start = _line_start(text, rule.start())
        kinds = {
            number: kind
            for number, (start, end) in enumerate(_cells(text, header_start, rule.start()))
            if (kind := kind_of_name(text[start:end].strip(MARKUP)))
        }
        if kinds:
            yield from _below(text, rule.end() + 1, end, kinds)


def _line_start(text: str, rule_start: int) -> int:
    """Where the line above a rule begins: the header."""
    return text.rfind("\n", 0, max(0, rule_start - 1)) + 1


def _below(text: str, start: int, stop: int, kinds: dict[int, Kind]) -> Iterator[Found]:
    """The secrets in the rows of [start, stop), down to the first line that is no row."""
    while start < stop:
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        if "|" not in text[start:end]:
            return
        for number, (first, last) in enumerate(_cells(text, start, end)):
            value = text[first:last].strip(MARKUP)
            if number in kinds and value and is_secret(Claim(value=value, kind=kinds[number], is_quoted=True)):
                first = text.index(value, first)  # noqa: PLW2901
                yield Found(first, first + len(value), kinds[number])
        start = end + 1


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The cells of the row in [start, end), as places in the text; what is before an opening bar is no cell."""
    stop = len(text[start:end].rstrip()) + start
    opening = text.find("|", start, stop)
    place = opening + 1 if opening >= 0 and not text[start:opening].strip() else start
    cells: list[tuple[int, int]] = []
    while place < stop:
        cell = CELL.match(text, place, stop)
        last = cell.end() if cell else place
        cells.append((place, last))
        place = last + 1
    return cells
