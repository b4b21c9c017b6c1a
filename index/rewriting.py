"""A stored document with other words: what `kb scrub` writes. Inside a transaction, all of it.

A chunk whose words change is a new chunk with a new id, at the place of the old one; the others keep theirs. The document keeps its
id, and its `seq` moves, so that both projections replay it. Not here: which words are to go.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from index import documents, tags
from index.rows import DocumentRow, NewChunk


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of a document."""

    before: DocumentRow
    chunks_before: tuple[NewChunk, ...]
    chunks: tuple[NewChunk, ...]
    """As many, in the same order."""
    title: str
    metadata: dict[str, Any]
    tags: dict[str, str]
    """Tags that get another name: the old one, the new one."""

    @property
    def changed(self) -> dict[int, NewChunk]:
        """The chunks that are not what they were, by their number."""
        pairs = zip(self.chunks_before, self.chunks, strict=True)
        return {number: new for number, (old, new) in enumerate(pairs) if old != new}


def rewrite(connection: sqlite3.Connection, new: Rewritten, *, seq: int) -> bool:
    """Put it in the place of what is there; False, and nothing done, where that is not `before` any more."""
    document_id = new.before.id
    if tuple(documents.new_chunks_of(connection, document_id)) != new.chunks_before:
        return False
    for number, chunk in new.changed.items():
        documents.replace_chunk(connection, document_id, number, chunk)
    stated = tuple(new.tags.get(tag, tag) for tag in new.before.stated_tags)
    connection.execute(
        "UPDATE documents SET title = ?, metadata = ?, stated_tags = ?, seq = ? WHERE id = ?",
        (new.title, _json(new.metadata), _json(stated), seq, document_id),
    )
    tags.detach(connection, document_id, list(new.tags))
    tags.attach(connection, document_id, list(new.tags.values()))
    return True


def rewrite_failures(connection: sqlite3.Connection, clean: Callable[[str], str]) -> None:
    """Why files could not be read, and texts not embedded, in other words."""
    for table in ("failures", "unembedded"):
        reasons = [row[0] for row in connection.execute(f"SELECT DISTINCT reason FROM {table}")]
        changed = {reason: now for reason in reasons if (now := clean(reason)) != reason}
        connection.executemany(f"UPDATE {table} SET reason = ? WHERE reason = ?", _swapped(changed))


def _swapped(names: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(now, before) for before, now in names.items()]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
