"""A scenario made ready, to be hurt as often as one likes; and what SQLite promised meanwhile."""

from __future__ import annotations

import importlib
import math
import mmap
import os
import sqlite3
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crash_checks import contents, faults_of
from crash_process import LOADED_ONCE, command_in, fresh, in_child
from crash_scenarios import SCENARIOS, prepare

import kb.add
from hurting.syscalls import CHANGES, Action, Kind, arm
from index import database, store
from kb.errors import Exit

MEMORY_DISK = Path("/dev/shm")
"""A killed process loses nothing that it wrote, synced or not, so the disk need not be a slow one."""


class Promised:
    """The number of the last transaction that SQLite said was committed, in memory that outlives the process."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    @property
    def number(self) -> int:
        return int.from_bytes(self._memory[:8], "little")

    def forget(self) -> None:
        self._memory[:8] = bytes(8)

    def watch(self) -> None:
        """In the process that will be hurt: each connection that it opens."""
        memory, connect = self._memory, sqlite3.connect

        class Watched(sqlite3.Connection):
            begun = 0

            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                answer = super().execute(sql, *values)
                if sql.startswith("INSERT INTO log"):
                    self.begun = values[0][0]
                elif sql == "COMMIT" and self.begun:
                    memory[:8] = self.begun.to_bytes(8, "little")
                return answer

        def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
            # A reader has a factory of its own.
            opened: sqlite3.Connection = connect(*arguments, **{"factory": Watched, **options})
            return opened

        module: Any = sqlite3  # whose `connect` has more forms than `watched` spells out
        module.connect = watched


class Arena:
    """`data` is the store as the command finds it, `trial` the copy that is hurt."""

    def __init__(self, name: str, folder: Path, killer: Path) -> None:
        self.name, self.folder, self.killer = name, folder, killer
        self.data, self.trial, self.journal = folder / "data", folder / "trial", folder / "journal"
        folder.mkdir()
        os.chdir(folder)
        self.command = prepare(folder, SCENARIOS[name], self.data)
        self.promised = Promised()
        self.calls = self.count(CHANGES)
        self.whole = in_child(lambda: contents(self.trial))
        self.before = in_child(lambda: contents(fresh(self.data, self.trial)) if store.exists(self.data) else None)

    def count(self, kinds: Kind) -> int:
        """Calls of these kinds in a whole run, which is left in `trial`."""
        fresh(self.data, self.trial)
        return int(in_child(lambda: self._counted(kinds)))

    def _counted(self, kinds: Kind) -> int:
        armed = arm(self.killer, self.trial, Action.COUNT, kinds=kinds)
        if code := command_in(self.trial, self.command):
            raise RuntimeError(f"{self.command} ended with {code}")
        return armed.seen

    def faults(self, *, may_forget: bool = False) -> list[str]:
        """`may_forget`: the last transactions may be lost. What cannot be looked at is a fault too."""
        try:
            return self._faults(may_forget=may_forget)
        except Exception:  # noqa: BLE001  whatever it is
            return [traceback.format_exc()]

    def untrue(self, code: int, out: str) -> Iterator[str]:
        """That it said that it was done, and was not; it may say that what is left is for the next command."""
        if code == Exit.OK and "config.yaml cannot be written" not in out and contents(self.trial) != self.whole:
            yield "it said that it was done, and it was not"

    def _faults(self, *, may_forget: bool) -> list[str]:
        broken = [] if may_forget else self._broken_promise()
        return [*broken, *faults_of(self.trial, self.command, self.before, self.whole)]

    def _broken_promise(self) -> Iterator[str]:
        if self.name == "restore":  # whose log is the backup's
            return
        if not store.exists(self.trial):
            if self.promised.number > 1:
                yield f"transaction {self.promised.number} was committed, and there is no store"
            return
        with store.reading(self.trial) as reader:
            found = database.head(reader.connection).seq
        if found < self.promised.number:
            yield f"transaction {self.promised.number} was committed, the store is at {found}"


def load() -> None:
    """Once, before anything forks."""
    for module in LOADED_ONCE:
        importlib.import_module(module)
    kb.add.BATCH_S = math.inf  # batches by number alone, so that every run makes the same calls
    for name in [name for name in os.environ if name.startswith("KB_")]:
        del os.environ[name]
    os.environ["KB_DAEMON"] = "off"


@contextmanager
def quick_folder() -> Iterator[Path]:
    here = Path.cwd()
    with tempfile.TemporaryDirectory(
        prefix="kb-hurt-", dir=MEMORY_DISK if os.access(MEMORY_DISK, os.W_OK) else None
    ) as folder:
        try:
            yield Path(folder)
        finally:
            os.chdir(here)
