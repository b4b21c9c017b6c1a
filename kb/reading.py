"""One file to its chunks: the part of adding that can be done in another process, and the processes that do it.

A worker that hangs or dies loses its file and nothing else. Not here: embedding and writing, which stay in the parent.
"""

from __future__ import annotations

import os
import re
import resource
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import TimeoutError as OutOfTime
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec

from kb.chunk import MOST_HEADING_CHARACTERS, Plan, chunk
from kb.errors import EncryptedFile, KbError, NoText, UnreadableFile, UnsupportedType
from kb.read.kinds import reader
from kb.scrub.documents import scrub_document, scrub_line
from kb.settings import Scrub
from kb.spawning import Spawning
from kb.types import Chunk, Document, ReadOptions, Source
from models.session import usable_cores
from models.tokenizer import TokenCounter

if TYPE_CHECKING:
    from pebble import ProcessFuture, ProcessPool

FILES_A_WORKER = 200
"""A worker is replaced after so many files: PDF and OCR libraries keep memory."""
JOBS_IN_FLIGHT_A_WORKER = 8
"""Enough that one slow file does not idle the others, few enough that memory stays bounded."""
LIGHT_TYPES = frozenset({"markdown", "text", "transcript"})
"""Read in milliseconds by code of our own; a few of them are not worth a process."""
FEW_FILES = 16
LIGHT_BYTES = 4_000_000
"""A larger file is read in a process all the same, which has limits: a line of 200 MB takes minutes and gigabytes."""
WORKER_BYTES = 4 * 2**30
"""Memory that a process which reads may take. The largest pictures that are read take 1.5 GB; a bomb must not take the machine's."""
UNSTORABLE = re.compile("([\ud800-\udfff])|\0")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    source: Source
    options: ReadOptions
    plan: Plan
    tokenizer_path: str
    model_sees: int
    """Tokens of text that the model takes, special tokens and passage prefix left out."""
    scrub: Scrub = Scrub()
    content_hash: str = ""
    """Of the file, as it was found: sha256, hex."""


class Passages(msgspec.Struct, frozen=True, kw_only=True):
    """A document as read, its blocks already cut into chunks."""

    title: str | None
    language: str | None
    extractor: str
    metadata: dict[str, object]
    tags: tuple[str, ...]
    warnings: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    redacted: dict[str, int] = {}
    """How many secrets of each kind were put out of it."""
    vectors: dict[bytes, bytes] = {}
    """float32 (dim,), little endian, by the hashes of the chunks' texts, where whoever read it has embedded it too."""


class Unread(msgspec.Struct, frozen=True):
    """Why there are no passages: one line and what to do."""

    reason: str
    hint: str
    no_text: bool = False
    error: str = "UnreadableFile"
    """The name of the error class."""


Outcome = Passages | Unread


def read_and_chunk(job: Job) -> Outcome:
    """Never raises for what is wrong with the file: that is an `Unread`."""
    outcome = _read_and_chunk(job)
    if isinstance(outcome, Unread) and job.scrub.enabled:  # a reason may quote what could not be parsed
        return msgspec.structs.replace(outcome, reason=scrub_line(outcome.reason), hint=scrub_line(outcome.hint))
    return outcome


def _read_and_chunk(job: Job) -> Outcome:
    try:
        document = reader(job.source.doc_type)(job.source, job.options)
        return passages(document, job.plan, _counter(job.tokenizer_path), job.model_sees, job.scrub)
    except NoText as error:
        return Unread(error.message, error.hint, no_text=True, error=type(error).__name__)
    except KbError as error:
        return Unread(error.message, error.hint, error=type(error).__name__)
    except (MemoryError, RecursionError) as error:
        return Unread(
            f"{job.source.path}: {type(error).__name__} while reading", "the file is too large or nested too deeply"
        )
    except Exception as error:  # noqa: BLE001  a library's fault on one file must not lose the others
        return Unread(
            f"{job.source.path}: {type(error).__name__}: {error}".splitlines()[0],
            "the reader failed on this file; please report it with the file if you can",
        )


def passages(document: Document, plan: Plan, counter: TokenCounter, model_sees: int, scrub: Scrub) -> Passages:
    """The document in chunks, without its secrets: nothing after this has seen them."""
    document, counts = scrub_document(storable(document), scrub)
    chunks = chunk(document, plan, counter, model_sees)
    if not chunks:
        raise NoText("the document holds no text", "there is nothing to index")
    return Passages(
        title=(document.title or "")[:MOST_HEADING_CHARACTERS] or None, language=document.language, extractor=document.extractor,
        metadata={**document.metadata, "redacted": counts} if counts else document.metadata,
        tags=document.tags, warnings=document.warnings, chunks=tuple(chunks), redacted=counts,
    )  # fmt: skip


def storable(document: Document) -> Document:
    """U+FFFD for each lone surrogate (an escape in JSON or YAML can make one), which SQLite and JSON cannot hold; no NUL, at which
    SQLite's own functions take a text to end.
    """
    try:
        may_hold_nul = b"\\u0000" in msgspec.json.encode(document)
    except UnicodeEncodeError:
        may_hold_nul = True
    return msgspec.convert(_encodable(msgspec.to_builtins(document)), Document) if may_hold_nul else document


def _encodable(value: Any) -> Any:
    if isinstance(value, dict):
        return {_encodable(name): _encodable(child) for name, child in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(child) for child in value]
    return UNSTORABLE.sub(_stand_in, value) if isinstance(value, str) else value


def _stand_in(found: re.Match[str]) -> str:
    return "\ufffd" if found[1] else ""


@cache
def _counter(tokenizer_path: str) -> TokenCounter:
    return TokenCounter.load(Path(tokenizer_path))


class Readers(Protocol):
    """Who reads many files: processes of this machine, or a cluster's (`kb.clustered`)."""

    def read(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Each job with its outcome, in the order of the jobs, which are drawn as the outcomes are taken."""
        ...


class Here(msgspec.Struct, frozen=True, kw_only=True):
    """At most so many processes of this machine, each at most so many seconds at a file."""

    workers: int
    timeout_s: float

    def read(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        return read_all(jobs, workers=self.workers, timeout_s=self.timeout_s)


def read_all(jobs: Iterable[Job], *, workers: int, timeout_s: float) -> Iterator[tuple[Job, Outcome]]:
    """Each job with its outcome, in the order of the jobs.

    At most `workers` processes, never more than cores. A few light files are read here; anything else in spawned processes, at most `timeout_s` seconds a file. Jobs are drawn
    as the outcomes are taken, so a slow consumer holds the readers back.
    """
    waiting = iter(jobs)
    first = list(islice(waiting, FEW_FILES))
    if len(first) < FEW_FILES and all(map(_is_light, first)):
        for job in first:
            yield job, read_and_chunk(job)
        return
    yield from _in_processes(chain(first, waiting), workers=workers, timeout_s=timeout_s)


def _is_light(job: Job) -> bool:
    if job.source.doc_type not in LIGHT_TYPES:
        return False
    try:
        return os.stat(job.source.path).st_size <= LIGHT_BYTES  # noqa: PTH116  half the time of Path's
    except OSError:
        return True  # its reader says so


def _in_processes(jobs: Iterator[Job], *, workers: int, timeout_s: float) -> Iterator[tuple[Job, Outcome]]:
    workers = min(workers, usable_cores())
    with Pool.started(workers) as pool:
        flying: deque[tuple[Job, ProcessFuture[Outcome]]] = deque()
        try:
            for job in jobs:
                flying.append((job, pool.schedule(read_and_chunk, job, timeout_s)))
                if len(flying) >= workers * JOBS_IN_FLIGHT_A_WORKER:
                    yield pool.outcome(*flying.popleft(), timeout_s)
            while flying:
                yield pool.outcome(*flying.popleft(), timeout_s)
        finally:
            if flying:  # interrupted: do not wait for what nobody will take
                pool.stop()


class Pool:
    """Spawned processes that read, each replaced after FILES_A_WORKER files, or when its file takes too long."""

    def __init__(self, pool: ProcessPool) -> None:
        self._pool = pool

    @classmethod
    def started(cls, workers: int) -> Pool:
        from pebble import ProcessPool

        # Spawned: a fork after onnxruntime or Docling has run in the parent hangs.
        context = Spawning()
        resource_tracker.ensure_running()  # it is begun with the first process, and then lifts the hold on Ctrl-C
        return cls(ProcessPool(max_workers=workers, max_tasks=FILES_A_WORKER, initializer=_confine, context=context))

    def __enter__(self) -> Self:
        self._pool.__enter__()
        return self

    def __exit__(self, *fault: object) -> None:
        self._pool.__exit__(*fault)  # type: ignore[no-untyped-call]

    def schedule(self, read: Callable[[Job], Outcome], job: Job, timeout_s: float) -> ProcessFuture[Outcome]:
        with _interrupt_held_back():
            return self._pool.schedule(read, args=[job], timeout=timeout_s)

    def stop(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]

    def end(self) -> None:
        """Stop, and wait until the processes are gone."""
        self.stop()
        self._pool.join()

    @staticmethod
    def outcome(job: Job, future: ProcessFuture[Outcome], timeout_s: float) -> tuple[Job, Outcome]:
        from pebble import ProcessExpired

        path = job.source.path
        try:
            return job, future.result()
        except OutOfTime:
            return job, Unread(
                f"{path}: took longer than {timeout_s:g} s to read",
                "raise ingestion.file_timeout_s and add it with --retry",
            )
        except ProcessExpired as error:
            return job, Unread(
                f"{path}: its reader crashed (exit code {error.exitcode})",
                f"the file may be damaged, or take more than the {WORKER_BYTES >> 30} GiB that a reader has; the others are not affected",
            )


@contextmanager
def _interrupt_held_back() -> Iterator[None]:
    """Processes and threads begun here are deaf to Ctrl-C, which a terminal sends to all; this one stops them.

    pebble's workers ignore it too, but only once they are up: before, each would print a traceback.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _confine() -> None:
    """In a worker: memory has an end (on Linux, where the system keeps to it). A MemoryError is an outcome, and a process that
    dies of it loses its file alone.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = WORKER_BYTES if hard == resource.RLIM_INFINITY else min(WORKER_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def error_of(outcome: Unread) -> UnreadableFile:
    """The error that an outcome stands for, to be raised where one document was asked for."""
    kinds = {kind.__name__: kind for kind in (UnreadableFile, UnsupportedType, EncryptedFile, NoText)}
    return kinds.get(outcome.error, UnreadableFile)(outcome.reason, outcome.hint)
