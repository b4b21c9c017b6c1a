"""What runs on a worker of a cluster: whether it can do the work, and one file read, chunked and embedded there.

Reading is in a process of its own there too, as on this machine (`kb.reading`): a file that hangs or kills its reader costs itself and
leaves the worker alone. Nothing here raises over a file: engines write what was raised, and with what, into their logs. Not here:
which worker gets what, and what becomes of a lost one (`kb.clustered`); writing, which stays where the store is.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

import msgspec

from index import vectors
from kb import preferences
from kb.errors import KbError
from kb.model import Model, choose
from kb.newvectors import make
from kb.read.pdf.docling import engine_status
from kb.reading import Job, Outcome, Passages, Pool, Unread, read_and_chunk
from kb.readjobs import docling_folder
from kb.settings import Embedding
from kb.types import ReadOptions
from models.errors import ModelError
from models.locate import locate

if TYPE_CHECKING:
    from pebble import ProcessFuture

_one_at_a_time = Lock()
_embedding = Lock()
"""One call of the model uses all cores."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker must have, so that a file becomes there what it becomes here."""

    model_name: str
    model_key: str
    embedding: Embedding
    options: ReadOptions
    engine: str
    """Who reads complex PDF pages."""
    tokenizer_sha256: str
    onnx_sha256: str
    """Empty: texts are embedded where the store is, by a service or not at all."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One file, as it is sent."""

    run: str
    """Of which `kb add` it is."""
    job: Job
    asked: Asked
    timeout_s: float
    size: int
    mtime_ns: int
    content: bytes | None = None
    """The file's; None where the worker may have it under the same path."""


class Answer(msgspec.Struct, frozen=True):
    """None: the worker has no such file, and needs its content."""

    outcome: Outcome | None


def asked_of(model: Model, embedding: Embedding, options: ReadOptions) -> Asked:
    """What this machine reads and embeds with. Without the password, which goes with each file."""
    embeds = not (model.missing or model.endpoint)
    return Asked(
        model_name=model.spec.name, model_key=model.spec.key, embedding=embedding,
        options=msgspec.structs.replace(options, password=None), engine=engine_status(options)[0],
        tokenizer_sha256=_sha256(model.tokenizer),
        onnx_sha256=_sha256(locate(model.spec.name).onnx) if embeds else "",
    )  # fmt: skip


def unfit(asked: Asked) -> str:
    """Why this worker cannot do the work as the one who asks would; empty if it can."""
    try:
        model = _model(asked)
    except (KbError, ModelError) as error:
        return f"{error.message} {error.hint}"
    if _sha256(model.tokenizer) != asked.tokenizer_sha256:
        return f"has another tokenizer for {asked.model_name}"
    if asked.onnx_sha256 and (model.missing or model.spec.key != asked.model_key):
        return model.missing or f"has other files of {asked.model_name}"
    if asked.onnx_sha256 and _sha256(locate(model.spec.name).onnx) != asked.onnx_sha256:
        return f"has another file of the model {asked.model_name}"
    engine, why = engine_status(_own_options(asked.options))
    return "" if engine == asked.engine else f"would read complex PDF pages with {engine}, not {asked.engine}: {why}"


def work(task: Task) -> Answer:
    """Read, cut and embed one file; never raises for what is wrong with it."""
    try:
        with _file_of(task) as path:
            return Answer(None if path is None else _done(task, path))
    except Exception as error:  # noqa: BLE001  an engine logs what is raised together with the file's content
        return Answer(
            Unread(f"{task.job.source.path}: the worker failed: {type(error).__name__}", "see kb doctor there")
        )


def stop(run: str) -> None:
    """Nobody waits for files of this run any more: end the processes that read them, and all where no other run is left."""
    _reading.stop(run)


def _done(task: Task, path: str) -> Outcome:
    job = msgspec.structs.replace(
        task.job,
        source=msgspec.structs.replace(task.job.source, path=path),
        options=_own_options(task.job.options),
        tokenizer_path=str(_model(task.asked).tokenizer),
    )
    future = _reading.schedule(task.run, job, task.timeout_s)
    try:
        _, outcome = Pool.outcome(job, future, task.timeout_s)
    except CancelledError:
        outcome = Unread(f"{path}: cancelled", "")
    finally:
        _flying[task.run].discard(future)
    if isinstance(outcome, Unread):
        return msgspec.structs.replace(outcome, reason=outcome.reason.replace(path, task.job.source.path))
    return _embedded(task.asked, outcome)


def _embedded(asked: Asked, passages: Passages) -> Passages:
    """With the vectors of its chunks. What gets none is left to whoever asks, who says why."""
    if not asked.onnx_sha256:
        return passages
    texts = {vectors.text_hash(chunk.embedded_text): chunk.embedded_text for chunk in passages.chunks}
    model = _model(asked)
    with _embedding:
        made = make(model, model.load(_scratch()), texts, asked.embedding.batch_size)
    return msgspec.structs.replace(passages, vectors={key: row.tobytes() for key, row in made.vectors.items()})


@contextmanager
def _file_of(task: Task) -> Iterator[str | None]:
    """Where the file is here, if it is: under its own path, or written down for the moment."""
    path = task.job.source.path
    if task.content is None:
        yield path if _is_the_same(task) else None
        return
    with tempfile.TemporaryDirectory(dir=_scratch()) as folder:
        copy = Path(folder) / Path(path).name
        copy.write_bytes(task.content)
        os.utime(copy, ns=(task.mtime_ns, task.mtime_ns))
        yield str(copy)


def _is_the_same(task: Task) -> bool:
    """Size and time first: a file of that name that is another one is seldom read for its hash."""
    path = Path(task.job.source.path)
    try:
        status = path.stat()
        return (status.st_size, status.st_mtime_ns) == (task.size, task.mtime_ns) and _hash(
            path
        ) == task.job.content_hash
    except OSError:
        return False


def _own_options(options: ReadOptions) -> ReadOptions:
    """Docling's models are where this machine has them."""
    there = options.docling_artifacts
    if there is None or Path(there).is_dir():
        return options
    return msgspec.structs.replace(options, docling_artifacts=str(docling_folder(preferences.data_dir(os.environ))))


@lru_cache(maxsize=4)
def _model(asked: Asked) -> Model:
    return choose(asked.embedding, None, asked.model_name if asked.onnx_sha256 else None)


@cache
def _scratch() -> Path:
    """Of this process; the engine's own folder, which it removes, holds it."""
    from distributed import get_worker

    return Path(tempfile.mkdtemp(prefix="kb-", dir=get_worker().local_directory))


class _Reading:
    """The processes that read here: as many as this worker does tasks at once, from the first file on until no run is left."""

    def __init__(self) -> None:
        self._pool: Pool | None = None

    def schedule(self, run: str, job: Job, timeout_s: float) -> ProcessFuture[Outcome]:
        from distributed import get_worker

        with _one_at_a_time:
            if self._pool is None:
                # An engine's guardian starts workers as daemons, which may not have children. Ours end with the pipe to their parent.
                multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # noqa: SLF001
                self._pool = Pool.started(get_worker().state.nthreads)
            future = self._pool.schedule(read_and_chunk, job, timeout_s)
            _flying[run].add(future)
            return future

    def stop(self, run: str) -> None:
        with _one_at_a_time:
            for future in _flying.pop(run, ()):
                future.cancel()  # type: ignore[no-untyped-call]
            if self._pool is not None and not any(_flying.values()):
                Thread(target=self._pool.end, daemon=True).start()  # the worker has other things to answer meanwhile
                self._pool = None


_reading = _Reading()
_flying: defaultdict[str, set[ProcessFuture[Outcome]]] = defaultdict(set)


def _sha256(path: Path) -> str:
    status = path.stat()
    return _hash_as_it_is(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=16)
def _hash_as_it_is(path: Path, _size: int, _mtime_ns: int) -> str:
    return _hash(path)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
