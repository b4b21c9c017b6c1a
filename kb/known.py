"""The files that a walk is known to come to, beside what they were: those that still are so need no closer look.

They are read in the order of paths, no further than the walk has come: a walk in about that order meets each while it is in
the processor's caches, and a million of them are never in memory at once. Not here: where they are kept, and what becomes of
the others (`kb.scan`).
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import takewhile
from typing import Protocol

Was = tuple[str, int, int]
"""An absolute path, and the time of change in ns and the size in bytes of its file."""
BATCH = 100
"""Rows read at a time: few enough to stay in the caches, and enough that a call costs nothing beside them."""
NEVER = -1
"""A time and a size that no file has."""
READABLE_FILE = stat.S_IFREG | stat.S_IROTH
READABLE_FILE_BITS = stat.S_IFMT(0xFFFF) | stat.S_IROTH
"""What of a mode says that it is a file, and that everybody may read it."""


class Rows(Protocol):
    """As a cursor gives them, in the order of paths."""

    def fetchmany(self, size: int) -> list[Was]: ...


class Known:
    def __init__(self, rows: Rows, *, apart: Collection[str] = ()) -> None:
        """`apart`: paths that are to be looked at even where nothing has changed."""
        self.count = 0
        """Rows read so far."""
        self.unchanged_count = 0
        """Files that were met, and are as they were."""
        self._rows = rows
        self._apart = apart
        self._waiting = rows.fetchmany(1)
        """All rows so far of the next path, of which there may be more."""
        self._held: dict[str, Was] = {}
        """Those read, and not met yet."""

    def divide(self, entries: Iterable[os.DirEntry[str]], prefix: str) -> tuple[list[str], list[os.DirEntry[str]]]:
        """The paths of the files in one folder that are as they were, and the other entries.

        A scan of many unchanged files waits for this loop.
        """
        held, apart = self._held, self._apart
        same: list[str] = []
        others: list[os.DirEntry[str]] = []
        for entry in entries:
            path = prefix + entry.name
            was = held.get(path)
            if was is None and self._is_ahead(path) and entry.is_file(follow_symlinks=False):
                self._read_to(path)
                was = held.get(path)
            if was is None or (apart and path in apart):
                others.append(entry)
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                others.append(entry)  # what is the matter is found out where it is looked at again
                continue
            if (
                status.st_mtime_ns == was[1]
                and status.st_size == was[2]
                and status.st_mode & READABLE_FILE_BITS == READABLE_FILE
            ):
                same.append(path)
            else:
                others.append(entry)
        return same, others

    def settle(self, paths: Collection[str]) -> None:
        """These were met, and are as they were; a folder that changes while it is listed may name a file twice."""
        held_before = len(self._held)
        for path in paths:
            self._held.pop(path, None)
        self.unchanged_count += held_before - len(self._held)

    def take(self, path: str) -> Was | None:
        """What a file was that is met now; None: it was not known."""
        self._read_to(path)
        return self._held.pop(path, None)

    def unmet(self) -> list[str]:
        """Those that were not met, when the walk is over."""
        while self._waiting:
            self._read()
        return list(self._held)

    def _is_ahead(self, path: str) -> bool:
        return bool(self._waiting) and self._waiting[0][0] <= path

    def _read_to(self, path: str) -> None:
        while self._is_ahead(path):
            self._read()

    def _read(self) -> None:
        """All rows of a path at once: of one that has several nobody knows what it was."""
        batch = self._rows.fetchmany(BATCH)
        rows = [*self._waiting, *batch]
        last = rows[-1][0]
        self._waiting = list(takewhile(lambda row: row[0] == last, reversed(rows))) if batch else []
        del rows[len(rows) - len(self._waiting) :]
        self.count += len(rows)
        read = {row[0]: row for row in rows}
        if len(read) < len(rows):
            several = [path for path, number in Counter(row[0] for row in rows).items() if number > 1]
            read |= {path: (path, NEVER, NEVER) for path in several}
        self._held.update(read)
