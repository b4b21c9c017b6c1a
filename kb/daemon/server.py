"""The daemon's life: one a data directory, a socket, threads that answer, and the reasons to end.

A thread a request, each waiting for its own: nothing is handed over. It only reads; what a reader mends when a projection
is behind (`index.store`) it mends too.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic

import msgspec

from index import store
from index.errors import StoreLocked
from index.kept import Identity, identity, keep_open
from index.lock import writer_lock
from kb import __version__, preferences, protocol
from kb.daemon.answering import DECLINE, Request, reply
from kb.daemon.calls import Calls
from kb.errors import BadConfig
from kb.standby import Place, end_if_hung
from kb.wire import DaemonAnswer

THREADS = 8
"""Requests answered at once; more wait in the socket's queue."""
QUEUE = 128
LARGEST_REQUEST_BYTES = 64_000_000
ANOTHER_ENDS_S = 1.0
COLLECT_AFTER = 20_000
"""New objects between two collections of garbage: several requests, where Python's own number is several a request."""
CHECK_S = 5.0
"""Between two looks at whether there is a reason to end."""
LAST_ANSWERS_S = 5.0
"""For requests that are being answered when the daemon is to end."""


def run() -> None:
    """Serve until there is a reason not to; returns at once where another daemon serves this data directory."""
    os.umask(0o077)
    data_dir = preferences.data_dir(os.environ)
    place = Place.of(data_dir)
    place.folder.mkdir(mode=0o700, exist_ok=True)
    end_if_hung(place)
    with suppress(StoreLocked), writer_lock(place.lock, ANOTHER_ENDS_S):
        place.socket.unlink(missing_ok=True)  # of one that was killed
        server = Server(data_dir, place)
        signal.signal(signal.SIGTERM, lambda *_: server.ending.set())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        server.warm_up()
        server.serve()


class Server:
    def __init__(self, data_dir: Path, place: Place) -> None:
        self.data_dir = data_dir
        self.place = place
        self.ending = Event()
        self.started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.program = _program()
        self.store = identity(store.database_path(data_dir))
        self.requests = 0
        self.running = 0
        self.last_request = monotonic()
        self._counting = Lock()

    def warm_up(self) -> None:
        """Answer one search, so that the first one that is asked finds everything loaded."""
        keep_open(self.data_dir)
        environ = {name: value for name, value in os.environ.items() if name.startswith("KB_") or name == "HOME"}
        arguments = ("search", "-j", *self._mode_to_warm_up(environ), "warm up")
        reply(Request(__version__, "run", False, "/", arguments, environ), self.data_dir)
        gc.collect()
        gc.freeze()  # what is loaded stays: collections need not look at it again
        gc.set_threshold(COLLECT_AFTER)

    def _mode_to_warm_up(self, environ: dict[str, str]) -> tuple[str, ...]:
        """By words where a service embeds: it is sent what somebody asks, and nothing else."""
        try:
            is_local = preferences.load(self.data_dir, environ).settings.embedding.provider == "onnx"
        except BadConfig:
            return ()  # the search says so, and `serve` ends for it
        return () if is_local else ("--mode", "keyword")

    def serve(self) -> None:
        listener = socket.socket(socket.AF_UNIX)
        socket_file = self._publish(listener)
        calls = Calls(listener)
        for _ in range(THREADS):
            Thread(target=self._answer_calls, args=(calls,), daemon=True).start()
        while not self.ending.wait(CHECK_S):
            if identity(self.place.socket) != socket_file or self._has_reason_to_end():
                break
        if identity(self.place.socket) == socket_file:
            self.place.socket.unlink()
        until = monotonic() + LAST_ANSWERS_S
        while self.running and monotonic() < until:
            Event().wait(0.01)
        os._exit(0)  # threads still wait for calls, in the listener's queue there are none that they could take

    def _publish(self, listener: socket.socket) -> Identity:
        """Put the socket at its place, listening: callers find either that or none."""
        os.chdir(self.place.folder)  # the address of a socket has room for a short path only
        new = Path("new.sock")
        new.unlink(missing_ok=True)
        listener.bind(str(new))
        listener.listen(QUEUE)
        new.replace(self.place.socket)
        os.chdir("/")
        return identity(self.place.socket)

    def _has_reason_to_end(self) -> bool:
        try:
            wanted = preferences.load(self.data_dir).settings.search
        except BadConfig:
            return True
        is_idle = not self.running and monotonic() - self.last_request > wanted.daemon_idle_s
        replaced = identity(store.database_path(self.data_dir)) != self.store or _program() != self.program
        return is_idle or replaced or not wanted.daemon

    def _answer_calls(self, calls: Calls) -> None:
        for connection in calls.each():
            with self._counting:
                self.running += 1
                self.requests += 1
            with connection, suppress(OSError, ValueError, EOFError):  # a caller that went away, or is none of ours
                self._answer(connection)
            with self._counting:
                self.running -= 1
                self.last_request = monotonic()

    def _answer(self, connection: socket.socket) -> None:
        protocol.limit_silence(connection)
        if not protocol.same_user(connection):
            return
        body = protocol.receive_counted(connection, LARGEST_REQUEST_BYTES)
        if body is None:
            return
        request = Request.parse(body)
        if request.version != __version__ or request.what == "stop":
            connection.sendall(DECLINE if request.what != "stop" else protocol.encode_frame(protocol.EXIT, b"\0"))
            self.ending.set()
        elif request.what == "status":
            status = msgspec.json.encode(self._status())
            connection.sendall(
                protocol.encode_frame(protocol.OUT, status) + protocol.encode_frame(protocol.EXIT, b"\0")
            )
        else:
            connection.sendall(reply(request, self.data_dir))

    def _status(self) -> DaemonAnswer:
        resident, shared = _memory_bytes()
        return DaemonAnswer(
            running=True, pid=os.getpid(), version=__version__, started_at=self.started_at, requests=self.requests,
            idle_s=round(monotonic() - self.last_request, 1), resident_bytes=resident, shared_bytes=shared,
        )  # fmt: skip


def _memory_bytes() -> tuple[int, int]:
    """What is in memory, and how much of it is files that others may map too: the matrix, the model, libraries."""
    with suppress(OSError):
        page = os.sysconf("SC_PAGE_SIZE")
        _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split())
        return resident * page, shared * page
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024), 0


def _program() -> frozenset[tuple[str, int]]:
    """The files this program is made of, with their times: after an upgrade, or an edit of the source, they differ."""
    root = Path(__file__).parents[2]
    files = (path for package in ("kb", "index", "models") for path in (root / package).rglob("*.py"))
    return frozenset((str(path), path.stat().st_mtime_ns) for path in files)
