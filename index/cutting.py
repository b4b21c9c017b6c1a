"""The table of windows: which chunk has which, by the hash of what is embedded of each.

A window's text is a text like any other: it has its vector in `vectors`, waits for one, or is marked as refused. `cut_words` in
`config` is how many words a window in the table has (0: there are none), and every chunk that comes in gets its own. Whether the
matrix has rows of them is another thing, `windows` in `config`: that is set once all vectors are there, so that no search
compares chunks with windows to chunks that wait for theirs.

Not here: where a window begins (`index.windows`), in what order a store gets windows (`kb.reindex`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from index import database, vectors, windows


def words_of(connection: sqlite3.Connection) -> int:
    """How many words a window in the table has; 0: there are none."""
    return windows.cut_words(database.read_config(connection))


def cut(connection: sqlite3.Connection, document_id: int, *, first: int, count: int) -> None:
    """The windows of a document's new chunks, `count` of them from number `first` on."""
    if words := words_of(connection):
        rows = "SELECT id, context, text FROM chunks WHERE document_id = ? AND chunk_index BETWEEN ? AND ?"
        _insert(connection, connection.execute(rows, (document_id, first, first + count - 1)), words)


def cut_all(connection: sqlite3.Connection, words: int, *, served: int = 0) -> None:
    """Windows of so many words for all chunks, of none where that is 0. Inside a transaction.

    The matrix is to have no rows of them yet, unless `served` says otherwise.
    """
    connection.execute("DELETE FROM windows")
    database.write_config(connection, {windows.CUT_WORDS: str(words), windows.SERVED: str(served)})
    _insert(connection, connection.execute("SELECT id, context, text FROM chunks"), words)


def wrong(connection: sqlite3.Connection) -> list[int]:
    """The chunks whose windows are not those of their text."""
    words, found = words_of(connection), dict[int, list[bytes]]()
    for chunk_id, text_hash in connection.execute("SELECT chunk_id, text_hash FROM windows ORDER BY chunk_id, number"):
        found.setdefault(chunk_id, []).append(text_hash)
    rows = connection.execute("SELECT id, context, text FROM chunks") if words else ()
    bad = [chunk for chunk, context, text in rows if found.pop(chunk, []) != _hashes(context, text, words)]
    return bad + list(found)


def _insert(connection: sqlite3.Connection, rows: Iterable[tuple[int, str, str]], words: int) -> None:
    connection.executemany(
        "INSERT INTO windows (chunk_id, number, text_hash) VALUES (?, ?, ?)",
        (
            (chunk_id, number, text_hash)
            for chunk_id, context, text in rows
            for number, text_hash in enumerate(_hashes(context, text, words))
        ),
    )


def _hashes(context: str, text: str, words: int) -> list[bytes]:
    return [vectors.text_hash(part) for part in windows.texts(context, text, words)]
