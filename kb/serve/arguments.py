"""What a client sent, as the types of an operation have it. Pure.

Query parameters are taken as the schema writes them: `true`, not `1`; a list is a parameter that is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import inspect

from kb.errors import BadRequest, NotFound
from kb.serve.asked import MEANT
from kb.serve.faults import UnsupportedBody
from kb.serve.table import Operation

JSON = "application/json"
LARGEST_ID = 10**18 - 1
"""What SQLite takes as an integer; ids never get there."""
SEE = "what each may be is in /openapi.json"


@cache
def parameters(work: Callable[..., Any]) -> dict[str, Any]:
    """What an operation takes besides `served`, and what it returns as `return`."""
    hints = get_type_hints(work, include_extras=True)
    hints.pop("served")
    return hints


def has_json_body(operation: Operation) -> bool:
    takes = parameters(operation.work)
    return operation.method == "POST" and "asked" in takes and "file" not in takes


def number(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise NotFound("an id is a number", "search and list show the ids of documents and chunks, /jobs those of jobs")
    return int(text)


def from_query(encoded: bytes, kind: type) -> Any:
    """The parameters as `kind` has them. Raises BadRequest, which names the one that is wrong."""
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(encoded.decode("latin-1"), keep_blank_values=True):
        values.setdefault(name, []).append(value)
    known = _fields(kind)
    for name in values:
        if name not in known:
            said = f"it takes {', '.join(known)}" if known else "it takes none"
            raise BadRequest(f"unknown parameter {name[:50]!r}", said)
    said_so = {name: _value(name, said, known[name]) for name, said in values.items()}
    return _converted(said_so, kind, "the query")


def from_json(body: bytes, kind: type) -> Any:
    """Raises BadRequest, which names the field that is wrong."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body: {error}", SEE) from None
    return _converted(said, kind, "the body")


def check_media_type(said: str, wanted: str) -> None:
    """Raises UnsupportedBody. What follows the type, such as a charset, is no matter: JSON is UTF-8."""
    said = said.partition(";")[0].strip().lower()
    if said != wanted:
        raise UnsupportedBody(f"the body is {said[:50] or 'of no type'}", f"say Content-Type: {wanted}")


def check_is_file(said: str) -> None:
    """Raises UnsupportedBody for a form, such as `curl -F` sends: what stands around the file in it would be taken for a part of it."""
    if said.strip().lower().startswith("multipart/"):
        raise UnsupportedBody("the body is a form", "send the file itself as the body: curl --data-binary @FILE")


def _converted(said: Any, kind: type, what: str) -> Any:
    try:
        return msgspec.convert(_whole(said, _fields(kind)), kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        where = place.rstrip("`").lstrip(".") or what
        raise BadRequest(f"{where}: {_in_words(message)}", _hint(message)) from None


def _in_words(message: str) -> str:
    """Without the regular expression that was not matched."""
    meant = next((words for pattern, words in MEANT.items() if message.endswith(f"matching regex {pattern!r}")), None)
    return f"expected {meant}" if meant else f"{message[0].lower()}{message[1:]}"


def _hint(message: str) -> str:
    """What is most often meant, else where to look."""
    if "RFC3339" in message:
        return "say a day, such as 2026-11-29"
    return "say true or false" if "Expected `bool`" in message else SEE


@cache
def _fields(kind: type) -> dict[str, inspect.Type]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)  # noqa: S101  `kb.serve.asked` has no others
    return {field.name: field.type for field in described.fields}


def _value(name: str, said: Sequence[str], kind: inspect.Type) -> Any:
    """What was written as JSON would have it; what cannot be that is left to the validation to refuse."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.VarTupleType):
        return list(said)
    if len(said) > 1:
        raise BadRequest(f"{name} was said {len(said)} times", "say it once")
    if isinstance(kind, inspect.BoolType | inspect.IntType | inspect.FloatType):
        try:
            return msgspec.json.decode(said[0])
        except (msgspec.DecodeError, UnicodeEncodeError):
            return said[0]
    return said[0]


def _whole(said: Any, known: Mapping[str, inspect.Type]) -> Any:
    """With 10 for 10.0 where an integer is wanted: JSON Schema takes them as one."""
    if not isinstance(said, dict):
        return said
    return {
        name: int(value)
        if isinstance(value, float) and value.is_integer() and isinstance(known.get(name), inspect.IntType)
        else value
        for name, value in said.items()
    }
