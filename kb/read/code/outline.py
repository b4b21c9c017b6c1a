"""Definitions found in a file to blocks that together hold every line that is not blank exactly once.

What lies between definitions (imports, constants, a class's attributes) becomes blocks of its own. Does not parse: the
definitions come from `kb.read.code.python` or `kb.read.code.grammar`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from kb.read import windows
from kb.types import Block, Lines

CLOSERS = re.compile(
    r"(?:[\W_]|\b(?:end|fi|done|esac|endif)\b)*"
)  # ends of enclosing definitions, alone on their lines


TITLE = re.compile(r"\s*(?:#|//|--|;|%|/\*).{0,100}\s*")
"""A comment of one line, alone: it says what comes next."""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A function, class or method in a file. Lines are counted from 1, both ends included."""

    first: int
    """First line, with the comments and decorators that belong to it."""
    last: int
    name: str
    """Empty for a run that belongs together and defines nothing, such as a module's docstring."""
    owner: tuple[str, ...] = ()
    """What qualifies the name and is not seen from the nesting: a Go receiver's type, `Foo` of C++'s `Foo::bar`."""
    context: str = ""
    """What the definition's own text does not say of its owner."""
    header: str = ""
    """What its members are to know of it: signature and first lines of documentation."""
    members: tuple[Definition, ...] = ()
    """Definitions inside that become blocks of their own."""


class Span(msgspec.Struct, frozen=True):
    """Lines that become one block."""

    first: int
    last: int
    heading: tuple[str, ...] = ()
    symbol: str | None = None
    context: str = ""


class Scope(msgspec.Struct, frozen=True):
    """Where in the nesting of definitions a line is."""

    names: tuple[str, ...] = ()
    enclosing: tuple[str, ...] = ()
    symbol: str | None = None
    headers: tuple[str, ...] = ()

    def enter(self, definition: Definition) -> Scope:
        enclosing = self.names + definition.owner
        names = (*enclosing, definition.name)
        headers = (*self.headers, definition.header) if definition.members else (*self.headers, definition.context)
        return Scope(names, enclosing, ".".join(names) if definition.name else None, headers)

    def span(self, first: int, last: int, context: Iterable[str]) -> Span:
        return Span(first, last, self.enclosing, self.symbol, "\n".join(filter(None, context)))


def blocks(lines: list[str], definitions: Iterable[Definition]) -> tuple[Block, ...]:
    """The file's blocks in reading order. `lines` are the file's lines without their ends."""
    spans = _join_titles(lines, _join_closers(lines, _spans(lines, definitions, Span(1, len(lines)), Scope())))
    return tuple(_block(lines, span) for span in spans)


def _spans(lines: list[str], definitions: Iterable[Definition], within: Span, scope: Scope) -> Iterator[Span]:
    """Spans of the lines `within`; where definitions share a line, the first of them gets it."""
    next_line = within.first
    for definition in sorted(definitions, key=lambda d: (d.first, -d.last)):
        first, last = max(definition.first, next_line), min(definition.last, within.last)
        if first > last:
            continue
        yield from _between(lines, Span(next_line, first - 1), within, scope)
        inner = scope.enter(definition)
        if definition.members:
            yield from _spans(lines, definition.members, Span(first, last), inner)
        else:
            yield inner.span(first, last, inner.headers)
        next_line = last + 1
    yield from _between(lines, Span(next_line, within.last), within, scope)


def _between(lines: list[str], gap: Span, within: Span, scope: Scope) -> Iterator[Span]:
    """Spans of lines that no definition claims. The first ones of a class need not be told the class's header."""
    for first, last in windows.split(lines, gap.first, gap.last):
        yield scope.span(first, last, scope.headers[:-1] if first == within.first else scope.headers)


def _join_closers(lines: list[str], spans: Iterable[Span]) -> list[Span]:
    """Brackets and `end`s that stand alone go with the block before them."""
    joined: list[Span] = []
    for span in spans:
        if joined and CLOSERS.fullmatch(_text(lines, span)):
            joined[-1] = msgspec.structs.replace(joined[-1], last=span.last)
        else:
            joined.append(span)
    return joined


def _join_titles(lines: list[str], spans: list[Span]) -> list[Span]:
    """And titles with the block after them."""
    joined: list[Span] = []
    for span in reversed(spans):
        if joined and TITLE.fullmatch(_text(lines, span)):
            joined[-1] = msgspec.structs.replace(joined[-1], first=span.first)
        else:
            joined.append(span)
    return joined[::-1]


def _text(lines: list[str], span: Span) -> str:
    return "\n".join(lines[span.first - 1 : span.last])


def _block(lines: list[str], span: Span) -> Block:
    first, last = windows.without_blank_ends(lines, span.first, span.last)
    return Block(
        text=_text(lines, Span(first, last)),
        kind="code",
        heading=span.heading,
        lines=Lines(first, last),
        symbol=span.symbol,
        context=span.context,
    )
