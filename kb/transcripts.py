"""A transcript that has grown is appended to, not read again: whether one has, and where to go on.

A file has grown where its first bytes, as many as were read, are still what they were (by sha256). It is read on from the
beginning of its last exchange, which may go on and whose chunks are then made anew; where that is follows from the stored
chunks. Everything before it is hashed and not looked at. Not here: reading (`kb.read.transcript`) and writing
(`index.documents.append`).
"""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from index import documents
from index.rows import DocumentRow, NewDocument
from kb.types import Resume

TYPE = "transcript"
STATED = ("summary", "ai-title", "custom-title")
"""What states a title in a log, the least first."""
NAME, FIRST_WORDS = -1, 0
"""What a title is worth that nothing states."""


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """A stored transcript whose file holds more now."""

    row: DocumentRow
    tail: documents.Tail
    resume: Resume


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What one pass over a file finds."""

    content_hash: str
    size: int
    grown: Grown | None


def look(connection: sqlite3.Connection, row: DocumentRow, path: Path) -> Look:
    """Read the bytes of a file that was `row` and is larger now. Raises OSError."""
    tail = documents.tail_of(connection, row.id)
    digest = hashlib.sha256()
    size = resume_byte = 0
    has_same_beginning = False
    is_plain = tail is not None
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if size < row.size <= size + len(line):
                before = digest.copy()
                before.update(line[: row.size - size])
                has_same_beginning = before.hexdigest() == row.content_hash
            if tail is not None and number < tail.line:
                resume_byte += len(line)
                is_plain = is_plain and _is_plain(line)
            digest.update(line)
            size += len(line)
    grown = None
    if tail is not None and has_same_beginning and is_plain and size > row.size:
        grown = Grown(row=row, tail=tail, resume=Resume(resume_byte, tail.line))
    return Look(content_hash=digest.hexdigest(), size=size, grown=grown)


def _is_plain(line: bytes) -> bool:
    """Whether a line ends where the decoded text says so: not in UTF-16, and not before a carriage return alone."""
    return b"\0" not in line and b"\r" not in line.rstrip(b"\r\n")


def continued(grown: Grown, part: NewDocument, title: str | None) -> NewDocument:
    """The document as it is now; `part` is what was read from the last exchange on, `title` what the user said."""
    old, new = grown.row, part.metadata
    before, now = _rank(old.metadata, old.title_is_name), _rank(new, part.title_is_name)
    is_titled = title is not None or now > before or now == before > FIRST_WORDS
    times = [metadata[name] for metadata in (old.metadata, new) for name in ("started", "ended") if name in metadata]
    stay = ("session", "cwd") if is_titled else ("session", "cwd", "titled_by")
    metadata = {
        **old.metadata,
        **new,
        **{name: old.metadata[name] for name in stay if name in old.metadata},
        **({"started": min(times), "ended": max(times)} if times else {}),
        "turns": old.metadata.get("turns", 0) - grown.tail.turns + new.get("turns", 0),
        **_redacted(old.metadata, new),
    }
    titled = (part.title, part.title_is_name) if is_titled else (old.title, bool(old.title_is_name))
    return msgspec.structs.replace(part, title=titled[0], title_is_name=titled[1], metadata=metadata)


def _redacted(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """At least how many secrets were put out of it: those in the last exchange are found again each time."""
    counts = [metadata["redacted"] for metadata in (old, new) if isinstance(metadata.get("redacted"), dict)]
    kinds = {kind: max(count.get(kind, 0) for count in counts) for count in counts for kind in count}
    return {"redacted": kinds} if kinds else {}


def _rank(metadata: dict[str, Any], is_name: bool | None) -> int:
    """How much a title is worth: a file's name less than first words, a name that a person gave most."""
    if is_name:
        return NAME
    stated = metadata.get("titled_by")
    return STATED.index(stated) + 1 if stated in STATED else FIRST_WORDS
