"""Documents and their chunks in SQLite: insert, delete, rename, find.

Functions take an open connection; those that change something take the `seq` of the running transaction. Chunk rows are
never updated: a changed document is a new document with new chunk ids. Only one that has grown at its end (`append`) keeps its
id, and the ids of the chunks that are still what they were.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from operator import eq
from typing import Any

import msgspec

from index import originals, tags
from index.meta import UPLOADED_AS
from index.rows import ChunkRow, DocumentRow, NewChunk, NewDocument

# Chunks are numbered without gaps: the last number is found at once, where counting takes longer the more there are.
_DOCUMENT_COLUMNS = """
       d.id, d.title, d.source_path, d.content_hash, d.doc_type, d.language, d.created_at, d.modified_at, d.mtime_ns,
       d.size, d.extractor, d.metadata,
       (SELECT json_group_array(t.name) FROM document_tags dt JOIN tags t ON t.id = dt.tag_id
        WHERE dt.document_id = d.id) AS tags,
       (SELECT ifnull(max(n.chunk_index) + 1, 0) FROM chunks n WHERE n.document_id = d.id) AS chunk_count,
       d.stated_tags, d.title_is_name, d.source_id
"""
_CHUNK_COLUMNS = """
       c.id, c.document_id, c.chunk_index, c.text, c.heading, c.page, c.start_line, c.end_line, c.token_count, c.metadata
"""
_DOCUMENT = f"SELECT {_DOCUMENT_COLUMNS} FROM documents d "
_CHUNK = f"SELECT {_CHUNK_COLUMNS} FROM chunks c "
_CITED = f"SELECT {_CHUNK_COLUMNS}, {_DOCUMENT_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document_id "


def insert(connection: sqlite3.Connection, document: NewDocument, *, created_at: str, seq: int) -> int:
    """Add a document, its chunks and its tags; returns its id. sqlite3.IntegrityError if the content is there already."""
    cursor = connection.execute(
        "INSERT INTO documents (title, source_path, content_hash, doc_type, language, created_at, modified_at, mtime_ns,"
        " size, extractor, metadata, seq, stated_tags, title_is_name, source_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            document.title, document.source_path, document.content_hash, document.doc_type, document.language, created_at,
            document.modified_at, document.mtime_ns, document.size, document.extractor, _json(document.metadata), seq,
            _json(document.stated_tags), document.title_is_name, document.source_id,
        ),
    )  # fmt: skip
    document_id = cursor.lastrowid
    assert document_id is not None  # an INSERT that returned has one  # noqa: S101
    _insert_chunks(connection, document_id, document.chunks, first=0)
    tags.attach(connection, document_id, document.tags)
    _keep_original(connection, document)
    return document_id


def append(
    connection: sqlite3.Connection, document_id: int, document: NewDocument, *, first_chunk: int, seq: int
) -> int:
    """A document has grown: `document` is what it is now, its chunks from number `first_chunk` on; returns how many are new.

    Those stored from there on that are as they were keep their ids; after the first that is not, all go and new ones come.
    sqlite3.IntegrityError if the content is there already.
    """
    stored = connection.execute(
        "SELECT text_hash, heading, page, start_line, end_line, metadata FROM chunks WHERE document_id = ?"
        " AND chunk_index >= ? ORDER BY chunk_index",
        (document_id, first_chunk),
    )
    now = (
        (chunk.text_hash, chunk.heading, chunk.page, chunk.start_line, chunk.end_line, _json(chunk.metadata))
        for chunk in document.chunks
    )
    kept = sum(1 for _ in takewhile(bool, map(eq, stored.fetchall(), now)))
    connection.execute(
        "DELETE FROM chunks WHERE document_id = ? AND chunk_index >= ?", (document_id, first_chunk + kept)
    )
    new = document.chunks[kept:]
    _insert_chunks(connection, document_id, new, first=first_chunk + kept)
    connection.execute(
        "UPDATE documents SET title = ?, content_hash = ?, modified_at = ?, mtime_ns = ?, size = ?, metadata = ?, seq = ?,"
        " title_is_name = ? WHERE id = ?",
        (
            document.title, document.content_hash, document.modified_at, document.mtime_ns, document.size,
            _json(document.metadata), seq, document.title_is_name, document_id,
        ),
    )  # fmt: skip
    tags.attach(connection, document_id, document.tags)
    _keep_original(connection, document)
    return len(new)


def _keep_original(connection: sqlite3.Connection, document: NewDocument) -> None:
    if document.original is not None:
        originals.keep(connection, document.original)


class Tail(msgspec.Struct, frozen=True):
    """The last exchange of a stored conversation."""

    first_chunk: int
    """Its number."""
    line: int
    """Where it begins in the file, from 1."""
    turns: int
    """That begin in it."""


def tail_of(connection: sqlite3.Connection, document_id: int) -> Tail | None:
    """None where no chunk says that an exchange begins with it."""
    row = connection.execute(
        "SELECT c.chunk_index, c.start_line, (SELECT sum(json_extract(t.metadata, '$.turns')) FROM chunks t"
        " WHERE t.document_id = c.document_id AND t.chunk_index >= c.chunk_index) FROM chunks c"
        " WHERE c.document_id = ? AND json_extract(c.metadata, '$.opens') AND c.start_line IS NOT NULL"
        " ORDER BY c.chunk_index DESC LIMIT 1",
        (document_id,),
    ).fetchone()
    return Tail(*row) if row else None


def _insert_chunks(connection: sqlite3.Connection, document_id: int, chunks: Sequence[NewChunk], *, first: int) -> None:
    connection.executemany(
        "INSERT INTO chunks (document_id, chunk_index, text, heading, context, page, start_line, end_line, token_count,"
        " metadata, text_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                document_id, number, chunk.text, chunk.heading, chunk.context, chunk.page, chunk.start_line, chunk.end_line,
                chunk.token_count, _json(chunk.metadata), chunk.text_hash,
            )
            for number, chunk in enumerate(chunks, start=first)
        ),
    )  # fmt: skip
    from index import cutting  # brings numpy, which whoever writes has loaded anyway

    cutting.cut(connection, document_id, first=first, count=len(chunks))


def replace_chunk(connection: sqlite3.Connection, document_id: int, number: int, chunk: NewChunk) -> None:
    """Another chunk, with an id of its own, in the place of the one with this number."""
    connection.execute("DELETE FROM chunks WHERE document_id = ? AND chunk_index = ?", (document_id, number))
    _insert_chunks(connection, document_id, [chunk], first=number)


def delete(connection: sqlite3.Connection, document_ids: Collection[int]) -> None:
    """Remove documents; their chunks and tags go by cascade, and a trigger records each dead chunk."""
    connection.executemany("DELETE FROM documents WHERE id = ?", ((document_id,) for document_id in document_ids))


def rename(connection: sqlite3.Connection, document_id: int, source_path: str, title: str, *, seq: int) -> None:
    connection.execute(
        "UPDATE documents SET source_path = ?, title = ?, seq = ? WHERE id = ?", (source_path, title, seq, document_id)
    )


def touch(connection: sqlite3.Connection, document_id: int, mtime_ns: int, modified_at: str) -> None:
    """The file has a new time and the same content."""
    connection.execute(
        "UPDATE documents SET mtime_ns = ?, modified_at = ? WHERE id = ?", (mtime_ns, modified_at, document_id)
    )


def by_id(connection: sqlite3.Connection, document_id: int) -> DocumentRow | None:
    return next(_documents(connection, "WHERE d.id = ?", (document_id,)), None)


def by_ids(connection: sqlite3.Connection, document_ids: Collection[int]) -> dict[int, DocumentRow]:
    marks = ",".join("?" * len(document_ids))
    rows = _documents(connection, f"WHERE d.id IN ({marks})", tuple(document_ids))
    return {row.id: row for row in rows}


def by_hash(connection: sqlite3.Connection, content_hash: str) -> DocumentRow | None:
    return next(_documents(connection, "WHERE d.content_hash = ?", (content_hash,)), None)


def by_path(connection: sqlite3.Connection, source_path: str) -> list[DocumentRow]:
    """Every version of the file at this path, newest first."""
    return list(_documents(connection, "WHERE d.source_path = ? ORDER BY d.id DESC", (source_path,)))


def by_upload(connection: sqlite3.Connection, name: str) -> list[DocumentRow]:
    """Every version of the file that was sent under this name, newest first."""
    wanted = f"WHERE d.source_path IS NULL AND json_extract(d.metadata, '$.{UPLOADED_AS}') = ? ORDER BY d.id DESC"
    return list(_documents(connection, wanted, (name,)))


def improvable(connection: sqlite3.Connection) -> list[DocumentRow]:
    """Those whose reader said that a better engine would read them better."""
    return list(_documents(connection, "WHERE json_extract(d.metadata, '$.improvable') ORDER BY d.id", ()))


def page_of(
    connection: sqlite3.Connection, document_ids: Collection[int] | None, *, limit: int | None, offset: int
) -> list[DocumentRow]:
    """Documents in the order they were added; `document_ids` None means all, `limit` None no end."""
    where = "" if document_ids is None else f"WHERE d.id IN ({','.join(map(str, sorted(document_ids)))})"
    tail = f"{where} ORDER BY d.id LIMIT ? OFFSET ?"
    return list(_documents(connection, tail, (-1 if limit is None else limit, offset)))


def count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def named(connection: sqlite3.Connection, name: str, *, limit: int) -> list[tuple[int, str]]:
    """Ids of documents that have this title or this file's name, whatever the case, with their path or title; the newest first."""
    ending = "%/" + name.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    rows = connection.execute(
        "SELECT id, coalesce(source_path, title) FROM documents WHERE title = ? COLLATE NOCASE OR source_path LIKE ? ESCAPE '\\'"
        " ORDER BY id DESC LIMIT ?",
        (name, ending, limit),
    )
    return rows.fetchall()


def chunk_count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM chunks").fetchone()[0])


def chunks_of(connection: sqlite3.Connection, document_id: int) -> list[ChunkRow]:
    """The chunks of a document, in reading order."""
    return list(_chunks(connection, "WHERE document_id = ? ORDER BY chunk_index", (document_id,)))


def new_chunks_of(connection: sqlite3.Connection, document_id: int) -> list[NewChunk]:
    """The chunks of a document as they would be inserted again, in reading order."""
    rows = connection.execute(
        f"SELECT {', '.join(NewChunk.__struct_fields__)} FROM chunks WHERE document_id = ? ORDER BY chunk_index",
        (document_id,),
    )
    found = (dict(zip(NewChunk.__struct_fields__, row, strict=True)) for row in rows)
    return [NewChunk(**{**fields, "metadata": msgspec.json.decode(fields["metadata"])}) for fields in found]


def chunks_by_ids(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> dict[int, ChunkRow]:
    """The chunks that exist among `chunk_ids`; ids that a stale projection still holds are left out."""
    marks = ",".join("?" * len(chunk_ids))
    return {row.id: row for row in _chunks(connection, f"WHERE id IN ({marks})", tuple(chunk_ids))}


def cited(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> dict[int, tuple[ChunkRow, DocumentRow]]:
    """The same with the document of each, in one read."""
    marks = ",".join("?" * len(chunk_ids))
    cursor = connection.execute(f"{_CITED} WHERE c.id IN ({marks})", tuple(chunk_ids))
    width = len(ChunkRow.__struct_fields__)
    return {row[0]: (_chunk(row[:width]), _document(row[width:])) for row in cursor.fetchall()}


def owners_of(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> dict[int, int]:
    """The document of each of the chunks that exist."""
    marks = ",".join("?" * len(chunk_ids))
    return dict(connection.execute(f"SELECT id, document_id FROM chunks WHERE id IN ({marks})", tuple(chunk_ids)))


def _documents(connection: sqlite3.Connection, tail: str, values: tuple[object, ...]) -> Iterator[DocumentRow]:
    return map(_document, connection.execute(_DOCUMENT + tail, values))


def _document(row: tuple[Any, ...]) -> DocumentRow:
    *facts, metadata, names, chunk_count, stated_tags, title_is_name, source_id = row
    facts += [_decoded(metadata), tuple(sorted(_decoded(names))), chunk_count, tuple(_decoded(stated_tags))]
    facts += [None if title_is_name is None else bool(title_is_name), source_id]
    return DocumentRow(*facts)


def _chunks(connection: sqlite3.Connection, tail: str, values: tuple[object, ...]) -> Iterator[ChunkRow]:
    return map(_chunk, connection.execute(_CHUNK + tail, values))


def _chunk(row: tuple[Any, ...]) -> ChunkRow:
    return ChunkRow(*(*row[:-1], _decoded(row[-1])))


def _decoded(text: str) -> Any:
    """Most are empty, and a search reads sixty of them."""
    if text == "{}":
        return {}
    return [] if text == "[]" else msgspec.json.decode(text)


def _json(value: dict[str, object] | tuple[str, ...]) -> str:
    return msgspec.json.encode(value).decode()
