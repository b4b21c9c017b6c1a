"""Watch: sync whenever the system says that something changed in a source, until it is told to end.

What changed is not believed but looked for: each event leads to a scan of the sources it lies in. So events that were lost, doubled or
half of a rename do no harm. Everything is looked at when watching begins, after trouble, and now and then besides. One watcher a store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import NoReturn

import msgspec

from index import store
from index.errors import StoreError, StoreLocked
from index.lock import writer_lock
from index.sources import SourceRow
from index.writer import utc_now
from kb import heartbeat
from kb.add import Progress
from kb.errors import KbError
from kb.ignore import IGNORE_FILES
from kb.scan import chosen
from kb.settings import Settings
from kb.sourcerules import is_at_or_below
from kb.sync import Ask, sync
from kb.wire import WatchStatus
from kb.wire_sources import SyncAnswer
from models.errors import ModelError

QUIET_MS = 200
"""A burst of changes is over when so long nothing changed: an editor that saves by renaming is done then."""
LONGEST_BURST_MS = 2000
BEAT_MS = 2000
RESCAN_S = 300.0
"""All is looked at again: for what no event tells, as on network disks, and for events that the system dropped."""
RETRY_S = 5.0

Tell = Callable[[SyncAnswer], None]


def watch(
    data_dir: Path, settings: Settings, names: Sequence[str], progress: Progress, may_remove: Ask, tell: Tell
) -> None:
    """Returns when the process is told to end, by a KeyboardInterrupt.

    `tell` is given the answer of each sync that had something to do. Raises NotFound, StoreMissing; StoreLocked where another process watches.
    """
    with store.reading(data_dir, settings.storage.lock_timeout_s) as reader:
        chosen(reader, names)
    (data_dir / "run").mkdir(mode=0o700, exist_ok=True)
    with suppress(KeyboardInterrupt), _alone(data_dir):
        watcher = Watcher(data_dir, settings, names, progress, may_remove, tell)
        try:
            watcher.run()
        except KeyboardInterrupt:
            heartbeat.end(data_dir)


class Watcher:
    def __init__(
        self,
        data_dir: Path,
        settings: Settings,
        names: Sequence[str],
        progress: Progress,
        may_remove: Ask,
        tell: Tell,
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.names = names
        self.progress = progress
        self.may_remove = may_remove
        self.tell = tell
        self.status = WatchStatus(running=True, pid=os.getpid(), started_at=utc_now(), beat_at=utc_now())
        self.rescan_at = 0.0

    def run(self) -> NoReturn:
        """Until KeyboardInterrupt."""
        while True:
            self._sync(())
            try:
                self._follow(self._rows_that_exist())
            except OSError as error:
                self._beat(trouble=str(error))
                sleep(RETRY_S)

    def _follow(self, rows: Sequence[SourceRow]) -> None:
        """Sync what changes, until other sources are to be watched. Raises OSError where the system does not tell changes any more."""
        is_first = True
        for changed in self._changes(rows):
            self._beat()
            if is_first or monotonic() >= self.rescan_at:  # at first: what changed before the system began to tell
                self._sync(())
            elif changed:
                self._sync([row.name for row in rows if any(is_at_or_below(path, row.path) for path in changed)])
            is_first = False
            if [(row.id, row.path) for row in self._rows_that_exist()] != [(row.id, row.path) for row in rows]:
                return

    def _changes(self, rows: Sequence[SourceRow]) -> Iterator[Collection[str]]:
        """The paths that changed, a burst at a time; none every BEAT_MS in which nothing did."""
        if not rows:
            while True:
                sleep(BEAT_MS / 1000)
                yield ()
        import watchfiles
        from watchfiles import Change

        def concerns(_change: Change, path: str) -> bool:
            return any(self._concerns(path, row.path) for row in rows)

        bursts = watchfiles.watch(
            *(row.path for row in rows), watch_filter=concerns, debounce=LONGEST_BURST_MS, step=QUIET_MS,
            rust_timeout=BEAT_MS, yield_on_timeout=True, ignore_permission_denied=True,
        )  # fmt: skip
        try:
            for changes in bursts:
                yield [path for _, path in changes]
        except RuntimeError as error:  # of watchfiles: the system has no more watches to give, or lost one
            raise OSError(f"the system does not tell what changes: {error}") from error

    def _concerns(self, path: str, root: str) -> bool:
        """Whether a change of this path may change a source: neither our own data, nor what a walk passes over."""
        if not is_at_or_below(path, root) or is_at_or_below(path, str(self.data_dir)):
            return False
        names = path[len(root.rstrip("/")) + 1 :].split("/")
        return names[-1] in IGNORE_FILES or not any(name.startswith(".") for name in names)

    def _sync(self, names: Sequence[str]) -> None:
        """Of these sources, of all that are watched where none is named."""
        began = perf_counter()
        try:
            answer = sync(self.data_dir, self.settings, names or self._names(), self.progress, self.may_remove)
        except (KbError, StoreError, ModelError) as error:
            self._beat(trouble=f"{error.message} {error.hint}".strip())
            self.rescan_at = monotonic() + RETRY_S
            return
        if not names:
            self.rescan_at = monotonic() + RESCAN_S
        refused = " ".join(source.refused for source in answer.sources).strip()
        self._beat(looked_at=utc_now(), trouble=refused)
        if answer.files or refused:
            self.tell(msgspec.structs.replace(answer, took_ms=round((perf_counter() - began) * 1000, 3)))

    def _names(self) -> Sequence[str]:
        return [row.name for row in self._rows()] if self.names else ()

    def _rows(self) -> list[SourceRow]:
        """The sources that are to be watched; one that was removed meanwhile is not."""
        with store.reading(self.data_dir, self.settings.storage.lock_timeout_s) as reader:
            return [row for row in chosen(reader, ()) if not self.names or row.name in self.names]

    def _rows_that_exist(self) -> list[SourceRow]:
        return [row for row in self._rows() if os.path.exists(row.path)]  # noqa: PTH110

    def _beat(self, **said: str) -> None:
        self.status = msgspec.structs.replace(self.status, beat_at=utc_now(), **said)
        with suppress(OSError):  # a full disk stops no watcher
            heartbeat.write(self.data_dir, self.status)


@contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    path = data_dir / "run" / heartbeat.LOCK
    with ExitStack() as stack:
        try:
            stack.enter_context(writer_lock(path, 0.0))
        except StoreLocked:
            holder = path.read_text(encoding="utf-8") or "another"
            raise StoreLocked(f"process {holder} watches this store already", "kb status says how it is") from None
        yield
