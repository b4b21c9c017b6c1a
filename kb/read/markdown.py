"""Markdown: one block a run of prose, table or fenced code, each with its heading chain and lines.

The text is kept as it is written; together the blocks hold every line after the front matter. The block structure is
CommonMark's, by markdown-it-py, so that a `#` inside a fence is no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from kb.errors import NoText
from kb.read import frontmatter
from kb.read.decode import read_text
from kb.types import Block, BlockKind, Document, Lines, ReadOptions, Source

if TYPE_CHECKING:
    from markdown_it.token import Token

ATTRIBUTES = re.compile(r"\s*\{[#.:][^}]*\}\s*$")
"""Pandoc's and kramdown's `{#id .class}` after a heading."""
KINDS: dict[str, BlockKind] = {"fence": "code", "code_block": "code", "table_open": "table"}


class Piece(msgspec.Struct, frozen=True):
    """Lines [start, end) of the file, counted from 0."""

    start: int
    end: int
    kind: BlockKind
    heading: tuple[str, ...]


def read(source: Source, options: ReadOptions) -> Document:  # noqa: ARG001  the interface of every reader
    decoded = read_text(source.path)
    front = frontmatter.parse(decoded.text)
    blocks = (*front.kept, *blocks_of(decoded.text, skip_lines=front.line_count))
    if not blocks:
        raise NoText(f"{source.path}: holds no text", "there is nothing to index")
    warnings = tuple(note for note in (decoded.warning, front.warning) if note)
    return Document(
        blocks=blocks, extractor="markdown", title=front.title or _title(blocks), metadata=front.metadata,
        tags=front.tags, warnings=warnings,
    )  # fmt: skip


def blocks_of(text: str, *, skip_lines: int = 0) -> Iterator[Block]:
    """The blocks of a markdown text, its first `skip_lines` lines left out but counted."""
    lines = text.split("\n")
    body = "\n".join(["" for _ in lines[:skip_lines]] + lines[skip_lines:])
    for piece in _pieces(_tokens(body), len(lines)):
        first, last = _trimmed(lines, max(piece.start, skip_lines), piece.end)
        if first < last:
            content = "\n".join(lines[first:last])
            yield Block(text=content, kind=piece.kind, heading=piece.heading, lines=Lines(first + 1, last))


def _tokens(text: str) -> list[Token]:
    """Block tokens only: inline markup costs most of the time and says nothing about structure."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser.parse(text)


def _pieces(tokens: Sequence[Token], line_count: int) -> Iterator[Piece]:
    """Cut the lines at headings, and around tables and code; what lies between is prose."""
    chain: list[tuple[int, str]] = []
    start = 0
    for number, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        heading = tuple(title for _, title in chain)
        if token.type == "heading_open":
            yield Piece(start, token.map[0], "text", heading)
            level = int(token.tag[1:])
            chain = [*((depth, title) for depth, title in chain if depth < level), (level, _plain(tokens[number + 1]))]
            start = token.map[0]
        elif token.type in KINDS:
            yield Piece(start, token.map[0], "text", heading)
            yield Piece(token.map[0], token.map[1], KINDS[token.type], heading)
            start = token.map[1]
    yield Piece(start, line_count, "text", tuple(title for _, title in chain))


def _plain(inline: Token) -> str:
    """A heading's words without the markup around them."""
    text = ATTRIBUTES.sub("", inline.content)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"(\*\*|__|`|(?<!\w)[*_]|[*_](?!\w))", "", text).strip()


def _trimmed(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


def _title(blocks: Sequence[Block]) -> str | None:
    """The first heading."""
    return next((block.heading[0] for block in blocks if block.heading), None)
