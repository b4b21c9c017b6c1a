"""What a definition in a tree-sitter tree is called, and what its members are to know of it.

Works on the fields that the grammars have in common (`name`, `declarator`, `body` ...), not on languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

NAME_FIELDS = ("name", "declarator", "left", "property", "key", "type")  # the first that a node has leads to its name
MAX_HEADER = 200  # characters of a signature, and of a comment, that are repeated before each method
MAX_NAME = 100

GENERICS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
QUALIFIED = re.compile(r"[\w$~@#?!=.:]+")
COMMENT_MARKS = re.compile(r"^\s*(?:/\*+!?|//[/!]*|\*+/?|#+|--+)\s?|\*+/\s*$")
COMMENT_LINE = re.compile(r"^\s*(?:#|//|--|\*|/\*).*$|\s//.*$", re.MULTILINE)
NOT_A_NAME = frozenset({"", "prototype", "this", "self", "crate", "super"})


def qualified_name(node: Node) -> tuple[str, ...]:
    """The parts of the name as it is written: ("Foo", "bar") for C++'s `Foo<T>::bar`; without generics."""
    text = _name_text(node)
    if "operator" not in text and not text.startswith("["):
        while (bare := GENERICS.sub("", text)) != text:
            text = bare
    text = text.strip("*& '\"")
    if not QUALIFIED.fullmatch(text):
        return (text[:MAX_NAME],) if text else ()
    return tuple(part for part in re.split(r"::|\.", text) if part not in NOT_A_NAME)


def receiver(node: Node) -> tuple[str, str]:
    """The type of a Go method's receiver, and the receiver as it is written; empty for other definitions."""
    field = node.child_by_field_name("receiver")
    if field is None:
        return "", ""
    written = _text(field)
    types = re.findall(r"\w+", GENERICS.sub("", written))
    return (types[-1] if types else ""), f"func {written}"


def header(node: Node, above: Sequence[Node]) -> str:
    """The signature, up to the body, and the beginning of the comments above."""
    body = node.child_by_field_name("body")
    text = _text(node, body.start_byte - node.start_byte) if body else _text(node).partition("{")[0]
    signature = _clean(COMMENT_LINE.sub("", text))[:MAX_HEADER].rstrip(" {:=")
    comments = (line for comment in above if "comment" in comment.type for line in _text(comment).split("\n"))
    summary = _clean(" ".join(COMMENT_MARKS.sub("", line) for line in comments))[:MAX_HEADER]
    return "\n".join(filter(None, (signature, summary)))


def _name_text(node: Node) -> str:
    """The text of the node that names the definition."""
    named = next(filter(None, map(node.child_by_field_name, NAME_FIELDS)), None)
    if named is None:
        named = next((child for child in node.children if child.type == "object_reference"), None)  # SQL
    while named and (inner := named.child_by_field_name("declarator")):  # C: `int *(*name(int))[3]`
        named = inner
    return _clean(_text(named, MAX_NAME)) if named else ""


def _text(node: Node, size_bytes: int | None = None) -> str:
    return (node.text or b"")[:size_bytes].decode(errors="replace")


def _clean(text: str) -> str:
    return " ".join(text.split())
