"""JSON Schemas (2020-12) of arguments and answers as the protocol wants them: an object at the root, and in words that every client knows.

Many clients know no `$ref` or check by an older dialect, and each check of an answer follows every reference again: so types stand where they are
used, under their names as titles. A model reads the schema of every tool before its first question: so null is left out.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import msgspec

NULL = {"type": "null"}


@cache
def of_arguments(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """What must be given comes first; no others are taken (additionalProperties is false); null is not said."""
    found = _whole(_components(kind), kind.__name__)
    fields = {name: _without_null(about) for name, about in found["properties"].items()}
    return {**found, "properties": {name: fields[name] for name in (*found["required"], *fields)}}


@cache
def of_answer(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Types beside this one that leave out what is their default never say null for it."""
    components = _components(kind)
    for name, beside in vars(sys.modules[kind.__module__]).items():
        if name in components and beside.__struct_config__.omit_defaults:
            fields = components[name]["properties"]
            components[name]["properties"] = {field: _without_null(about) for field, about in fields.items()}
    return _whole(components, kind.__name__)


def _components(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return msgspec.json.schema_components([kind], ref_template="{name}")[1]


def _whole(components: dict[str, Any], name: str) -> dict[str, Any]:
    """The type of this name with the others in it."""
    found: dict[str, Any] = _plain(components[name], components)
    del found["title"]
    return found


def _plain(value: Any, components: dict[str, Any]) -> Any:
    """Types in the place of references; a list of a certain length in other words: to draft 7 `"items": false` means an empty one."""
    if isinstance(value, list):
        return [_plain(one, components) for one in value]
    if not isinstance(value, dict):
        return value
    said = {name: _plain(one, components) for name, one in value.items()}
    if "$ref" in said:
        return {**_plain(components[said.pop("$ref")], components), **said}
    if "prefixItems" in said:
        said["items"] = said.pop("prefixItems")[0]
    return said


def _without_null(about: dict[str, Any]) -> dict[str, Any]:
    """A field whose default stands for nothing, without that default, and with the other choices in the place of null."""
    if about.get("default", "") not in (None, [], {}):
        return about
    said = {name: one for name, one in about.items() if name not in {"default", "anyOf"}}
    choices = [choice for choice in about.get("anyOf", ()) if choice != NULL]
    if len(choices) == 1:
        return {**choices[0], **said}
    return {"anyOf": choices, **said} if choices else said
