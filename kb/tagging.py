"""Tags: give, take, list, describe."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from index import tags
from index.store import reading, writing
from kb import resolve
from kb.errors import BadRequest
from kb.wire import TagAnswer, TagSummary


def attach(data_dir: Path, reference: str, names: Sequence[str], *, lock_timeout_s: float) -> TagAnswer:
    """Give the document (every version of a path) tags. Raises NotFound, BadRequest."""
    wanted = [checked(name) for name in names]
    with writing(data_dir, lock_timeout_s) as writer:
        rows = resolve.document_rows(writer.connection, reference)
        with writer.transaction():
            for row in rows:
                tags.attach(writer.connection, row.id, wanted)
        return _answer(writer.connection, changed=sum(bool(set(wanted) - set(row.tags)) for row in rows))


def detach(data_dir: Path, reference: str, names: Sequence[str], *, lock_timeout_s: float) -> TagAnswer:
    """Take tags away; one that the document does not have is no error. Raises NotFound."""
    with writing(data_dir, lock_timeout_s) as writer:
        rows = resolve.document_rows(writer.connection, reference)
        with writer.transaction():
            for row in rows:
                tags.detach(writer.connection, row.id, names)
        return _answer(writer.connection, changed=sum(bool(set(names) & set(row.tags)) for row in rows))


def describe(data_dir: Path, name: str, description: str, *, lock_timeout_s: float) -> TagAnswer:
    """Say what a tag means; a tag that nothing carries yet may be described first."""
    with writing(data_dir, lock_timeout_s) as writer:
        with writer.transaction():
            tags.describe(writer.connection, checked(name), description)
        return _answer(writer.connection, changed=1)


def every(data_dir: Path) -> TagAnswer:
    with reading(data_dir) as reader:
        return _answer(reader.connection)


def checked(name: str) -> str:
    """A tag's name without the white space around it. Raises BadRequest for an empty one."""
    if not name.strip():
        raise BadRequest("a tag needs a name", "say --tag NAME")
    return name.strip()


def _answer(connection: sqlite3.Connection, changed: int = 0) -> TagAnswer:
    rows = tuple(
        TagSummary(name=row.name, description=row.description, documents=row.documents)
        for row in tags.every(connection)
    )
    return TagAnswer(tags=rows, changed=changed)
