"""A Dask scheduler and workers as processes of their own, on loopback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import msgspec
from running import environment
from test_reading import BAD_READERS

STARTS_S = 60
"""On a machine that is busy with other things."""
PLAIN = ("--no-dashboard", "--host", "127.0.0.1")


class Cluster:
    def __init__(self, folder: Path, address: str, variables: Mapping[str, object]) -> None:
        self.folder = folder
        self.address = address
        self.variables = variables
        self.processes: list[subprocess.Popen[bytes]] = []

    def worker(self, *options: str, path: Path = BAD_READERS) -> subprocess.Popen[bytes]:
        """One more, in a working directory of its own; `path` is its PYTHONPATH. Does not wait until it is there."""
        number = len(self.processes)
        place = self.folder / f"worker-{number}"
        place.mkdir()
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            self.address,
            *PLAIN,
            "--nthreads",
            "2",
            *options,
        ]
        log = (place / "log").open("wb")
        variables = environment(place / "data", PYTHONPATH=path, **self.variables)
        self.processes.append(
            subprocess.Popen([*command, "--name", f"w{number}"], cwd=place, env=variables, stdout=log, stderr=log)
        )
        return self.processes[-1]

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@contextmanager
def cluster(folder: Path, *options: str, **variables: object) -> Iterator[Cluster]:
    """A scheduler without workers, with these options and, as its workers, these variables of the environment."""
    folder.mkdir()
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *PLAIN, "--port", "0", *options]
    with (folder / "log").open("wb") as log:
        scheduler = subprocess.Popen(
            [*command, "--scheduler-file", str(file)], cwd=folder, env=environment(folder / "data", **variables), stdout=log,
            stderr=log,
        )  # fmt: skip
    try:
        wait_until(lambda: address_in(file))
        made = Cluster(folder, address_in(file), variables)
        try:
            yield made
        finally:
            made.end()
    finally:
        scheduler.kill()
        scheduler.wait()


def address_in(file: Path) -> str:
    """Of a scheduler; empty as long as its file is not there whole: it is written piece by piece."""
    try:
        return msgspec.json.decode(file.read_bytes())["address"]
    except (OSError, msgspec.DecodeError):
        return ""


def wait_until(is_so) -> None:
    until = monotonic() + STARTS_S
    while not is_so():
        assert monotonic() < until, f"waited {STARTS_S} s in vain"
        sleep(0.05)
