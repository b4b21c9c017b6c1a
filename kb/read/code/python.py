"""The definitions of a Python file, by the standard library's parser. Nothing is executed.

Functions inside functions stay in them; what is defined under a top-level `if` or `try` is found. Python 2, broken and
too deeply nested files are left to `kb.read.code.grammar`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator

from kb.read.code.outline import Definition

MAX_HEADER = 200  # characters of a signature, and of a docstring, that are repeated before each method
MAX_TEXT = 2_000_000  # characters; 1 MB parses in 0.3 s, and the standard library's longest file has 0.8 MB

Function = ast.FunctionDef | ast.AsyncFunctionDef


def definitions(text: str) -> tuple[Definition, ...] | None:
    """The module's definitions, or None where Python 3 cannot parse it."""
    if len(text) > MAX_TEXT:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        return (*_docstring(module), *_found(module.body, text.split("\n"), floor=1))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _docstring(module: ast.Module) -> Iterator[Definition]:
    if ast.get_docstring(module, clean=False) is not None:
        yield Definition(first=1, last=_last(module.body[0]), name="")


def _found(nodes: Iterable[ast.AST], lines: list[str], floor: int) -> Iterator[Definition]:
    """Definitions among statements; `floor` is the first line that a comment above the first of them may be on."""
    for node in nodes:
        if isinstance(node, Function | ast.ClassDef):
            yield _definition(node, lines, floor)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            line = getattr(node, "lineno", floor)
            yield from _found(ast.iter_child_nodes(node), lines, floor=line + 1)
        if isinstance(node, ast.stmt):
            floor = _last(node) + 1


def _definition(node: Function | ast.ClassDef, lines: list[str], floor: int) -> Definition:
    members: tuple[Definition, ...] = ()
    header = ""
    if isinstance(node, ast.ClassDef) and node.lineno < _last(node):
        members = tuple(_found(node.body, lines, node.lineno + 1))
        header = _header(node, lines)
    return Definition(
        first=_first_comment(lines, _first(node), floor),
        last=_last(node),
        name=node.name,
        header=header,
        members=members,
    )


def _header(node: ast.ClassDef, lines: list[str]) -> str:
    """The class line, and the first paragraph of its docstring."""
    body = _first(node.body[0])
    signature = " ".join(" ".join(lines[node.lineno - 1 : max(node.lineno, body - 1)]).split())
    summary = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    return "\n".join(filter(None, (signature[:MAX_HEADER], summary[:MAX_HEADER])))


def _first(node: ast.stmt) -> int:
    """The line that a statement begins on, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _first_comment(lines: list[str], first: int, floor: int) -> int:
    """The line of the first comment directly above `first`, indented as it is."""
    line = lines[first - 1]
    indent = line[: len(line) - len(line.lstrip())]
    while first > floor and lines[first - 2].startswith(f"{indent}#") and not lines[first - 2].startswith("#!"):
        first -= 1
    return first
