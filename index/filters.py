"""What a filter admits: decided in SQLite before any search ranks.

Most filters are about documents. Who speaks, and when, differs within a conversation: there single chunks are admitted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from operator import neg
from typing import TYPE_CHECKING

import msgspec

from index import documents, meta

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
    """ISO 8601, inclusive, against `documents.modified_at`; in a conversation against the time of the chunk, where it has one."""
    before: str | None = None
    """ISO 8601, exclusive."""
    roles: tuple[str, ...] = ()
    """Only chunks of conversations in which one of these speaks: a role, or a speaker's name."""
    meta: tuple[tuple[str, str], ...] = ()
    """Keys and values, as `index.meta` compares them."""

    @property
    def admits_all(self) -> bool:
        return self == Filter()


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """What passes: whole documents, and single chunks of others."""

    documents: frozenset[int]
    chunks: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.documents or self.chunks)


class _Part(msgspec.Struct, frozen=True):
    """Of SQL, over `documents d` and, where it says so, `chunks c`: a condition, or a column."""

    sql: str
    values: tuple[str, ...] = ()


def admitted(connection: sqlite3.Connection, wanted: Filter) -> Admitted | None:
    """None where all passes."""
    if wanted.admits_all:
        return None
    found = _admitted(connection, wanted)
    return None if found.documents and len(found.documents) == documents.count(connection) else found


def _admitted(connection: sqlite3.Connection, wanted: Filter) -> Admitted:
    conditions = _of_documents(connection, wanted)
    if wanted.roles:
        return Admitted(documents=frozenset(), chunks=_chunks(connection, [*conditions, *_of_chunks(wanted)]))
    if not (wanted.since or wanted.before):
        return Admitted(documents=_documents(connection, conditions))
    inside = _inside(wanted)
    told_apart = _Part(f"CASE WHEN {inside.sql} THEN d.id ELSE -d.id END", inside.values)
    found = _ids(connection, told_apart, "documents d", [*conditions, _touching(wanted)])
    crossing = [-document_id for document_id in found if document_id < 0]
    chunks = _chunks(connection, [_Part(f"d.id IN ({_listed(crossing)})"), *_of_chunks(wanted)]) if crossing else ()
    return Admitted(documents=found.difference(map(neg, crossing)), chunks=frozenset(chunks))


def document_ids(connection: sqlite3.Connection, wanted: Filter) -> frozenset[int] | None:
    """The documents of which anything passes, or None where all do. Does not look at roles."""
    if wanted.admits_all:
        return None
    return _documents(connection, [*_of_documents(connection, wanted), _touching(wanted)])


def chunk_ids(
    connection: sqlite3.Connection, of: Collection[int], chunks: Collection[int] = ()
) -> npt.NDArray[np.int64]:
    """The chunks of these documents, and these chunks of others, ascending; int64 (n,)."""
    import numpy as np

    rows = connection.execute(f"SELECT id FROM chunks WHERE document_id IN ({_listed(of)}) ORDER BY id")
    of_documents = np.fromiter((row[0] for row in rows), dtype=np.int64)
    return np.union1d(of_documents, np.fromiter(chunks, dtype=np.int64)) if chunks else of_documents


def _documents(connection: sqlite3.Connection, conditions: Sequence[_Part]) -> frozenset[int]:
    return _ids(connection, _Part("d.id"), "documents d", conditions)


def _chunks(connection: sqlite3.Connection, conditions: Sequence[_Part]) -> frozenset[int]:
    return _ids(connection, _Part("c.id"), "documents d JOIN chunks c ON c.document_id = d.id", conditions)


def _ids(connection: sqlite3.Connection, column: _Part, tables: str, conditions: Sequence[_Part]) -> frozenset[int]:
    where = " AND ".join(f"({condition.sql})" for condition in conditions) or "1"
    # As one text: to fetch a row takes longer than to look at it.
    sql = f"SELECT json_group_array({column.sql}) FROM {tables} WHERE {where}"
    found = connection.execute(sql, [value for one in (column, *conditions) for value in one.values]).fetchone()[0]
    return msgspec.json.decode(found, type=frozenset[int])


def _of_documents(connection: sqlite3.Connection, wanted: Filter) -> list[_Part]:
    """Tags, types, path, and what was said of them in keys and values."""
    tagged = "d.id IN (SELECT dt.document_id FROM document_tags dt JOIN tags t ON t.id = dt.tag_id WHERE t.name = ?)"
    conditions = [_Part(tagged, (tag,)) for tag in wanted.tags]
    if wanted.types:
        conditions.append(_Part(f"d.doc_type IN ({_marks(wanted.types)})", wanted.types))
    if wanted.path_glob is not None:
        conditions.append(_Part("d.source_path GLOB ?", (wanted.path_glob,)))
    if wanted.meta:
        conditions.append(_having(connection, wanted.meta))
    return conditions


def _having(connection: sqlite3.Connection, pairs: Sequence[tuple[str, str]]) -> _Part:
    """Documents with these keys and values: SQL finds the few that may have them, and each is looked at."""
    conditions = [meta.condition(key, value) for key, value in pairs]
    rows = connection.execute(
        f"SELECT id, metadata FROM documents WHERE {' AND '.join(sql for sql, _ in conditions)}",
        [value for _, values in conditions for value in values],
    )
    decoded = ((document_id, msgspec.json.decode(metadata)) for document_id, metadata in rows)
    ids = [document_id for document_id, known in decoded if all(meta.holds(known, *pair) for pair in pairs)]
    return _Part(f"d.id IN ({_listed(ids)})")


def _of_chunks(wanted: Filter) -> list[_Part]:
    """When a chunk was said, and by whom."""
    conditions = [_Part("d.doc_type = 'transcript'"), _between(wanted, _said("c", "to"), _said("c", "from"))]
    if wanted.roles:
        # As text: an array of names unpacked row by row (json_each) takes twice as long, 49 ms for 22,000 chunks.
        named = "lower(coalesce(json_extract(c.metadata, '$.roles', '$.speakers'), ''))"
        # And only where the name is in all that is said of the chunk: half of the time, or two thirds.
        sql = " OR ".join([f"instr(lower(c.metadata), lower(?)) AND instr({named}, lower(?))"] * len(wanted.roles))
        names = [msgspec.json.encode(name).decode() for name in wanted.roles]
        conditions.append(_Part(sql, tuple(each for name in names for each in (name, name))))
    return conditions


def _inside(wanted: Filter) -> _Part:
    """Documents of which all is in the period."""
    return _between(wanted, _said("d", "started"), _said("d", "ended"))


def _touching(wanted: Filter) -> _Part:
    """Documents that are in the period in part at least."""
    return _between(wanted, _said("d", "ended"), _said("d", "started"))


def _between(wanted: Filter, late: str, early: str) -> _Part:
    """`late` not before the period, `early` not after it."""
    ends = [(f"{late} >= ?", wanted.since), (f"{early} < ?", wanted.before)]
    return _Part(
        " AND ".join(sql for sql, value in ends if value is not None) or "1",
        tuple(value for _, value in ends if value is not None),
    )


def _said(table: str, name: str) -> str:
    """A time in the metadata of a conversation or of its chunk; else that of the document."""
    stated = f"json_extract({table}.metadata, '$.{name}')"
    return f"CASE WHEN d.doc_type = 'transcript' THEN coalesce({stated}, d.modified_at) ELSE d.modified_at END"


def _listed(ids: Iterable[int]) -> str:
    """As SQL has them: more than it binds values."""
    return ",".join(map(str, sorted(ids)))


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
