"""What a person or an agent names on the command line to the rows that it means."""

from __future__ import annotations

import sqlite3

from index import documents
from index.rows import ChunkRow, DocumentRow
from kb.caller import caller
from kb.errors import BadRequest, NotFound

MOST_DIGITS = 18
"""What SQLite takes as an integer; ids never get there."""
MOST_NAMED = 3
"""Documents that are offered where what was named is neither an id nor a path."""


def document_rows(connection: sqlite3.Connection, reference: str) -> list[DocumentRow]:
    """The document with this id, or every version of the file at this path, newest first. Raises NotFound."""
    if is_id(reference) and (row := documents.by_id(connection, int(reference))):
        return [row]
    rows = documents.by_path(connection, caller().absolute(reference))
    if not rows:
        raise NotFound(f"no document {reference}", _hint(connection, reference))
    return rows


def _hint(connection: sqlite3.Connection, reference: str) -> str:
    """A name that could mean several is never taken for one of them: what is named here may be about to be removed."""
    chunk = documents.chunks_by_ids(connection, [int(reference)]).get(int(reference)) if is_id(reference) else None
    if chunk:
        return f"it is a chunk of document {chunk.document_id}: kb get {reference} --around 0 shows it"
    alike = documents.named(connection, reference.removeprefix("./"), limit=MOST_NAMED)
    meant = " or ".join(f"{number}, {name}" for number, name in alike)
    return f"did you mean {meant}?" if meant else "kb list shows ids and paths"


def chunk_row(connection: sqlite3.Connection, reference: str) -> ChunkRow:
    """The chunk with this id. Raises BadRequest and NotFound."""
    if not is_id(reference):
        raise BadRequest(f"--around needs the id of a chunk, not {reference!r}", "chunk_id is in every search result")
    row = documents.chunks_by_ids(connection, [int(reference)]).get(int(reference))
    if row is None:
        raise NotFound(f"no chunk {reference}", "chunk_id is in every search result; a changed document has new chunks")
    return row


def is_id(reference: str) -> bool:
    return reference.isdecimal() and len(reference) <= MOST_DIGITS
