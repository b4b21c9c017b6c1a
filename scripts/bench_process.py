"""Run a program as a shell does and say how long that took, from exec to exit.

The clock starts before posix_spawn and stops when wait4 returns. glibc's posix_spawn shares the caller's memory until the exec, so
that the size of this process does not count, as it would after a fork. Standard input and error are /dev/null, output goes to
a file in memory where there is one, and is read when the clock has stopped.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter, sleep
from typing import TypeVar

import msgspec

PAUSE_S = 0.02
MEMORY = Path("/dev/shm")

Found = TypeVar("Found")


class Run(msgspec.Struct, frozen=True):
    took_ms: float
    exit_code: int
    output: bytes


def run(command: list[str], environment: dict[str, str]) -> Run:
    """`command[0]` is a path."""
    with tempfile.NamedTemporaryFile(dir=MEMORY if MEMORY.is_dir() else None) as output:
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output.name, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        started = perf_counter()
        process = os.posix_spawn(command[0], command, environment, file_actions=files)
        _, status, _ = os.wait4(process, 0)
        took_ms = (perf_counter() - started) * 1000
        return Run(took_ms, os.waitstatus_to_exitcode(status), output.read())


def times(commands: Iterable[list[str]], environment: dict[str, str]) -> list[float]:
    """Of each command in ms, 20 ms apart. Stops the program where one fails."""
    found = []
    for command in commands:
        sleep(PAUSE_S)
        done = run(command, environment)
        if done.exit_code:
            raise SystemExit(f"exit code {done.exit_code}: {' '.join(command)}\n{done.output.decode(errors='replace')}")
        found.append(done.took_ms)
    return found


def at_once(clients: int, work: Callable[[int], list[Found]]) -> list[Found]:
    """What all clients found, each in a process of its own; `work` is given the client's number."""
    with ProcessPoolExecutor(clients, multiprocessing.get_context("fork")) as pool:
        return [each for found in pool.map(work, range(clients)) for each in found]
