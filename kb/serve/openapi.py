"""The OpenAPI 3.1 description of the server, made from what it runs: the table of operations and the types of their signatures.

So it cannot say anything else than the program does. Texts are the docstrings of operations and fields (`kb.fielddocs`).
"""

from __future__ import annotations

import inspect
from functools import cache
from types import UnionType
from typing import Any, get_args

import msgspec

from kb import __version__, fielddocs
from kb.serve.arguments import JSON, LARGEST_ID, has_json_body, parameters
from kb.serve.faults import REFUSALS, STATUSES
from kb.serve.metrics import MEDIA_TYPE
from kb.serve.operations import Original, Png, PrometheusText
from kb.serve.table import OPERATIONS, Operation
from kb.wire import Failure

ABOUT = "What `kb serve` can be asked. Answers are those of the command line under -j; fields may be added to them, never renamed or removed."
REFERENCE = "#/components/schemas/{name}"
BYTES = {Png: "image/png", Original: "application/octet-stream", PrometheusText: MEDIA_TYPE}
FILE = {"type": "string", "format": "binary", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID, "examples": [1], "description": "Its id."}


@cache
def schema() -> dict[str, Any]:
    kinds = _kinds()
    _, definitions = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    docs = fielddocs.of_structs(kinds)
    for name, definition in definitions.items():
        if "properties" in definition and definition.get(
            "additionalProperties", True
        ):  # an answer: every field is always there, defaults too, but for those that may be unset
            required = definition.get("required", ())
            definition["required"] = [
                name for name, rule in definition["properties"].items() if name in required or "default" in rule
            ]
        for field, text in docs.get(name, {}).items():
            definition["properties"][field]["description"] = text
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, definitions)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kb", "version": __version__, "description": ABOUT},
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {"schemas": definitions, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(operation: Operation, definitions: dict[str, Any]) -> dict[str, Any]:
    takes = parameters(operation.work)
    described: dict[str, Any] = {
        "operationId": f"{operation.work.__name__}{'_by_post' if operation.is_reading else ''}",
        "summary": inspect.getdoc(operation.work),
        "responses": {
            str(operation.status): {"description": "The answer.", "content": _content(takes["return"])},
            "default": {"description": "A refusal.", "content": {JSON: {"schema": _reference(Failure)}}},
        },
    }
    if operation.changes:
        described["security"] = [{"token": []}]
    given = [_parameter("number", "path", NUMBER, required=True)] if "number" in takes else []
    if has_json_body(operation):
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference(takes["asked"])}}}
    elif "asked" in takes:
        given += _in_query(definitions[takes["asked"].__name__])
    if "file" in takes:
        described["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": FILE}}}
    return {**described, **({"parameters": given} if given else {})}


def _in_query(definition: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _parameter(name, "query", rule, required=name in definition.get("required", ()))
        for name, rule in definition["properties"].items()
    ]


def _parameter(name: str, where: str, rule: dict[str, Any], *, required: bool) -> dict[str, Any]:
    said = {"description": rule["description"]} if "description" in rule else {}
    plain = {key: value for key, value in rule.items() if key != "description"}
    return {"name": name, "in": where, "required": required, **said, "schema": plain}


def _content(answer: Any) -> dict[str, Any]:
    """What is answered, by media type."""
    if answer in BYTES:
        return {BYTES[answer]: {"schema": {}}}
    kinds = get_args(answer) if isinstance(answer, UnionType) else (answer,)
    if not all(_is_struct(kind) for kind in kinds):
        return {JSON: {"schema": {"type": "object"}}}
    references = [_reference(kind) for kind in kinds]
    return {JSON: {"schema": references[0] if len(references) == 1 else {"anyOf": references}}}


def _reference(kind: type) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=kind.__name__)}


def _is_struct(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, msgspec.Struct)


def _kinds() -> list[type]:
    """Every type that is asked or answered, once."""
    found: list[Any] = [Failure]
    for operation in OPERATIONS:
        takes = parameters(operation.work)
        found += [takes["asked"]] if "asked" in takes else []
        answer = takes["return"]
        found += get_args(answer) if isinstance(answer, UnionType) else [answer]
    return [kind for kind in dict.fromkeys(found) if _is_struct(kind) and kind not in BYTES]


def statuses() -> list[tuple[str, int]]:
    """The name of each error and the status it is answered with, for docs/http.md."""
    return [
        *((kind.__name__, kind.status) for kind in REFUSALS),
        *((kind.__name__, status) for kind, status in STATUSES),
    ]
