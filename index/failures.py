"""Files that could not be read, remembered so that they are not tried again until they change."""

from __future__ import annotations

import sqlite3

from index.rows import FailureRow


def record(connection: sqlite3.Connection, failure: FailureRow) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?)",
        tuple(getattr(failure, name) for name in FailureRow.__struct_fields__),
    )


def forget(connection: sqlite3.Connection, source_path: str) -> None:
    connection.execute("DELETE FROM failures WHERE source_path = ?", (source_path,))


def by_path(connection: sqlite3.Connection, source_path: str) -> FailureRow | None:
    rows = connection.execute("SELECT * FROM failures WHERE source_path = ?", (source_path,))
    return next((_row(row) for row in rows), None)


def every(connection: sqlite3.Connection) -> list[FailureRow]:
    return [_row(row) for row in connection.execute("SELECT * FROM failures ORDER BY source_path")]


def _row(row: tuple[object, ...]) -> FailureRow:
    return FailureRow(**dict(zip(FailureRow.__struct_fields__, row, strict=True)))  # type: ignore[arg-type]
