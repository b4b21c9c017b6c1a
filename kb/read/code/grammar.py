"""The definitions of a file in any language that has a row in `kb.read.code.grammars`, by tree-sitter.

A broken file is still an outline of what is whole in it; one that is chiefly errors (another dialect, another language)
is left to windows of lines. Does not judge whether a program is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kb.read.code import names
from kb.read.code.grammars import GRAMMARS, Grammar
from kb.read.code.outline import Definition

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_TEXT = 4_000_000  # characters; 3.6 MB of C++ take 1.1 s
MAX_LINE = 1_000  # characters on average: generated or minified, lines say nothing
MAX_ERROR_SHARE = 0.5  # of the file's bytes
FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
BODIES = frozenset({"class", "object"})
HAVE_BODIES = frozenset({"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"})
SHORT = frozenset(  # not worth a block of their own when they are one line: headers are full of them
    {
        "type_definition",
        "alias_declaration",
        "type_item",
        "type_alias_declaration",
        "preproc_function_def",
        "function_signature",
    }
)


def definitions(text: str, language: str) -> tuple[Definition, ...] | None:
    """The file's definitions, or None where there is no grammar, it does not fit the text, or finds nothing."""
    grammar = GRAMMARS.get(language)
    if grammar is None or len(text) > MAX_TEXT or len(text) > MAX_LINE * (text.count("\n") + 1):
        return None
    tree = _parse(text, grammar)
    try:
        found = tuple(_found(tree.root_node, grammar))
    except RecursionError:
        return None
    if _error_bytes(tree.root_node, grammar) > MAX_ERROR_SHARE * tree.root_node.end_byte:
        return None
    return tuple(_with_owner_header(found)) or None


def _parse(text: str, grammar: Grammar) -> Tree:
    from tree_sitter import Language, Parser

    language = Language(getattr(import_module(grammar.package), grammar.function)())
    return Parser(language).parse(text.encode())


def _found(parent: Node, grammar: Grammar, outer: Sequence[Node] = ()) -> Iterator[Definition]:
    """Definitions among the children of a node, in order; `outer` are comments above the parent, on the first of them."""
    siblings = parent.children
    for index, node in enumerate(siblings):
        if not node.is_named:
            continue  # the keyword `class` is of the same type as a class
        above = [*outer, *_attached(siblings, index, grammar)]
        found: Iterable[Definition] = ()
        if node.type in grammar.containers | grammar.leaves | grammar.bindings:
            found = _definition(node, above, grammar)
        elif node.type in grammar.wrappers:
            found = _wrapped(node, above, grammar)
        elif node.type in grammar.groups or node.type == "ERROR":
            found = _found(node, grammar)
        for definition in found:
            yield definition
            outer = ()


def _wrapped(node: Node, above: list[Node], grammar: Grammar) -> Iterator[Definition]:
    """What a wrapper holds: the first definition begins, and the last one ends, where the wrapper does."""
    found = list(_found(node, grammar, above))
    if found:
        found[0] = replace(found[0], first=_first(node, above))
        found[-1] = replace(found[-1], last=max(found[-1].last, _last(node)))
    yield from found


def _definition(node: Node, above: list[Node], grammar: Grammar) -> tuple[Definition, ...]:
    """The definition that a node is; none where it only declares or names something."""
    if node.type in HAVE_BODIES and node.child_by_field_name("body") is None:
        return ()
    if node.type in SHORT and _first(node, []) == _last(node):
        return ()
    members: tuple[Definition, ...] = ()
    if node.type in grammar.containers:
        members = _members(node, node.child_by_field_name("body") or node, grammar)
    elif node.type in grammar.bindings:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is None or not (_is_function(value) or value.type in BODIES):
            return ()
        members = () if _is_function(value) else _members(node, value, grammar)
        if value.type == "object" and not members:
            return ()
    return (_named(node, above, members),)


def _members(node: Node, body: Node, grammar: Grammar) -> tuple[Definition, ...]:
    """The definitions in a body; none where all of it is on one line.

    Ruby and Python leave the comments above the first statement outside the body: they go with a definition there.
    """
    if body.start_point[0] == body.end_point[0]:
        return ()
    above = _attached(node.children, node.children.index(body), grammar) if body in node.children else []
    starts = grammar.containers | grammar.leaves | grammar.wrappers
    is_first = bool(body.named_children) and body.named_children[0].type in starts
    return tuple(_found(body, grammar, above if is_first else ()))


def _named(node: Node, above: list[Node], members: tuple[Definition, ...]) -> Definition:
    *owner, name = names.qualified_name(node) or ("default",)  # `export default class {`
    receiver_type, receiver = names.receiver(node)
    return Definition(
        first=_first(node, above),
        last=_last(node),
        name=name,
        owner=(receiver_type,) if receiver_type else tuple(owner),
        context=receiver,
        header=names.header(node, above),
        members=members,
    )


def _is_function(value: Node) -> bool:
    """Whether a JavaScript value is a function, or the result of a call that was given one: `memo(() => ...)`."""
    arguments = value.child_by_field_name("arguments") if value.type == "call_expression" else None
    return value.type in FUNCTIONS or any(
        child.type in FUNCTIONS for child in (arguments.children if arguments else ())
    )


def _with_owner_header(found: Iterable[Definition]) -> Iterator[Definition]:
    """Go and C++ define methods beside their type: they are told its header where it is in the same file."""
    found = tuple(found)
    headers = {definition.name: definition.header for definition in found if not definition.owner}
    for definition in found:
        known = headers.get(definition.owner[0], "") if definition.owner else ""
        context = "\n".join(filter(None, (known, definition.context)))
        yield replace(definition, context=context, members=tuple(_with_owner_header(definition.members)))


def _attached(siblings: list[Node], index: int, grammar: Grammar) -> list[Node]:
    """The comments, attributes and decorators directly above a node, each beginning its own line."""
    attached: list[Node] = []
    below = siblings[index]
    for position in range(index - 1, -1, -1):
        node = siblings[position]
        if node.type not in grammar.attached or _first(below, []) - _last(node) > 1:
            break
        before = siblings[position - 1] if position else None
        if before and before.type not in grammar.attached and _last(before) == _first(node, []):
            break  # a remark at the end of another line
        if (node.text or b"").startswith(b"#!"):
            break
        attached.insert(0, node)
        below = node
    return attached


def _first(node: Node, above: list[Node]) -> int:
    first: int = (above[0] if above else node).start_point[0] + 1
    return first


def _last(node: Node) -> int:
    """The last line of a node; some grammars count the line's end as part of it."""
    row, column = node.end_point
    last: int = row if column == 0 and row > node.start_point[0] else row + 1
    return last


def _error_bytes(root: Node, grammar: Grammar) -> int:
    """Bytes in the tree that the grammar could not make sense of; constructs that are whole among them not counted."""
    total = 0
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type == "ERROR":
            whole = (child for child in node.children if child.child_count or child.type in grammar.attached)
            total += node.end_byte - node.start_byte - sum(child.end_byte - child.start_byte for child in whole)
        nodes += [child for child in node.children if child.has_error]
    return total
