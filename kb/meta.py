"""`--meta key=value` as it is typed, and the metadata of a document as the store keeps it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from index.meta import GIVEN
from kb.errors import BadRequest

STATED = "stated_meta"
"""Where a reader's own `meta` goes (front matter may have one): that key is the caller's."""


def pairs(options: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Raises BadRequest for what is no `key=value`."""
    found = []
    for option in options:
        key, equals, value = option.partition("=")
        if not (key.strip() and equals):
            raise BadRequest(f"--meta {option!r} is not KEY=VALUE", "say --meta source=doc:12")
        found.append((key.strip(), value.strip()))
    return tuple(found)


def values(options: Iterable[str]) -> dict[str, str]:
    """What a document is to be given. Raises BadRequest, also where a key is given two values."""
    found: dict[str, str] = {}
    for key, value in pairs(options):
        if found.setdefault(key, value) != value:
            raise BadRequest(f"--meta {key} was given twice", "a key has one value")
    return found


def metadata_of(read: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """What a reader found and what the caller gave, apart."""
    metadata = {STATED if key == GIVEN else key: value for key, value in read.items()}
    return {**metadata, GIVEN: dict(given)} if given else metadata


def said(changed: Mapping[str, str]) -> str:
    """Of a document that was there, and has these now."""
    return "meta set: " + ", ".join(f"{key}={value}" for key, value in sorted(changed.items()))
