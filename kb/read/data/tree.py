"""The structure of a data file to blocks that follow it, with the key path as heading.

A format's own module says on which line each key begins; the blocks are runs of the file's lines, so that comments and
spelling stay as they are and every line that is not blank is in exactly one block. Knows no format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kb.read import windows
from kb.types import Block, Lines

MAX_BLOCK = 750  # characters: 2.7 a token in JSON, 4 in YAML: what the default model sees at once


class Node(msgspec.Struct, frozen=True, gc=False):
    """A key and what is under it. It reaches to the line before the next node, the last one to the end of its parent."""

    keys: tuple[str, ...]
    """What it adds to the key path of its parent: one key, or several in TOML's `[tool.ruff.lint]`."""
    first: int
    """Its first line, comments above included; counted from 1."""
    children: tuple[Node, ...] = ()
    is_document: bool = False
    """One of several documents in a file: shares no block with its neighbours."""


class Text(msgspec.Struct, frozen=True):
    """The lines that are cut into blocks, and for each its line number in the file, where they are not the file's own."""

    lines: list[str]
    numbers: list[int] | None = None

    def number(self, line: int) -> int:
        return self.numbers[line - 1] if self.numbers else line

    def size(self, first: int, last: int) -> int:
        return sum(map(len, self.lines[first - 1 : last])) + last - first


def blocks(text: Text, roots: Sequence[Node]) -> tuple[Block, ...]:
    """The blocks of a file whose outermost nodes are `roots`, in reading order."""
    return tuple(_under(text, Node((), 1, tuple(roots)), len(text.lines), ()))


def with_comments(lines: list[str], line: int, floor: int) -> int:
    """The first of the comments, or of YAML's `---`, directly above a line and below the line `floor`."""
    while line - 1 > floor and lines[line - 2].lstrip().startswith(("#", "---")):
        line -= 1
    return line


def _under(text: Text, node: Node, last: int, path: tuple[str, ...]) -> Iterator[Block]:
    """The node as one block if it is small, else its children, small neighbours together."""
    if not node.children or (text.size(node.first, last) <= MAX_BLOCK and not node.children[0].is_document):
        yield from _cut(text, node.first, last, (*path, *_only_keys(node)))
        return
    group: list[Node] = []
    first = node.first  # the line of the node's own key goes with the first child
    for child, child_last in zip(node.children, _lasts(node.children, last), strict=True):
        is_apart = child.is_document or text.size(first, child_last) > MAX_BLOCK
        if group and is_apart and child.first > group[-1].first:
            yield from _group(text, group, first, child.first - 1, path)
            group, first = [], child.first
        group.append(msgspec.structs.replace(child, first=first) if not group else child)
    yield from _group(text, group, first, last, path)


def _only_keys(node: Node) -> tuple[str, ...]:
    """The keys down to where there is more than one: `services > web > ports` of a file that says nothing else."""
    keys: tuple[str, ...] = ()
    while len(node.children) == 1:
        node = node.children[0]
        keys += node.keys
    return keys


def _group(text: Text, group: list[Node], first: int, last: int, path: tuple[str, ...]) -> Iterator[Block]:
    if len(group) == 1:
        yield from _under(text, group[0], last, (*path, *group[0].keys))
    else:
        yield from _cut(text, first, last, path)


def _lasts(nodes: Sequence[Node], last: int) -> Iterator[int]:
    """The last line of each node."""
    yield from (following.first - 1 for following in nodes[1:])
    yield last


def _cut(text: Text, first: int, last: int, path: tuple[str, ...]) -> Iterator[Block]:
    is_small = text.size(first, last) <= MAX_BLOCK
    whole = windows.without_blank_ends(text.lines, first, last)
    for start, end in (whole,) if is_small else windows.split(text.lines, first, last):
        yield Block(
            text="\n".join(text.lines[start - 1 : end]),
            kind="data",
            heading=path,
            lines=Lines(text.number(start), text.number(end)),
            places=tuple(Lines(number, number) for number in (text.numbers or ())[start - 1 : end]),
        )
