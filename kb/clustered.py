"""Files read by the workers of a Dask cluster, in the place of processes of this machine.

The engine is `distributed`: it keeps the workers, carries what is sent, and gives the files of a lost worker to another one. A
file goes by its path; the first one that a worker does not have makes this process send contents from then on. What is written
stays here. A worker gets work when it has this version of kb and the same model, tokenizer and PDF engine, and is looked at again
when it comes later. Whoever controls the scheduler can run code in its clients and workers: that is the engine's design, and TLS
is its configuration (docs/scale.md). Not here: what a worker does (`kb.clusterwork`).
"""

from __future__ import annotations

import importlib.util
import logging
import pkgutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from kb.clusterwork import Asked, Task, stop, unfit, work
from kb.errors import BadRequest, ClusterFailed
from kb.reading import Job, Outcome, Unread, read_and_chunk

if TYPE_CHECKING:
    from distributed import Client, Future

SCHEMES = ("tcp://", "tls://", "ws://", "wss://", "ucx://")
CERTIFICATES = "distributed.comm.tls.ca-file"
"""Of the engine's configuration, as a variable DASK_DISTRIBUTED__COMM__TLS__CA_FILE."""
VERSION = "kb:__version__"
"""Asked for through the standard library, which every worker has."""
CONNECT_S = 5
ANSWER_S = 30
"""For a question to the scheduler or to all workers, which may be busy."""
LOOK_S = 1.0
"""While nothing comes, the workers are looked at so often."""
ALONE_S = 60.0
"""How long a run waits for workers when all are gone: the engine starts one again in seconds."""
TRIES = 3
"""Times a file is given to other workers after those that had it were lost."""
FILES_A_THREAD = 3
"""One being read, and the next ones on their way."""
BYTES_IN_FLIGHT = 256 * 1024 * 1024
"""Of contents that were sent and not answered; one file may be larger."""


class Cluster:
    """Reads as `kb.reading.Here` does."""

    def __init__(self, address: str, asked: Asked, timeout_s: float, remark: Callable[[str], None]) -> None:
        self.address = address
        self.asked = asked
        self.timeout_s = timeout_s
        self.remark = remark
        """Is told of workers that are left out."""

    def read(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Each job with its outcome, in the order of the jobs. Raises BadRequest, ClusterFailed."""
        with _connected(self.address) as client:
            run = _Run(client, self)
            try:
                run.look()
                yield from run.outcomes(jobs)
            finally:
                run.end()


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    if not address.startswith(SCHEMES):
        raise BadRequest(f"--cluster {address}: no address of a scheduler", "say --cluster tcp://HOST:8786")
    if importlib.util.find_spec("distributed") is None:
        raise BadRequest("--cluster needs the engine distributed", "pip install 'kb-search[cluster]'")
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)  # it tells of lost workers on standard error
    from dask import config
    from distributed import Client

    if address.startswith("tls://") and not config.get(CERTIFICATES):
        raise BadRequest(
            f"--cluster {address}: no certificates", f"set {CERTIFICATES} and those beside it as Dask reads them"
        )
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False, name="kb")
    except (OSError, ValueError) as error:
        raise ClusterFailed(
            f"no scheduler answers at {address}: {_first_line(error)}",
            "start one: dask scheduler; or look at the address",
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=2)


class _Flight(msgspec.Struct, kw_only=True):
    """A file on its way."""

    job: Job
    future: Future | None = None
    """None: it stays here."""
    workers: set[str] = msgspec.field(default_factory=set)
    """Those that may get it."""
    size_bytes: int = 0
    """Of what was sent of it."""
    tries: int = 0


class _Run:
    """One `kb add` on a cluster."""

    def __init__(self, client: Client, cluster: Cluster) -> None:
        self.client = client
        self.cluster = cluster
        self.name = uuid4().hex
        self.threads: dict[str, int] = {}
        """Workers that are there and fit, and what each does at once."""
        self.looked_at: set[str] = set()
        self.left_out: list[str] = []
        self.flying: deque[_Flight] = deque()
        self.sends_content = False
        self.seen_at = self.last_look = monotonic()
        """When there was a worker last, and when that was asked."""

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        for job in jobs:
            self.flying.append(self._sent(job))
            while self._is_full():
                yield self._landed()
        while self.flying:
            yield self._landed()

    def look(self) -> None:
        """Which workers are there, and whether new ones fit; files that only lost ones had go to others."""
        there = self._ask(self.client.scheduler.ncores)
        self.last_look = monotonic()
        new = set(there) - self.looked_at
        fit = self._fit(sorted(new)) if new else set()
        self.looked_at |= new
        self.threads = {worker: count for worker, count in there.items() if worker in self.threads.keys() | fit}
        if self.threads:
            self.seen_at = monotonic()
        elif not self.flying or monotonic() - self.seen_at > ALONE_S:
            why = next(iter(self.left_out), "all its workers are lost" if self.flying else "it has no workers")
            raise ClusterFailed(f"nothing can be read at {self.cluster.address}: {why}", "what is added already stays")
        for flight in self.flying:
            if self.threads and not flight.workers & self.threads.keys() and flight.tries < TRIES:
                flight.tries += 1
                self._send(flight)

    def end(self) -> None:
        """Leave nothing behind that works for nobody."""
        with suppress(ClusterFailed, OSError, TimeoutError, RuntimeError):  # it may be lost
            if self.flying:
                self.client.cancel([flight.future for flight in self.flying if flight.future], force=True)
            self._run(list(self.threads), stop, self.name)

    def _fit(self, workers: list[str]) -> set[str]:
        """Those that can do the work; the others are said, each in one line."""
        ours = pkgutil.resolve_name(VERSION)
        versions = self._run(workers, pkgutil.resolve_name, VERSION)
        reasons = {
            worker: "has no kb-search" if isinstance(found, Exception) else f"has kb {found}, not {ours}"
            for worker, found in versions.items()
            if found != ours
        }
        alike = [worker for worker in versions if worker not in reasons]
        if alike:
            reasons |= self._run(alike, unfit, self.cluster.asked)
        for worker, reason in reasons.items():
            if reason:
                self.left_out.append(f"the worker {worker} is left out: {_first_line(reason)}")
                self.cluster.remark(self.left_out[-1])
        return {worker for worker in alike if not reasons[worker]}

    def _run(self, workers: list[str], function: Callable[..., Any], *arguments: object) -> dict[str, Any]:
        """What each worker answers, or the exception; without those that went away meanwhile."""
        found = self._ask(self.client._run, function, *arguments, workers=workers, on_error="return")  # noqa: SLF001  `run` waits without end
        return {worker: answer for worker, answer in found.items() if not isinstance(answer, OSError)}

    def _ask(self, question: Callable[..., Any], *arguments: object, **options: object) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self.client.sync(question, *arguments, callback_timeout=ANSWER_S, **options)
        except (OSError, TimeoutError) as error:
            raise self._lost(error) from error
        return found

    def _lost(self, error: Exception) -> ClusterFailed:
        return ClusterFailed(
            f"the scheduler at {self.cluster.address} is lost: {_first_line(error)}",
            "what is added already stays; the same command goes on from there",
        )

    def _is_full(self) -> bool:
        files = max(1, sum(self.threads.values())) * FILES_A_THREAD
        sent = sum(flight.size_bytes for flight in self.flying)
        return len(self.flying) >= files or (len(self.flying) > 1 and sent > BYTES_IN_FLIGHT)

    def _sent(self, job: Job) -> _Flight:
        flight = _Flight(job=job)
        self._send(flight)
        return flight

    def _send(self, flight: _Flight) -> None:
        """To whoever fits now. A file that cannot be opened stays here, where its reader says so."""
        path = Path(flight.job.source.path)
        try:
            status = path.stat()
            content = path.read_bytes() if self.sends_content else None
        except OSError:
            flight.future = None
            return
        task = Task(
            run=self.name, job=flight.job, asked=self.cluster.asked, timeout_s=self.cluster.timeout_s, size=status.st_size,
            mtime_ns=status.st_mtime_ns, content=content,
        )  # fmt: skip
        flight.size_bytes = len(content or b"")
        flight.workers = set(self.threads)
        flight.future = self.client.submit(
            work, task, pure=False, workers=sorted(flight.workers), key=f"kb-{uuid4().hex}"
        )

    def _landed(self) -> tuple[Job, Outcome]:
        """The first file that was sent, once it is read."""
        flight = self.flying[0]
        while (outcome := self._outcome(flight)) is None:
            pass
        self.flying.popleft()
        return flight.job, outcome

    def _outcome(self, flight: _Flight) -> Outcome | None:
        """None: not yet."""
        from distributed.scheduler import KilledWorker

        if flight.future is None:
            return read_and_chunk(flight.job)
        path = flight.job.source.path
        try:
            outcome: Outcome | None = flight.future.result(timeout=LOOK_S).outcome
        except TimeoutError:
            if monotonic() - self.last_look > LOOK_S:
                self.look()
            return None
        except KilledWorker:
            return Unread(f"{path}: the workers that had it died, one after the other", "add it again with --retry")
        except CancelledError as error:
            raise self._lost(error) from error
        except Exception as error:  # noqa: BLE001  the engine's own, of one file
            return Unread(f"{path}: the cluster failed: {type(error).__name__}", "add it again with --retry")
        if outcome is None:
            self.sends_content = True
            self._send(flight)
        return outcome


def _first_line(error: object) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
