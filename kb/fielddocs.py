"""What the string below a field of a class says of it; Python forgets these, the source does not.

For the schemas that are made from the types: docs/schema.json, and what `kb serve` tells of itself.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable
from functools import cache
from types import ModuleType

import msgspec


@cache
def of_module(module: ModuleType) -> dict[str, dict[str, str]]:
    """By class and field, those that the class itself has."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            for attribute, below in zip(node.body, node.body[1:], strict=False):
                match attribute, below:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        found.setdefault(node.name, {})[name] = " ".join(text.split())
    return found


def of_structs(kinds: Iterable[type]) -> dict[str, dict[str, str]]:
    """By class and field, inherited ones too: of these, and of every struct that their modules know by name."""
    modules = {sys.modules[kind.__module__] for kind in kinds}
    found = {}
    for known in (kind for module in modules for kind in vars(module).values()):
        if inspect.isclass(known) and issubclass(known, msgspec.Struct):
            lines = [
                of_module(sys.modules[kind.__module__]).get(kind.__name__, {})
                for kind in reversed(known.__mro__)
                if issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct
            ]
            found[known.__name__] = {field: text for said in lines for field, text in said.items()}
    return found
