"""The daemon as others see it: start it, ask how it is, stop it, leave one behind. What it does is in `kb.daemon`.

In the data directory's `run/`, mode 0700: `daemon.sock`, `daemon.lock` (held as long as the daemon lives, with its pid) and
`daemon.log`, which says why one ended that should not have.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep, time
from typing import Self

import msgspec

from index.lock import POLL_S, is_locked
from kb import __version__, protocol
from kb.errors import DaemonFailed
from kb.wire import DaemonAnswer

STARTS_WITHIN_S = 30.0
"""A daemon that holds the lock for so long without listening is stuck."""
ENDS_WITHIN_S = 10.0
IS_WELL_WITHIN_S = 0.3
QUIET_FOR_S = 5.0
"""Where a daemon cannot live and says so in its log, not every search is to try and leave one."""
LARGEST_LOG_BYTES = 1_000_000
CLOCK_STEP_S = 0.1
"""By so much a file that was just written may be ahead of the clock: the kernel stamps by its last tick, and rounds."""


class Place(msgspec.Struct, frozen=True):
    """Where the daemon of a data directory lives."""

    folder: Path

    @classmethod
    def of(cls, data_dir: Path) -> Self:
        return cls(data_dir / "run")

    @property
    def socket(self) -> Path:
        return self.folder / "daemon.sock"

    @property
    def lock(self) -> Path:
        return self.folder / "daemon.lock"

    @property
    def log(self) -> Path:
        return self.folder / "daemon.log"

    def is_held(self) -> bool:
        """Whether a daemon lives here, be it well or not."""
        return is_locked(self.lock)


def status(data_dir: Path) -> DaemonAnswer:
    said = _ask(Place.of(data_dir), "status")
    return DaemonAnswer(running=False) if said is None else msgspec.json.decode(said, type=DaemonAnswer)


def start(data_dir: Path) -> DaemonAnswer:
    """Start a daemon unless there is one, and wait until it answers. Raises DaemonFailed."""
    place = Place.of(data_dir)
    if not status(data_dir).running:
        try:
            _spawn(place, data_dir)
        except OSError as error:
            reason = f"the daemon cannot live in {place.folder}: {error.strerror}"
            raise DaemonFailed(reason, "searches work without it") from error
        if not _wait_until(lambda: status(data_dir).running, STARTS_WITHIN_S):
            raise DaemonFailed("the daemon did not start", f"see {place.log}; searches work without it")
    return status(data_dir)


def stop(data_dir: Path) -> bool:
    """End the daemon, gently or not; returns whether there was one. Raises DaemonFailed.

    Another that was started beside it, and waits for its lock, takes its place and is ended as well.
    """
    place = Place.of(data_dir)
    if not place.is_held():
        return False
    until, asked = monotonic() + ENDS_WITHIN_S, None
    while place.is_held() or _is_held_soon(place):
        if asked != (asked := _holder(place)) and _ask(place, "stop") is None:
            _kill(place)
        if monotonic() > until:
            raise DaemonFailed("the daemon does not end", f"its pid is in {place.lock}")
        sleep(POLL_S)
    return True


def leave_behind(data_dir: Path) -> None:
    """Start a daemon for the searches to come, unless a healthy one is there; costs a millisecond and never fails."""
    place = Place.of(data_dir)
    with suppress(OSError):
        if place.log.exists() and place.log.stat().st_size and _is_younger(place.log, QUIET_FOR_S):
            return
        if os.access(data_dir, os.W_OK) and _ask(place, "status", IS_WELL_WITHIN_S) is None:
            _spawn(place, data_dir)


def end_if_hung(place: Place) -> None:
    """Make room for a new daemon where the old one lives and does not answer."""
    if place.is_held() and _ask(place, "status") is None:
        is_starting = not place.socket.exists() and _is_younger(place.lock, STARTS_WITHIN_S)
        if not is_starting:
            _kill(place)


def _ask(place: Place, what: str, silence_s: float = protocol.SILENCE_S) -> bytes | None:
    frames = protocol.ask(str(place.folder), protocol.encode_request(__version__, what, ()), silence_s)
    return None if frames is None else b"".join(payload for kind, payload in frames if kind == protocol.OUT)


def _spawn(place: Place, data_dir: Path) -> None:
    place.folder.mkdir(mode=0o700, exist_ok=True)
    started_anew = place.log.exists() and place.log.stat().st_size > LARGEST_LOG_BYTES
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if started_anew else os.O_APPEND)
    isolation = "-I" if sys.flags.isolated else "-EP"
    os.posix_spawn(
        sys.executable,
        [sys.executable, isolation, "-m", "kb.daemon"],
        {**os.environ, "KB_DATA_DIR": str(data_dir)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(place.log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )


def _is_younger(path: Path, age_s: float) -> bool:
    """Not so where it is of a time to come: the clock was put back."""
    return 0 <= time() - path.stat().st_mtime + CLOCK_STEP_S < age_s + CLOCK_STEP_S


def _holder(place: Place) -> int | None:
    """The pid that the lock's holder wrote; that of the one before where it is about to."""
    with suppress(OSError, ValueError):
        return int(place.lock.read_text(encoding="ascii"))
    return None


def _kill(place: Place) -> None:
    """As long as the lock is held, the number in it is no other process's."""
    pid = _holder(place)
    if pid and place.is_held():
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _is_held_soon(place: Place) -> bool:
    """Whether somebody waited for the lock that is free now: waiting is looking every `index.lock.POLL_S`."""
    sleep(2 * POLL_S)
    return place.is_held()


def _wait_until(true: Callable[[], bool], timeout_s: float) -> bool:
    until = monotonic() + timeout_s
    while not true():
        if monotonic() > until:
            return False
        sleep(POLL_S)
    return True
