"""Minified JSON to lines that can be read and cut, each with the line of the file that it came from.

Prints tokens, so that nothing that was written is lost or changed but escapes and white space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.read.data.json_ import Token, tokens, unescaped
from kb.read.data.tree import Text

MAX_FLAT = 100  # characters of a list of plain values that stays on one line


def pretty(text: str) -> Text:
    """One key, or one value of a list, a line."""
    lines: list[str] = []
    numbers: list[int] = []
    depth = 0
    for printed, number, change in _printed(tuple(tokens(text))):
        depth += min(change, 0)
        lines.append("  " * depth + printed)
        depth += max(change, 0)
        numbers.append(number)
    return Text(lines, numbers)


def _printed(listed: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    """Each line without its indent, the number of the line it came from, the change of depth before or after it."""
    parts: list[str] = []
    number = position = change = 0
    while position < len(listed):
        token = listed[position]
        flat = _flat(listed, position) if token.kind == "open" else ()
        if token.kind == "close" and parts:
            yield "".join(parts), number, change
            parts, change = [], 0
        number = number if parts else token.line
        change -= token.kind == "close"
        parts += [_spaced(part) for part in flat] or [_spaced(token)]
        position += len(flat) or 1
        if token.kind in ("comma", "comment") or (token.kind == "open" and not flat):
            change += token.kind == "open"
            yield "".join(parts).rstrip(), number, change
            parts, change = [], 0
    if parts:
        yield "".join(parts), number, change


def _flat(listed: Sequence[Token], start: int) -> Sequence[Token]:
    """The tokens of a list without lists and objects in it, or of an empty object, if they are short."""
    size = 0
    for position in range(start + 1, len(listed)):
        token = listed[position]
        size += len(token.text)
        if token.kind == "close":
            return listed[start : position + 1]
        if token.kind not in ("string", "scalar", "comma") or size > MAX_FLAT:
            break
    return ()


def _spaced(token: Token) -> str:
    if token.kind in ("comma", "colon"):
        return f"{token.text} "
    return unescaped(" ".join(token.text.split("\n"))) if token.kind == "string" else token.text
