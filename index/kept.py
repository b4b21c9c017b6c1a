"""What a process that answers many requests keeps open between them: connections, and the projections as of one commit.

Only a speed: whatever is kept is checked against `kb.db` before it is used again, and opened anew where it does not fit.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from index.database import ReadConnection
from index.filters import Admitted, Filter
from index.heap import keep_freed
from index.lexical import Lexical
from index.watermark import Watermark

if TYPE_CHECKING:
    from index.columns import Ids
    from index.matrix import Matrix
    from index.owners import Owners

Opened = TypeVar("Opened")
Identity = tuple[int, int]
NO_FILE = (0, 0)


class Standing(msgspec.Struct, Generic[Opened], frozen=True):
    """A projection that was opened, and the last transaction that is in it."""

    projection: Opened
    mark: Watermark | None
    """None where a writer may have moved it while it was being opened."""


class KeptStore:
    """Of one data folder; used by several threads, each with a connection of its own at a time."""

    def __init__(self) -> None:
        self.lexical: Standing[Lexical] | None = None
        self.matrix: Standing[Matrix] | None = None
        self.owners: Owners | None = None
        self.decided: tuple[tuple[Watermark, Filter], Admitted | None] | None = None
        """The last filter, when that was, and what passed."""
        self.found: tuple[Admitted, Ids] | None = None
        """Of what passed a filter last, the chunks."""
        self.holders = 0
        """How many want it kept."""
        self._is_closed = False
        self._idle: deque[tuple[Identity, ReadConnection]] = deque()

    def take(self, database: Path) -> ReadConnection | None:
        """An idle connection to the file that is at this path now."""
        here = identity(database)
        while self._idle:
            try:
                of, connection = self._idle.pop()
            except IndexError:  # another thread took the last one
                return None
            if of == here != NO_FILE:
                return connection
            connection.close()
        return None

    def give_back(self, of: Identity, connection: ReadConnection) -> None:
        self._idle.append((of, connection))
        if self._is_closed:  # while this connection was in use
            self.close()

    def close(self) -> None:
        """What is idle now, and what is given back later."""
        self._is_closed = True
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop()[1].close()


_kept: dict[Path, KeptStore] = {}
_keeping = Lock()


def keep_open(folder: Path) -> None:
    """From now on this process keeps what is opened to read this folder for the next reading, until `let_go` was called as often."""
    keep_freed()
    with _keeping:
        _kept.setdefault(folder, KeptStore()).holders += 1


def let_go(folder: Path) -> None:
    """Keep nothing any more, and close what is idle, unless others still want it kept."""
    with _keeping:
        kept = _kept[folder]
        kept.holders -= 1
        if not kept.holders:
            del _kept[folder]
            kept.close()


def kept_of(folder: Path) -> KeptStore | None:
    """None: nobody wants it kept."""
    return _kept.get(folder)


def identity(path: Path) -> Identity:
    """Which file is at this path."""
    try:
        status = os.stat(path)  # noqa: PTH116  half the time of Path.stat, on every request
    except OSError:
        return NO_FILE
    return status.st_dev, status.st_ino
