"""Sources: folders and files that the store is kept in step with, each by a name; and what was seen in them at the last sync.

Functions take an open connection, those that change something inside a transaction. A document belongs to at most one source. A
file whose content is the document of another file has no document of its own: it is remembered in `copies`. Not here: what a
source's rules mean, and how a folder is compared with what is remembered of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

import msgspec

Remembered = tuple[str, int, int]
"""Path, time of change in ns, size in bytes: what tells an unchanged file by one stat."""


class SourceRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    path: str
    description: str
    rules: str
    """JSON, as `kb` wrote it."""
    added_at: str
    synced_at: str | None


class CopyRow(msgspec.Struct, frozen=True, kw_only=True):
    source_path: str
    content_hash: str
    mtime_ns: int
    size: int


_SOURCE = f"SELECT {', '.join(SourceRow.__struct_fields__)} FROM sources "


def insert(connection: sqlite3.Connection, name: str, path: str, description: str, rules: str, added_at: str) -> int:
    """Returns its id. sqlite3.IntegrityError if the name or the path is taken."""
    cursor = connection.execute(
        "INSERT INTO sources (name, path, description, rules, added_at) VALUES (?, ?, ?, ?, ?)",
        (name, path, description, rules, added_at),
    )
    assert cursor.lastrowid is not None  # an INSERT that returned has one  # noqa: S101
    return cursor.lastrowid


def every(connection: sqlite3.Connection) -> list[SourceRow]:
    """In the order they were registered."""
    return [_row(row) for row in connection.execute(_SOURCE + "ORDER BY id")]


def change(connection: sqlite3.Connection, source_id: int, *, path: str, description: str, rules: str) -> None:
    connection.execute(
        "UPDATE sources SET path = ?, description = ?, rules = ? WHERE id = ?", (path, description, rules, source_id)
    )


def rename(connection: sqlite3.Connection, source_id: int, name: str) -> None:
    connection.execute("UPDATE sources SET name = ? WHERE id = ?", (name, source_id))


def mark_synced(connection: sqlite3.Connection, source_id: int, at: str) -> None:
    connection.execute("UPDATE sources SET synced_at = ? WHERE id = ?", (at, source_id))


def delete(connection: sqlite3.Connection, row: SourceRow) -> None:
    """Forget a source, and which copies it held. Its documents stay, and belong to none."""
    connection.execute(f"DELETE FROM copies WHERE {_IS_BELOW}", _below(row.path))
    connection.execute("DELETE FROM sources WHERE id = ?", (row.id,))


def document_ids(connection: sqlite3.Connection, source_id: int) -> list[int]:
    return [
        row[0] for row in connection.execute("SELECT id FROM documents WHERE source_id = ? ORDER BY id", (source_id,))
    ]


def document_counts(connection: sqlite3.Connection) -> dict[int, int]:
    """By source, those that have any."""
    rows = connection.execute(
        "SELECT source_id, count(*) FROM documents WHERE source_id IS NOT NULL GROUP BY source_id"
    )
    return dict(rows.fetchall())


def described(connection: sqlite3.Connection, ids: Collection[int]) -> dict[int, tuple[str, str]]:
    """Name and description by id."""
    if not ids:
        return {}
    marks = ",".join("?" * len(ids))
    rows = connection.execute(f"SELECT id, name, description FROM sources WHERE id IN ({marks})", tuple(ids))
    return {source_id: (name, description) for source_id, name, description in rows}


def adopt(connection: sqlite3.Connection, document_id: int, source_id: int | None) -> None:
    """The document belongs to this source from now on, or to none."""
    connection.execute("UPDATE documents SET source_id = ? WHERE id = ?", (source_id, document_id))


def outdate(connection: sqlite3.Connection, document_id: int) -> None:
    """The document is to be read again though its file is unchanged: it was not read as its source's rules say now."""
    connection.execute("UPDATE documents SET outdated = 1 WHERE id = ?", (document_id,))


def is_outdated(connection: sqlite3.Connection, document_id: int) -> bool:
    row = connection.execute("SELECT outdated FROM documents WHERE id = ?", (document_id,)).fetchone()
    return bool(row and row[0])


# What was seen


def remembered(connection: sqlite3.Connection, row: SourceRow) -> sqlite3.Cursor:
    """Rows (`Remembered`) of the files that are documents of this source, in the order of paths: all of it is in an index, in that order."""
    of_source = "WHERE source_id = ? AND source_path IS NOT NULL ORDER BY source_path"
    return connection.execute(f"SELECT source_path, mtime_ns, size FROM documents {of_source}", (row.id,))


def remembered_others(connection: sqlite3.Connection, row: SourceRow) -> list[Remembered]:
    """Of the files below this source that are no documents: copies, and those that could not be read or hold no text."""
    return [
        remembered
        for table in ("failures", "copies")
        for remembered in connection.execute(
            f"SELECT source_path, mtime_ns, size FROM {table} WHERE {_IS_BELOW}", _below(row.path)
        )
    ]


def unowned(connection: sqlite3.Connection, row: SourceRow) -> list[Remembered]:
    """Of documents of files below this source that belong to none yet."""
    of_none = "SELECT source_path, mtime_ns, size FROM documents WHERE source_id IS NULL AND"
    return connection.execute(
        f"{of_none} source_path = :path UNION ALL {of_none} source_path > :first AND source_path < :last",
        _below(row.path),
    ).fetchall()


def doubtful(connection: sqlite3.Connection, row: SourceRow) -> set[str]:
    """Files below this source that must be looked at though they seem unchanged.

    Documents that are outdated, files that could not be opened, and copies of what is no longer in the store.
    """
    rows = connection.execute(
        f"""SELECT source_path FROM documents WHERE source_id = :id AND outdated
        UNION ALL SELECT source_path FROM failures WHERE content_hash = '' AND {_IS_BELOW}
        UNION ALL SELECT source_path FROM copies WHERE {_IS_BELOW}
            AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.content_hash = copies.content_hash)
            AND NOT EXISTS (SELECT 1 FROM failures f WHERE f.content_hash = copies.content_hash)""",
        {**_below(row.path), "id": row.id},
    )
    return {path for (path,) in rows}


def lenders(connection: sqlite3.Connection, row: SourceRow) -> list[tuple[str, str]]:
    """Copies below this source, each with the path of its document where that belongs to no source."""
    return connection.execute(
        f"""SELECT c.source_path, d.source_path
        FROM (SELECT source_path, content_hash FROM copies WHERE {_IS_BELOW}) c
        JOIN documents d ON d.content_hash = c.content_hash AND d.source_id IS NULL AND d.source_path IS NOT NULL""",
        _below(row.path),
    ).fetchall()


def copies_of(connection: sqlite3.Connection, content_hash: str) -> list[CopyRow]:
    return [_copy(row) for row in connection.execute(_COPY + "WHERE content_hash = ?", (content_hash,))]


def copy_at(connection: sqlite3.Connection, source_path: str) -> CopyRow | None:
    return next((_copy(row) for row in connection.execute(_COPY + "WHERE source_path = ?", (source_path,))), None)


def remember_copy(connection: sqlite3.Connection, copy: CopyRow) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO copies (source_path, content_hash, mtime_ns, size) VALUES (?, ?, ?, ?)",
        (copy.source_path, copy.content_hash, copy.mtime_ns, copy.size),
    )


def forget_copies(connection: sqlite3.Connection, paths: Iterable[str]) -> None:
    connection.executemany("DELETE FROM copies WHERE source_path = ?", ((path,) for path in paths))


_COPY = "SELECT source_path, content_hash, mtime_ns, size FROM copies "
_IS_BELOW = "(source_path = :path OR (source_path > :first AND source_path < :last))"


def _below(path: str) -> dict[str, str]:
    """Bounds of the paths below one: `0` is what comes after `/`."""
    folder = path.rstrip("/")
    return {"path": path, "first": f"{folder}/", "last": f"{folder}0"}


def _row(row: tuple[object, ...]) -> SourceRow:
    return SourceRow(**dict(zip(SourceRow.__struct_fields__, row, strict=True)))  # type: ignore[arg-type]


def _copy(row: tuple[object, ...]) -> CopyRow:
    return CopyRow(**dict(zip(CopyRow.__struct_fields__, row, strict=True)))  # type: ignore[arg-type]
