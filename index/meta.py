"""What was said of a document in keys and values, and how one is looked for.

In a document's metadata `meta` holds what a caller gave (`kb add --meta key=value`), texts by key; the other keys are its
reader's, such as front matter. A key that was given hides one that was read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

GIVEN = "meta"
UPLOADED_AS = "uploaded_as"
"""The key under which a document that was sent has the name of its file."""


def given(metadata: Mapping[str, Any]) -> dict[str, str]:
    found = metadata.get(GIVEN)
    # A document from before there was `--meta` may have what its reader found there.
    return {key: _text(value) for key, value in found.items()} if isinstance(found, dict) else {}


def holds(metadata: Mapping[str, Any], key: str, value: str) -> bool:
    """Whether the key has this value, or a list that has it. What is no text is compared as JSON has it: 2026, true."""
    by_caller = metadata.get(GIVEN)
    if isinstance(by_caller, dict) and key in by_caller:
        return _text(by_caller[key]) == value
    found = None if key == GIVEN else metadata.get(key)
    return any(_text(each) == value for each in (found if isinstance(found, list) else [found]) if each is not None)


def condition(key: str, value: str) -> tuple[str, tuple[str, str]]:
    """SQL that holds for every document which `holds`, and for few others: both stand somewhere in its metadata."""
    return "instr(metadata, ?) AND instr(metadata, ?)", (_json(key), _json(value)[1:-1])


def merge(connection: sqlite3.Connection, document_id: int, new: Mapping[str, str]) -> dict[str, str]:
    """Give a document that is there these too, inside a transaction; returns what it did not have yet."""
    row = connection.execute("SELECT metadata FROM documents WHERE id = ?", (document_id,)).fetchone()
    metadata = msgspec.json.decode(row[0])
    before = given(metadata)
    changed = {key: value for key, value in new.items() if before.get(key) != value}
    if changed:
        metadata[GIVEN] = {**before, **changed}
        connection.execute("UPDATE documents SET metadata = ? WHERE id = ?", (_json(metadata), document_id))
    return changed


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
