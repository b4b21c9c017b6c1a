"""Checksums of the truth: a byte of `kb.db` that changed by itself is found by `kb doctor`, since SQLite keeps none.

Triggers note what each transaction changes (table `touched`), and its end writes a CRC-32 of what stands there now (`settle`): so no
way to change anything can forget it. One checksum is of a document with its chunks and the names of its tags, or of one row of a small
table. Each vector carries its own (`vectors.crc`), and an original is what its sha256 says. Not covered: `log` and `deleted_chunks`, which
only projections need and which are checked with these; windows, which follow from the texts; marks of texts without vectors; jobs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

DOCUMENT = "document"
_CHUNK = "chunk_index, id, text, heading, context, page, start_line, end_line, token_count, metadata, text_hash"  # in the order in which they are read
_DOCUMENT = (
    "title, source_path, content_hash, doc_type, language, created_at, modified_at, mtime_ns, size, extractor, metadata, seq,"
    " source_id, title_is_name, stated_tags, outdated"
)
COVERED: dict[str, tuple[str, ...]] = {
    DOCUMENT: (
        f"SELECT {_DOCUMENT} FROM documents WHERE id = ?",
        f"SELECT {_CHUNK} FROM chunks WHERE document_id = ? ORDER BY chunk_index",
        "SELECT t.name FROM document_tags d JOIN tags t ON t.id = d.tag_id WHERE d.document_id = ? ORDER BY t.name",
    ),
    "tag": ("SELECT name, description FROM tags WHERE id = ?",),
    "source": ("SELECT name, path, description, rules, added_at, synced_at FROM sources WHERE id = ?",),
    "failure": ("SELECT content_hash, mtime_ns, size, kind, reason, failed_at FROM failures WHERE source_path = ?",),
    "copy": ("SELECT content_hash, mtime_ns, size FROM copies WHERE source_path = ?",),
    "original": ("SELECT name, length(bytes) FROM originals WHERE content_hash = ?",),
    "setting": ("SELECT value FROM config WHERE key = ?",),
}
"""What each kind of checksum is of, by queries for a key; where the first finds nothing, there is none."""
KEYS = {
    DOCUMENT: "SELECT id FROM documents",
    "tag": "SELECT id FROM tags",
    "source": "SELECT id FROM sources",
    "failure": "SELECT source_path FROM failures",
    "copy": "SELECT source_path FROM copies",
    "original": "SELECT content_hash FROM originals",
    "setting": "SELECT key FROM config WHERE key != 'schema_version'",
}
"""The version is written by what makes the tables (`index.schema`), and wrong it is noticed at once."""
TRIGGERED = (
    ("documents", DOCUMENT, "id"),
    ("chunks", DOCUMENT, "document_id"),
    ("document_tags", DOCUMENT, "document_id"),
    ("tags", "tag", "id"),
    ("sources", "source", "id"),
    ("failures", "failure", "source_path"),
    ("copies", "copy", "source_path"),
    ("originals", "original", "content_hash"),
    ("config", "setting", "key"),
)
"""Table, kind, and the column that has the key."""


def triggers() -> Iterator[str]:
    """The statements that make them."""
    for table, kind, column in TRIGGERED:
        for event, rows in (("INSERT", ("new",)), ("UPDATE", ("old", "new")), ("DELETE", ("old",))):
            noted = " ".join(_noted(kind, f"{row}.{column}") for row in rows)
            unless = f" WHEN {rows[0]}.key != 'schema_version'" if table == "config" else ""
            yield f"CREATE TRIGGER {table}_touched_by_{event.lower()} AFTER {event} ON {table}{unless} BEGIN {noted} END"
    yield (
        "CREATE TRIGGER tag_renamed AFTER UPDATE OF name ON tags BEGIN INSERT OR IGNORE INTO touched"
        f" SELECT '{DOCUMENT}', document_id FROM document_tags WHERE tag_id = new.id; END"
    )


def _noted(kind: str, key: str) -> str:
    """Not `INSERT OR IGNORE`: in a trigger the statement that fired it decides, and an upsert lets a second note fail."""
    return (
        f"INSERT INTO touched SELECT '{kind}', {key}"
        f" WHERE NOT EXISTS (SELECT 1 FROM touched WHERE kind = '{kind}' AND key = {key});"
    )


def touch_all(connection: sqlite3.Connection) -> None:
    """As if everything had changed: for a migration."""
    for kind, keys in KEYS.items():
        connection.execute(f"INSERT OR IGNORE INTO touched SELECT '{kind}', * FROM ({keys})")


def settle(connection: sqlite3.Connection) -> None:
    """At the end of a transaction: the checksums of what it changed."""
    for kind, key in connection.execute("SELECT kind, key FROM touched").fetchall():
        found = _checksum(connection, kind, key)
        if found is None:
            connection.execute("DELETE FROM checksums WHERE kind = ? AND key = ?", (kind, key))
        else:
            connection.execute("INSERT OR REPLACE INTO checksums VALUES (?, ?, ?)", (kind, key, found))
    connection.execute("DELETE FROM touched")


def wrong(connection: sqlite3.Connection) -> Iterator[tuple[str, Any]]:
    """Kind and key of what is not as it was written, or is gone; what was changed by hand is passed over."""
    unsettled = set(connection.execute("SELECT kind, key FROM touched"))
    for kind, keys in KEYS.items():
        said = dict(connection.execute("SELECT key, crc FROM checksums WHERE kind = ?", (kind,)))
        there = [key for (key,) in connection.execute(keys)]
        for key in (*there, *(said.keys() - set(there))):
            if (kind, key) not in unsettled and _readable_checksum(connection, kind, key) != said.get(key):
                yield kind, key


def of_vector(vector: bytes) -> int:
    from zlib import crc32

    return crc32(vector)


def _readable_checksum(connection: sqlite3.Connection, kind: str, key: Any) -> int | None:
    try:
        return _checksum(connection, kind, key)
    except sqlite3.OperationalError:  # a text that is no UTF-8 any more
        return -1


def _checksum(connection: sqlite3.Connection, kind: str, key: Any) -> int | None:
    """None where nothing is there."""
    from zlib import crc32  # costs a search, which writes nothing, a fraction of a millisecond

    rows = [connection.execute(query, (key,)).fetchall() for query in COVERED[kind]]
    return crc32(msgspec.msgpack.encode(rows)) if rows[0] else None
