"""Kill a `kb` command by SIGKILL, and look at what it leaves. Run by `test_crash`, each scenario a process.

    python crash_driver.py SCENARIO FOLDER                   at every step
    python crash_driver.py SCENARIO FOLDER steps COUNT       at so many of them, spread over all
    python crash_driver.py SCENARIO FOLDER moments COUNT     at so many moments, by the clock

All print a `Result` as JSON. For steps, the command is watched at each call of C code that can change a file: an SQL statement, a write, a sync, a rename, a commit of
tantivy. A step is such a call that finds the data folder other than the call before it found it. So the command is killed
once in every state that it leaves on disk between two calls, each time in a process of its own. By the clock it is killed
wherever it is, within a call of SQLite or tantivy too, while their threads are at work. At single system calls: `scripts/hurt crashes`.

This process only imports and forks (`crash_process`); one child is killed, and the next one looks (`crash_checks`).
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from crash_checks import configuration_was_edited, contents, faults_of
from crash_process import LOADED_ONCE, answer_in, command_in, fresh, in_child
from crash_scenarios import SCENARIOS, prepare

import kb.add
from index import store

CHANGING = frozenset({
    "execute", "executemany", "open", "write", "truncate", "ftruncate", "pwrite", "flush", "fsync", "close", "replace",
    "unlink", "rmdir", "mkdir", "flock", "writer", "add_document", "delete_documents_by_term", "delete_all_documents",
    "commit", "rollback", "wait_merging_threads", "backup", "rename",
})  # fmt: skip
"""Names of C functions and methods that can change what is on disk, or who may."""


class Result(msgspec.Struct):
    steps: int = 0
    """That there are, tried or not."""
    tried: int = 0
    killed: int = 0
    """The others were over before."""
    before_edit: int = 0
    """Of those killed: how many had switched to another model while config.yaml still named the old one."""
    after_edit: int = 0
    """Of those killed: how many had edited config.yaml too, and not said so in the store."""
    faults: list[str] = []


def main(name: str, folder: Path, points: str = "steps", count: int = 0) -> Result:
    for module in LOADED_ONCE:
        importlib.import_module(module)
    kb.add.BATCH_S = math.inf  # batches by number alone, so that every run has the same steps
    os.environ["KB_DAEMON"] = "off"
    os.chdir(folder)
    data, trial = folder / "data", folder / "trial"
    command = prepare(folder, SCENARIOS[name], data)
    for verb in (command[0], "search"):
        answer_in(data, [verb, "--help"])  # what the door keeps of a command is made once as well
    steps: list[int] = []
    if points == "moments":
        kills = dict(by_the_clock(name, command, data, trial, count))
    else:
        steps = in_child(lambda: steps_of(command, fresh(data, trial)))
        kills = dict(at_steps(spread(steps, count or len(steps)), command, trial))
    whole = in_child(lambda: contents(trial))
    before = in_child(lambda: contents(fresh(data, trial)) if store.exists(data) else None)
    result = Result(steps=len(steps), tried=len(kills))
    for point, kill in kills.items():
        fresh(data, trial)
        result.killed += kill()
        edited = in_child(lambda: configuration_was_edited(trial))
        result.before_edit += edited is False
        result.after_edit += edited is True
        result.faults += [f"{point}: {fault}" for fault in in_child(lambda: faults_of(trial, command, before, whole))]
    return result


Kills = Iterator[tuple[str, Callable[[], bool]]]
"""Each with what it is called; True where the command was still running."""


def spread(steps: list[int], count: int) -> list[int]:
    """So many of them at most, the first and the last among them."""
    count = min(count, len(steps))
    return [steps[number * (len(steps) - 1) // (count - 1)] for number in range(count)]


def at_steps(steps: list[int], command: list[str], trial: Path) -> Kills:
    for step in steps:
        yield f"step {step}", lambda step=step: in_child(lambda: killed_at(step, command, trial)) is None


def by_the_clock(name: str, command: list[str], data: Path, trial: Path, moments: int) -> Kills:
    """And leaves in `trial` what a whole run does."""
    duration_s = min(duration_of(command, fresh(data, trial)) for _ in range(3))
    chances = random.Random(name)
    for _ in range(moments):
        after_s = chances.uniform(0, duration_s)
        yield (
            f"after {after_s * 1000:.2f} ms",
            lambda after_s=after_s: in_child(lambda: command_in(trial, command), kill_after_s=after_s) is None,
        )


def duration_of(command: list[str], trial: Path) -> float:
    began = time.perf_counter()
    in_child(lambda: command_in(trial, command))
    return time.perf_counter() - began


def steps_of(command: list[str], trial: Path) -> list[int]:
    """The numbers of the calls that find another state on disk than the one before."""
    states: list[bytes] = []

    watch(lambda: states.append(state_on_disk(trial)))
    code = command_in(trial, command)
    sys.setprofile(None)
    if code:
        raise RuntimeError(f"{command} ended with {code}")
    return [n for n, state in enumerate(states, start=1) if n == 1 or state != states[n - 2]]


def state_on_disk(folder: Path) -> bytes:
    """A digest of every file but SQLite's shared memory, which a crash does not survive."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.name != "kb.db-shm":
            digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.digest()


def killed_at(number: int, command: list[str], trial: Path) -> int:
    left = number

    def call() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(call)
    return command_in(trial, command)


def watch(before_call: Callable[[], object]) -> None:
    """Do `before_call` before each changing call of this thread."""

    def profile(_frame: object, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in CHANGING and not isinstance(function.__self__, str | bytes):
            before_call()

    sys.setprofile(profile)


if __name__ == "__main__":
    print(msgspec.json.encode(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:]))).decode())
