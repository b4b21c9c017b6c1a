"""The metadata block at the top of a markdown or text file: YAML between `---` lines, TOML between `+++` lines.

What cannot be parsed is kept as a text of its own, with a warning: read on as markdown it would become a heading. YAML aliases are refused: a few lines of them can stand for
gigabytes.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

import msgspec

from kb.types import Block, Lines

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 50
"""PyYAML takes time with the square of the nesting: 5,000 brackets took 20 s."""
FENCED = re.compile(r"\A(?P<mark>---|\+\+\+)[ \t]*\n(?P<body>.*?)^(?P=mark)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


class FrontMatter(msgspec.Struct, frozen=True):
    metadata: dict[str, Any]
    """JSON values; dates as ISO 8601."""
    line_count: int
    """Lines of the file that the block takes, its fences included."""
    warning: str | None = None
    unparsed: str = ""
    """The block as it stands, where it is no YAML or TOML."""

    @property
    def kept(self) -> tuple[Block, ...]:
        """What of it is to be indexed as text: nothing, or the block that could not be parsed."""
        return (Block(text=self.unparsed, lines=Lines(1, self.line_count)),) if self.unparsed else ()

    @property
    def title(self) -> str | None:
        title = self.metadata.get("title")
        return str(title) if title else None

    @property
    def tags(self) -> tuple[str, ...]:
        """`tags: [a, b]`, `tags: a, b` and `keywords:` alike."""
        given = self.metadata.get("tags", self.metadata.get("keywords", ()))
        names: Iterable[Any] = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else ()
        return tuple(dict.fromkeys(str(name).strip() for name in names if str(name).strip()))


NONE = FrontMatter({}, 0)


def parse(text: str) -> FrontMatter:
    """The front matter of a text whose lines end in LF; `NONE` where there is none."""
    match = FENCED.match(text[:MAX_CHARACTERS])
    if not match:
        return NONE
    load = _yaml if match["mark"] == "---" else tomllib.loads
    try:
        tree = load(match["body"])
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        unparsed = match[0].rstrip("\n")
        return FrontMatter({}, match[0].count("\n"), f"front matter is kept as text: {reason}", unparsed)
    if not isinstance(tree, dict):
        return NONE  # a horizontal rule, not a block of metadata
    return FrontMatter(_json(tree), match[0].count("\n"))


def _yaml(body: str) -> Any:
    import yaml

    try:
        depth = 0
        for event in yaml.parse(body, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            is_alias = isinstance(event, yaml.AliasEvent)
            if is_alias or depth > MAX_DEPTH:
                raise ValueError("aliases are not allowed here" if is_alias else "nested too deeply")
        return yaml.safe_load(body)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1  # counted from 0, below the fence
        raise ValueError(f"line {line}: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _json(child) for name, child in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json(child) for child in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
