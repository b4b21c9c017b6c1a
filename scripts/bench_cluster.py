"""`kb add --cluster` with two workers of one thread each on loopback, beside `kb add --workers 2`: the same store, and the ratio of the wall times.

On one machine a cluster can only lose: what it costs is seen here, what it gains is another machine's processor. Needs the `cluster` extra.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter

from bench_store import generated

DOCUMENTS = 12
PIECES_A_DOCUMENT = 6
WORKERS = 2
COMPARED = (
    "SELECT title, source_path, content_hash, metadata FROM documents ORDER BY id",
    "SELECT document_id, chunk_index, text, heading, context, text_hash FROM chunks ORDER BY id",
    "SELECT text_hash, model, vector FROM vectors ORDER BY text_hash",
)


def bench_cluster(rounds: int) -> None:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("distributed is not installed: pip install 'kb-search[cluster]'")
        return
    with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
        folder = Path(place)
        source = documents(folder / "source")
        cluster = opened.enter_context(
            LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, local_directory=place)
        )
        opened.enter_context(Client(cluster)).wait_for_workers(WORKERS)
        ratios = []
        for number in range(rounds):
            here, there = folder / f"here-{number}", folder / f"there-{number}"
            here_s = added(here, source, "--workers", str(WORKERS))
            there_s = added(there, source, "--cluster", cluster.scheduler_address)
            if stored(here) != stored(there):
                raise SystemExit("the two stores are not the same")
            ratios.append(there_s / here_s)
            print(
                f"  {WORKERS} processes here {here_s:.1f} s, {WORKERS} workers {there_s:.1f} s: {ratios[-1]:.2f}, the same store"
            )
        print(
            f"wall time of {WORKERS} loopback workers beside {WORKERS} processes: {statistics.median(ratios):.2f} (load {os.getloadavg()[0]:.1f})"
        )


def documents(folder: Path) -> Path:
    folder.mkdir()
    texts = generated()
    for number in range(DOCUMENTS):
        parts = (f"# Part {part}\n\n{next(texts)}\n" for part in range(PIECES_A_DOCUMENT))
        (folder / f"{number:03}.md").write_text("\n".join(parts), encoding="utf-8")
    return folder


def added(store: Path, source: Path, *options: str) -> float:
    began = perf_counter()
    command = [sys.executable, "-m", "kb", "add", str(source), "-r", "-j", *options]
    environment = {**os.environ, "KB_DATA_DIR": str(store), "KB_DAEMON": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"kb add: {done.stdout.decode()}{done.stderr.decode()}")
    return perf_counter() - began


def stored(store: Path) -> list[list[tuple[object, ...]]]:
    with opened_database(store) as connection:
        return [connection.execute(query).fetchall() for query in COMPARED]


@contextmanager
def opened_database(store: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(store / "kb.db")
    try:
        yield connection
    finally:
        connection.close()
