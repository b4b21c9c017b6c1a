"""Which documents a filter admits: decided in SQLite before any search ranks."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """What a hit's document must be. All conditions hold together; several tags must all be there, one type is enough."""

    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    path_glob: str | None = None
    """SQLite GLOB over the absolute path: `*` also crosses `/`."""
    since: str | None = None
    """ISO 8601, inclusive, against `documents.modified_at`."""
    before: str | None = None
    """ISO 8601, exclusive."""

    @property
    def admits_all(self) -> bool:
        return self == Filter()


def document_ids(connection: sqlite3.Connection, wanted: Filter) -> frozenset[int] | None:
    """The ids that pass, or None where all do."""
    if wanted.admits_all:
        return None
    conditions: list[str] = []
    values: list[str] = []
    for tag in wanted.tags:
        conditions.append(
            "id IN (SELECT dt.document_id FROM document_tags dt JOIN tags t ON t.id = dt.tag_id WHERE t.name = ?)"
        )
        values.append(tag)
    if wanted.types:
        conditions.append(f"doc_type IN ({','.join('?' * len(wanted.types))})")
        values.extend(wanted.types)
    for condition, value in (
        ("source_path GLOB ?", wanted.path_glob),
        ("modified_at >= ?", wanted.since),
        ("modified_at < ?", wanted.before),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    rows = connection.execute(f"SELECT id FROM documents WHERE {' AND '.join(conditions)}", values)
    return frozenset(row[0] for row in rows)


def chunk_ids(connection: sqlite3.Connection, documents: frozenset[int]) -> npt.NDArray[np.int64]:
    """The chunks of these documents, ascending; int64 (n,)."""
    import numpy as np

    ids = ",".join(map(str, sorted(documents)))
    rows = connection.execute(f"SELECT id FROM chunks WHERE document_id IN ({ids}) ORDER BY id")
    return np.fromiter((row[0] for row in rows), dtype=np.int64)
