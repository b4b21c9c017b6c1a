"""YAML: on which line each key begins, in every document of the file.

The text is parsed to nodes and never to values: no tag is looked at and no alias expanded. Still refuses what would be a
bomb to whoever loads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kb.errors import UnreadableFile
from kb.read.data.invalid import Invalid
from kb.read.data.tree import Node, with_comments

MAX_DEPTH = 200  # real files stay under 30
MAX_EXPANDED = 1_000_000  # nodes with every alias written out ...
MAX_EXPANSION = 10  # ... and how many times more than those that are written in the file
TOO_DEEP = (f"nested more than {MAX_DEPTH} levels deep", "Give --type text to index it as it is.")
OTHER_BREAKS = {0x85: " ", 0x2028: " ", 0x2029: " "}  # end a line for YAML, and for nobody else who counts lines


def nodes(text: str) -> tuple[Node, ...]:
    """The outermost keys of all documents. Raises Invalid; UnreadableFile for a bomb."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = list(yaml.compose_all(text.translate(OTHER_BREAKS), Loader=loader))
    except RecursionError:
        raise UnreadableFile(*TOO_DEEP) from None
    except yaml.YAMLError as error:
        raise Invalid(_reason(error)) from error
    lines = text.split("\n")
    found: list[Node] = []
    for number, document in enumerate(filter(None, documents), start=1):
        _check_expansion(document)
        above = found[-1].first if found else 0
        first = with_comments(lines, document.start_mark.line + 1, above)
        keys = _children(document, lines, above)
        found.append(Node((_title(document) or f"document {number}",), first, tuple(keys), is_document=True))
    return found[0].children if len(found) == 1 else tuple(found)


def _title(document: Any) -> str:
    """What a Kubernetes document is called: `Service redis-master`."""
    kind, metadata = (_value(document, key) for key in ("kind", "metadata"))
    name = _value(metadata, "name") if metadata else None
    return " ".join(str(node.value) for node in (kind, name) if node and node.id == "scalar")


def _value(node: Any, name: str) -> Any:
    return next((value for key, value in _items(node) if key is not None and key.value == name), None)


def _reason(error: Any) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    what = " ".join(str(problem or error).split())
    if "exceeded maximum" in what:  # libyaml's own limit of 1,000 levels
        raise UnreadableFile(*TOO_DEEP)
    return f"not valid YAML (line {mark.line + 1}: {what})" if mark else f"not valid YAML ({what})"


def _check_expansion(document: Any) -> None:
    sizes: dict[int, int] = {}
    expanded = _expanded(document, sizes, MAX_DEPTH)
    if expanded > MAX_EXPANDED and expanded > MAX_EXPANSION * len(sizes):
        raise UnreadableFile(
            f"its aliases expand {len(sizes)} values to {expanded:.0e}: a bomb",
            "Give --type text to index it as it is.",
        )


def _expanded(node: Any, sizes: dict[int, int], depth: int) -> int:
    """Nodes under this one with every alias written out; one that holds itself is counted once."""
    if depth < 0:
        raise UnreadableFile(*TOO_DEEP)
    if id(node) not in sizes:
        sizes[id(node)] = 1
        sizes[id(node)] += sum(_expanded(value, sizes, depth - 1) for _, value in _items(node))
    return sizes[id(node)]


def _items(node: Any) -> Iterator[tuple[Any, Any]]:
    """(key node or None, value node) of what is under a node."""
    if node.id == "mapping":
        yield from node.value
    elif node.id == "sequence":
        yield from ((None, value) for value in node.value)


def _children(node: Any, lines: list[str], above: int) -> list[Node]:
    """The keys under a node, on the line `above` or below it. What an alias stands for is written elsewhere."""
    children: list[Node] = []
    line = above
    for index, (key, value) in enumerate(_items(node)):
        is_alias = (
            value.start_mark.index < key.start_mark.index if key else value.start_mark.index <= node.start_mark.index
        )
        begins = (key or value).start_mark.line + 1
        if begins < line or (is_alias and key is None):
            continue
        name = f"[{index}]" if key is None else str(key.value) if key.id == "scalar" else "?"
        below = [] if is_alias else _children(value, lines, begins)
        children.append(Node((name,), with_comments(lines, begins, line), tuple(below)))
        line = begins
    return children
