"""docs/python.md: the methods of `kb.KnowledgeBase`, with their signatures and what their docstrings say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from inspect import Parameter
from itertools import groupby
from typing import Any

import kb
from kb import knowledgebase
from kb.knowledgebase import KnowledgeBase

INTRO = """\
```python
from kb import KnowledgeBase
```

{module}

In the examples `kb` is an open knowledge base with three short notes. Every example is run by the tests."""
WIDTH = 100
IMPORTABLE = "Also in `kb`, for annotations and `except`: {names}."


def page(generated: str) -> str:
    """`generated`: the line that says so."""
    _, _, about = (inspect.getdoc(knowledgebase) or "").partition("\n\n")
    about = about.partition("\n\nNot here:")[0]
    names = ", ".join(f"`{name}`" for name in importable() if name != "KnowledgeBase")
    sections = [f"## `{name}`\n\n{_signature(name, method)}\n\n{_text(method)}" for name, method in methods()]
    return "\n\n".join([
        f"# The knowledge base for Python programs\n\n{generated}", INTRO.format(module=about), _text(KnowledgeBase), *sections,
        IMPORTABLE.format(names=names),
    ]) + "\n"  # fmt: skip


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Those that a program calls, in the order of the source."""
    for name, found in vars(KnowledgeBase).items():
        if not name.startswith("_") and callable(getattr(KnowledgeBase, name)):
            yield name, inspect.unwrap(getattr(found, "__func__", found))


def importable() -> list[str]:
    return sorted(name for names in kb._NAMES.values() for name in names.split())  # noqa: SLF001  the list that `kb` goes by


def _signature(name: str, method: Callable[..., Any]) -> str:
    """As it is called: on one line where there is room."""
    signature = inspect.signature(method)
    _, *parameters = signature.parameters.values()
    said = [_parameter(one) for one in parameters]
    kinds = [one.kind for one in parameters]
    if Parameter.KEYWORD_ONLY in kinds and Parameter.VAR_POSITIONAL not in kinds:
        said.insert(kinds.index(Parameter.KEYWORD_ONLY), "*")
    line = f"{name}({', '.join(said)}) -> {signature.return_annotation}"
    if len(line) > WIDTH:
        line = "\n".join([f"{name}(", *(f"    {one}," for one in said), f") -> {signature.return_annotation}"])
    return f"```python\n{line}\n```"


def _parameter(one: Parameter) -> str:
    star = "*" if one.kind == Parameter.VAR_POSITIONAL else ""
    default = "" if one.default is Parameter.empty else f" = {one.default!r}"
    return f"{star}{one.name}: {one.annotation}{default}"


def _text(documented: object) -> str:
    """The docstring as Markdown: its examples in fences."""
    parts = (inspect.getdoc(documented) or "").split("\n\n")
    blocks = []
    for is_example, group in groupby(parts, lambda part: part.startswith(">>> ")):
        text = "\n\n".join(group)
        blocks.append(f"```pycon\n{text}\n```" if is_example else text)
    return "\n\n".join(blocks)
