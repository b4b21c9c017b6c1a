"""One writer at a time: an advisory `flock` on `write.lock`, which holds the pid of its owner.

Readers take no lock. The kernel drops the lock with the process, so a killed writer never leaves one behind.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index.database import disk_faults_reported
from index.errors import StoreLocked

POLL_S = 0.02


@contextmanager
def writer_lock(path: Path, timeout_s: float) -> Iterator[None]:
    """Hold the lock, waiting for it up to `timeout_s` seconds (0: try once).

    Raises StoreLocked, which names the pid of the process that holds it, and DiskFault.
    """
    with disk_faults_reported(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with disk_faults_reported(path):
            _acquire(descriptor, timeout_s)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock at this moment; none does on a read-only disk, or where there are no locks."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _acquire(descriptor: int, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                holder = os.pread(descriptor, 32, 0).decode(errors="replace") or "unknown"
                raise StoreLocked(
                    f"the store is being written by process {holder}",
                    "wait for it to finish, or raise storage.lock_timeout_s (KB_LOCK_TIMEOUT_S)",
                ) from None
            time.sleep(POLL_S)
        else:
            return
