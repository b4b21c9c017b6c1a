"""TOML: on which line each table and each key begins.

`tomllib` judges whether the text is valid; where things stand is found by a scanner that knows strings, comments and
brackets.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from kb.errors import UnreadableFile
from kb.read.data.invalid import Invalid
from kb.read.data.tree import Node, with_comments

TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|[\[\]{}=]|\n|[^"'\#\[\]{}=\n]+''',
    re.DOTALL,
)


def nodes(text: str) -> tuple[Node, ...]:
    """The tables, and the keys before the first of them. Raises Invalid; UnreadableFile for a nesting bomb."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"not valid TOML ({error})") from error
    except RecursionError as error:
        raise UnreadableFile("nested too deeply", "Give --type text to index it as it is.") from error
    lines = text.split("\n")
    tables: list[tuple[tuple[str, ...], int, list[Node]]] = [((), 1, [])]
    floor = 0
    for line, statement in _statements(text):
        first = with_comments(lines, line, floor)
        if statement.startswith("["):
            tables.append((_path(statement.strip("[] \t")), first, []))
        else:
            tables[-1][2].append(Node(_path(statement), first))
        floor = line
    return (*tables[0][2], *(Node(path, first, tuple(keys)) for path, first, keys in tables[1:]))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """(line, `[table]` or key) of each statement."""
    parts: list[str] = []
    line = first = 1
    depth = 0
    in_key = True
    for match in TOKEN.finditer(text + "\n"):
        part = match[0]
        if part == "\n" and not depth:
            if parts:
                yield first, "".join(parts)
            parts, in_key = [], True
        elif part.strip() and not part.startswith("#"):
            depth += (part in "[{") - (part in "]}")
            first = first if parts else line
            in_key = in_key and part != "="
            parts += [part.strip()] if in_key else []
        line += part.count("\n")


def _path(dotted: str) -> tuple[str, ...]:
    """The keys of `tool."a.b".lint`."""
    path: list[str] = []
    value = tomllib.loads(f"{dotted} = 0")
    while isinstance(value, dict):
        key, value = next(iter(value.items()))
        path.append(key)
    return tuple(path)
