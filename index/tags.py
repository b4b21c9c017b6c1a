"""Tags: names with a description, many to many with documents."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

import msgspec


class TagRow(msgspec.Struct, frozen=True):
    name: str
    description: str
    documents: int


def attach(connection: sqlite3.Connection, document_id: int, names: Collection[str]) -> None:
    """Give a document tags; new names are created."""
    for name in names:
        connection.execute("INSERT OR IGNORE INTO tags (name) VALUES (?)", (name,))
        connection.execute(
            "INSERT OR IGNORE INTO document_tags SELECT ?, id FROM tags WHERE name = ?", (document_id, name)
        )


def detach(connection: sqlite3.Connection, document_id: int, names: Collection[str]) -> None:
    """Take tags from a document. A tag that nothing carries and nobody described is forgotten."""
    for name in names:
        connection.execute(
            "DELETE FROM document_tags WHERE document_id = ? AND tag_id = (SELECT id FROM tags WHERE name = ?)",
            (document_id, name),
        )
    forget_unused(connection)


def forget_unused(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM tags WHERE description = '' AND id NOT IN (SELECT tag_id FROM document_tags)")


def describe(connection: sqlite3.Connection, name: str, description: str) -> None:
    """Say what a tag means; a new name is created."""
    connection.execute(
        "INSERT INTO tags (name, description) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET description = excluded.description",
        (name, description),
    )


def every(connection: sqlite3.Connection) -> list[TagRow]:
    return [
        TagRow(*row)
        for row in connection.execute(
            "SELECT t.name, t.description, count(dt.document_id) FROM tags t LEFT JOIN document_tags dt ON dt.tag_id = t.id"
            " GROUP BY t.id ORDER BY t.name"
        )
    ]


def descriptions(connection: sqlite3.Connection, names: Collection[str]) -> dict[str, str]:
    """Of those of the tags that are described."""
    if not names:
        return {}
    marks = ",".join("?" * len(names))
    rows = connection.execute(
        f"SELECT name, description FROM tags WHERE description != '' AND name IN ({marks})", tuple(names)
    )
    return dict(rows.fetchall())
