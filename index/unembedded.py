"""Texts that a model could not embed: they have no vector of it, do not wait for one, and are found by words only.

A mark goes when its text gets its vector, when it is to be tried again, and with `kb compact` when no chunk holds the text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping


def mark(connection: sqlite3.Connection, reasons: Mapping[bytes, str], model: str, failed_at: str) -> None:
    """`reasons`: why, by text hash. Inside a transaction."""
    connection.executemany(
        "INSERT OR REPLACE INTO unembedded (text_hash, model, reason, failed_at) VALUES (?, ?, ?, ?)",
        ((text_hash, model, reason, failed_at) for text_hash, reason in reasons.items()),
    )


def marked(connection: sqlite3.Connection, model: str) -> set[bytes]:
    """The hashes of the texts that this model could not embed."""
    return {row[0] for row in connection.execute("SELECT text_hash FROM unembedded WHERE model = ?", (model,))}


def count(connection: sqlite3.Connection, model: str) -> int:
    """Those of them that a chunk or window holds."""
    row = connection.execute(
        "SELECT count(*) FROM unembedded u WHERE model = ? AND (EXISTS"
        " (SELECT 1 FROM chunks c WHERE c.text_hash = u.text_hash) OR EXISTS"
        " (SELECT 1 FROM windows w WHERE w.text_hash = u.text_hash))",
        (model,),
    ).fetchone()
    return int(row[0])


def forget(connection: sqlite3.Connection, model: str) -> None:
    """Let them wait for a vector again. Inside a transaction."""
    connection.execute("DELETE FROM unembedded WHERE model = ?", (model,))


def purge(connection: sqlite3.Connection, models: Collection[str]) -> None:
    """Drop the marks of other models than these, and of texts that no chunk or window holds any more. Inside a transaction."""
    connection.execute(
        f"DELETE FROM unembedded WHERE model NOT IN ({', '.join('?' * len(models))})"
        " OR NOT (EXISTS (SELECT 1 FROM chunks c WHERE c.text_hash = unembedded.text_hash)"
        " OR EXISTS (SELECT 1 FROM windows w WHERE w.text_hash = unembedded.text_hash))",
        tuple(models),
    )
