"""Scan: which files of the sources are not what the store remembers of them. Only reads, the files and the store alike.

An unchanged file costs one stat and no query. Not here: what is done about the others (`kb.sync`).
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from time import monotonic

import msgspec

from index import documents, failures, sources
from index.database import snapshot
from index.sources import Remembered, SourceRow
from index.store import Reader, reading
from kb.caller import caller
from kb.candidates import hash_file, printable_path
from kb.errors import NotFound
from kb.known import NEVER, Known
from kb.settings import Settings
from kb.sourcerules import SourceRules, is_at_or_below
from kb.walk import File, Walk, place
from kb.wire_sources import FileState, ScanAnswer, ScannedFile, ScannedSource

SHOWN = 20
"""Files of a kind that an answer names where not all are asked for."""
WORLD_READABLE = 0o004
OWNER_READABLE = 0o400
EFFECTIVE = os.access in os.supports_effective_ids


NO_SOURCES = "there are no sources: kb source add PATH registers one"
NOTHING_COMPARED = (
    f"{NO_SOURCES}. Until then no file is looked at here; of a file added by hand, `stale` in answers says whether it has "
    "changed, and kb add --replace PATH reads it again"
)


class OutOfTime(Exception):
    """The scan was given a time, and it is over."""


class Memory(msgspec.Struct, frozen=True):
    """What is remembered of the files of one source."""

    known: Known
    """Its documents."""
    others: dict[str, Remembered]
    """Files that are no documents, and documents that belong to no source yet."""
    unowned: AbstractSet[str]
    """Paths of these documents."""
    doubtful: AbstractSet[str]
    """Paths that are to be looked at though they seem unchanged."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, row: SourceRow) -> Memory:
        unowned = {one[0]: one for one in sources.unowned(connection, row)}
        others = {one[0]: one for one in sources.remembered_others(connection, row)} | unowned
        doubtful = {*sources.doubtful(connection, row), *_returned(connection, row)}
        known = Known(sources.remembered(connection, row), apart=doubtful | unowned.keys())
        return cls(known, others, unowned.keys(), doubtful)

    def take(self, path: str) -> Remembered | None:
        """What is remembered of a file that is met now."""
        known, other = self.known.take(path), self.others.pop(path, None)
        return (path, NEVER, NEVER) if path in self.doubtful else known or other

    def unmet(self) -> list[str]:
        """Paths that were not met, when the walk is over, as a walk would meet them."""
        return sorted({*self.known.unmet(), *self.others} - self.unowned, key=place)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One source beside what is remembered of it, before any file was opened."""

    source: SourceRow
    is_there: bool
    """False: the source's own path is not there, or cannot be looked at."""
    document_count: int
    unchanged_count: int = 0
    new: tuple[File, ...] = ()
    """Of paths that nothing is remembered of."""
    different: tuple[File, ...] = ()
    """Of another time or size than is remembered, or to be looked at for another reason."""
    unowned: tuple[File, ...] = ()
    """Unchanged, and their documents do not belong to the source yet."""
    gone: tuple[str, ...] = ()
    """Remembered paths that the walk did not come to."""
    unreadable: tuple[str, ...] = ()
    """Files that may not be opened, and folders that may not be listed."""
    skipped: tuple[str, ...] = ()
    """One sentence for each symbolic link, loop or unreadable folder left out."""


def scan(data_dir: Path, settings: Settings, names: Sequence[str], *, shows_all: bool = False) -> ScanAnswer:
    """Compare the sources named, all where none is. Raises NotFound, StoreMissing."""
    with reading(data_dir, settings.storage.lock_timeout_s) as reader, snapshot(reader.connection):
        rows = chosen(reader, names)
        found = [look(reader, row, data_dir) for row in rows]
        scanned = tuple(_scanned(reader, seen, shows_all=shows_all) for seen in found)
    warnings = [sentence for seen in found for sentence in seen.skipped] if rows else [NOTHING_COMPARED]
    in_step = all(one.in_step for one in scanned) if rows else None
    return ScanAnswer(sources=scanned, in_step=in_step, warnings=tuple(warnings))


def chosen(reader: Reader, names: Sequence[str]) -> list[SourceRow]:
    """The sources of these names or paths, or all, in the order they were registered. Raises NotFound."""
    rows = sources.every(reader.connection)
    named = {row.name: row.id for row in rows} | {row.path: row.id for row in rows}
    wanted = {name: named.get(name) or named.get(caller().absolute(name)) for name in names}
    unknown = [name for name, found in wanted.items() if found is None]
    if unknown:
        known = ", ".join(row.name for row in rows) or "none"
        raise NotFound(f"no source {unknown[0]}", f"sources are: {known}")
    return [row for row in rows if not names or row.id in wanted.values()]


def look(reader: Reader, row: SourceRow, avoid: Path, until: float | None = None) -> Seen:
    """Walk a source. `until`: a moment of `monotonic`, after which OutOfTime is raised."""
    memory = Memory.of(reader.connection, row)
    walk = SourceRules.of(row).walk(avoid, memory.known)
    try:
        return _compared(row, walk, memory, until)
    except OSError:
        gone = tuple(memory.unmet())
        return Seen(source=row, is_there=False, document_count=memory.known.count, gone=gone)


def _compared(row: SourceRow, walk: Walk, memory: Memory, until: float | None) -> Seen:
    new: list[File] = []
    different: list[File] = []
    unowned: list[File] = []
    closed: list[str] = []
    unchanged_count = 0
    for batch in walk.below(row.path):
        if until is not None and monotonic() > until:
            raise OutOfTime
        for path, status in batch:
            was = memory.take(path)
            if was is None:
                new.append((path, status))
            elif was[1] != status.st_mtime_ns or was[2] != status.st_size:
                different.append((path, status))
            elif path in memory.unowned:
                unowned.append((path, status))
            else:
                unchanged_count += 1
            if not status.st_mode & WORLD_READABLE and is_closed(path, status):
                closed.append(path)
    gone = [path for path in memory.unmet() if not any(is_at_or_below(path, folder) for folder in walk.unseen)]
    return Seen(
        source=row, is_there=True, document_count=memory.known.count,
        unchanged_count=memory.known.unchanged_count + unchanged_count, new=tuple(new), different=tuple(different),
        unowned=tuple(unowned), gone=tuple(gone), unreadable=(*closed, *walk.unseen), skipped=tuple(sorted(walk.skipped)),
    )  # fmt: skip


def is_closed(path: str, status: os.stat_result) -> bool:
    if status.st_uid == os.geteuid() and status.st_mode & OWNER_READABLE:
        return False
    return not os.access(path, os.R_OK, effective_ids=EFFECTIVE)


def _returned(connection: sqlite3.Connection, row: SourceRow) -> Iterator[str]:
    """Copies of documents outside of every source whose files are gone: a copy takes their place."""
    return (copy for copy, lender in sources.lenders(connection, row) if not os.path.lexists(lender))


# What is said of it


class States:
    """What has become of each file of one source that is not unchanged."""

    def __init__(self, connection: sqlite3.Connection, seen: Seen) -> None:
        self.connection = connection
        self.seen = seen
        self.unreadable = list(seen.unreadable)

    def each(self) -> Iterator[ScannedFile]:
        """Opens files of another time or size, and new ones as large as one that is gone."""
        yield from self._new()
        for path, status in self.seen.different:
            if content_hash := self._hash(path):
                yield _file(path, self._change(path, status, content_hash))
        yield from (_file(path, "touched") for path, _ in self.seen.unowned)
        yield from (_file(path, "gone") for path in self.seen.gone if path not in self.moved)
        yield from (_file(path, "unreadable") for path in dict.fromkeys(self.unreadable))

    def _new(self) -> Iterator[ScannedFile]:
        left = [row for path in self.seen.gone for row in documents.by_path(self.connection, path)]
        sizes = {row.size for row in left}
        self.moved: set[str | None] = set()
        for path, status in self.seen.new:
            content_hash = self._hash(path) if status.st_size in sizes or not is_storable(path) else ""
            was = next((row for row in left if row.content_hash == content_hash), None)
            if was is not None:
                left.remove(was)
                self.moved.add(was.source_path)
                yield ScannedFile(path=path, state="moved", was=was.source_path)
            elif content_hash is not None:
                yield _file(path, "new")

    def _hash(self, path: str) -> str | None:
        """None where the file cannot be read."""
        try:
            return hash_readable(path)
        except OSError:
            self.unreadable.append(path)
            return None

    def _change(self, path: str, status: os.stat_result, content_hash: str) -> FileState:
        rows = documents.by_path(self.connection, path)
        if rows:
            is_same = len(rows) == 1 and rows[0].content_hash == content_hash
            return "touched" if is_same and not sources.is_outdated(self.connection, rows[0].id) else "changed"
        copy = sources.copy_at(self.connection, path)
        if copy is not None:
            is_same = copy.content_hash == content_hash and copy.mtime_ns != status.st_mtime_ns
            return "touched" if is_same else "new"
        failure = failures.by_path(self.connection, path)
        return "touched" if failure and failure.content_hash == content_hash else "new"


def hash_readable(path: str) -> str:
    """Raises OSError, also for a name that SQLite and JSON cannot hold."""
    if not is_storable(path):
        raise OSError(errno.EILSEQ, "its name is not UTF-8 (rename the file)")
    return hash_file(Path(path))[0]


def is_storable(path: str) -> bool:
    return path == printable_path(Path(path))


def _file(path: str, state: FileState) -> ScannedFile:
    return ScannedFile(path=printable_path(Path(path)), state=state)


def _scanned(reader: Reader, seen: Seen, *, shows_all: bool) -> ScannedSource:
    files = list(States(reader.connection, seen).each())
    counts = Counter(file.state for file in files)
    if not shows_all:
        files = [file for state in counts for file in [one for one in files if one.state == state][:SHOWN]]
    return ScannedSource(
        name=seen.source.name, path=seen.source.path, exists=seen.is_there, documents=seen.document_count,
        in_step=seen.is_there and not counts.keys() - {"unreadable"}, unchanged=seen.unchanged_count,
        new=counts["new"], changed=counts["changed"], moved=counts["moved"], gone=counts["gone"],
        touched=counts["touched"], unreadable=counts["unreadable"], files=tuple(files),
    )  # fmt: skip
