"""The worker: does the jobs of the queue, one at a time, as long as it holds `run/jobs.lock`.

What became of each file is noted when it is written, so a worker that dies loses nothing: the next one takes its job up, and files that
are done stay done. One that died between a document and its note finds the content in the store, and adds nothing. Runs in a process
of its own (`kb jobs run`) or in a thread of a server; a thread is started in a copy of the caller's context
(`contextvars.copy_context().run(worker.run, ...)`), or keys of an --env-file are not found.
"""

from __future__ import annotations

import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Literal

from index import database, store
from index import jobs as rows
from index.errors import ModelMismatch, StoreError, StoreLocked
from index.jobs import CANCELLED, DONE, FAILED, RUNNING, WAITING, JobRow
from index.lock import writer_lock
from index.writer import utc_now
from kb import jobanswers, queue
from kb.errors import KbError
from kb.jobwork import Stopped, do
from kb.scrub.documents import scrub_line
from kb.settings import Settings
from kb.wire_jobs import Job
from models.errors import ModelError

POLL_S = 0.5
"""Between two looks at an empty queue."""
RETRY_S = 5.0
"""Before a job is taken up again that found the store locked."""
LOCK_TIMEOUT_S = 1.0
"""Whoever asks whether somebody works holds the lock for an instant too."""
MOST_DEATHS = 3
"""Workers that may die of a job, one after the other, without having done a file of it."""
KEPT_DONE = 1000
"""Jobs that are done and remembered."""

Tell = Callable[[Job], None]


def run(
    data_dir: Path,
    settings: Settings,
    *,
    until: Literal["empty", "told"] = "told",
    ending: Event | None = None,
    patient: bool = False,
    tell: Tell = lambda _job: None,
) -> None:
    """Work the queue off: until it is empty, or until `ending` is set, which ends it at the next file.

    `patient`: where somebody else works the queue off, wait until he ends; else that raises StoreLocked. `tell` is given each job
    that ends. Killing it loses nothing. Raises StoreError where nothing can be done: the disk is full, the store damaged; told to
    go on until it is told to end, it says so on standard error and tries again.
    """
    working = Working(data_dir, settings, until, ending or Event(), tell)
    had_its_turn = False
    while not working.ending.is_set():
        try:
            with alone(data_dir):
                had_its_turn = True
                working.run()
        except Held as error:
            if had_its_turn and until == "empty":  # what came after its last look is another's
                return
            if not patient:
                raise StoreLocked(*error.args) from None
            working.ending.wait(POLL_S)
            continue
        except StoreError as error:
            if until == "empty" and not isinstance(error, StoreLocked):
                raise
            print(f"kb: {error.message} ({error.hint})", file=sys.stderr)
            working.ending.wait(RETRY_S)
        if until == "empty" and not has_work(data_dir):  # submitted after the last look, before the lock was free
            return


class Held(Exception):
    """Somebody else works the queue off: the message and the hint of the StoreLocked as which it is said."""


class Working:
    """One worker."""

    def __init__(
        self, data_dir: Path, settings: Settings, until: Literal["empty", "told"], ending: Event, tell: Tell
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.until = until
        self.ending = ending
        self.tell = tell

    def run(self) -> None:
        while not self.ending.is_set():
            if has_work(self.data_dir):
                self._next()
            elif self.until == "empty":
                return
            else:
                self.ending.wait(POLL_S)

    def _next(self) -> None:
        path = store.database_path(self.data_dir)
        with database.faults_reported(path), closing(database.connect_writer(path)) as connection:
            with database.immediate(connection):
                row = rows.claim(connection, utc_now())
            if row is None:
                return
            try:
                self._end(connection, row, *self._done(connection, row))
            except BaseException:  # Ctrl-C, a full disk: it waits again
                with suppress(sqlite3.Error), database.immediate(connection):
                    rows.put_back(connection, row.id)
                raise

    def _end(self, connection: sqlite3.Connection, row: JobRow, state: str, error: str) -> None:
        with database.immediate(connection):
            if state == WAITING:
                rows.put_back(connection, row.id)
                return
            rows.end(connection, row.id, state, error, utc_now())
            rows.prune(connection, KEPT_DONE)
        queue.clear_uploads(self.data_dir, row.id)
        if (ended := rows.by_id(connection, row.id)) is not None:
            self.tell(jobanswers.summarised(connection, ended))

    def _done(self, connection: sqlite3.Connection, row: JobRow) -> tuple[str, str]:
        """The state of the job now, and why it could not be done. Raises StoreError where no job could be."""
        if row.deaths >= MOST_DEATHS:
            return FAILED, f"{row.deaths} workers died of it: the file after the last one that is done may be the cause"
        try:
            with database.faults_reported(store.database_path(self.data_dir)):
                do(self.data_dir, self.settings, row, connection, self.ending)
        except Stopped:
            return WAITING if self.ending.is_set() else CANCELLED, ""
        except (KbError, ModelError, ModelMismatch) as error:
            return FAILED, scrub_line(f"{error.message} ({error.hint})" if error.hint else error.message)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  one job that meets a fault of ours must not stop the others
            # Where, not what: a message may hold a document's text.
            trace = "".join(traceback.format_tb(error.__traceback__))
            print(f"kb: {type(error).__name__}\n{trace}", end="", file=sys.stderr, flush=True)
            return FAILED, scrub_line(f"{type(error).__name__}: {error}")
        return (FAILED if rows.sums(connection, row.id).counts.get("failed") else DONE), ""


def has_work(data_dir: Path) -> bool:
    if not store.exists(data_dir):
        return False
    with store.reading(data_dir) as reader:
        counts = rows.count_by_state(reader.connection)
    return bool(counts[WAITING] or counts[RUNNING])


@contextmanager
def alone(data_dir: Path) -> Iterator[None]:
    """Hold the queue. Raises Held."""
    path = data_dir / "run" / jobanswers.LOCK
    with database.disk_faults_reported(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(writer_lock(path, LOCK_TIMEOUT_S))
        except StoreLocked:
            holder = jobanswers.worker(data_dir) or "another"
            raise Held(f"process {holder} works the queue off already", "kb jobs list shows what it does") from None
        yield
