"""Measure what grows with a store: search beside the bare embedding, memory, appending, listing, compacting.

For each size a store is made once (scripts/scale_store.py) and asked through the daemon; cases take turns, as in scripts/bench_search.py.
A million chunks take 5 GB of disk, twice that while they are compacted, and from ten minutes up to be made:

    scripts/bench scale                                          22,000 chunks, minutes
    scripts/bench scale --rows 123000 --dims 768
    scripts/bench scale --rows 1000000
    scripts/bench cluster                                        two workers beside two processes

What was measured is kept in the cache, so that the chart shows every size that this machine has measured.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter, sleep

import msgspec
from bench_floors import Floors
from bench_process import PAUSE_S, run
from bench_search import Case, commands, daemon_status, filtered, search, unseen, warm_up
from bench_store import bench_store, cache
from scale_chart import draw, panels_of
from scale_store import CHUNKS_A_DOCUMENT, ScaleStore, Step, scale_store

from index import sources
from index.store import writing

QUERIES = 60
TURN = 10
REPEATS = 5
SCANNED_FILES = 10_000
"""At most so many documents are given a file: the others belong to no source, and a scan must not notice them."""
HALF = "*/??[0-4]/*"
"""Of the paths of a `scale_store`."""
REMOVED = 10
"""One document of so many is removed before compacting."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Of one size, medians."""

    rows: int
    dims: int
    load: float
    """Of the machine in the last minute, when the search was measured."""
    hybrid_ms: float
    filtered_ms: float
    """Hybrid, among half of the documents."""
    keyword_ms: float
    embedding_ms: float
    numpy_ms: float
    ours_ms: float
    resident_bytes: int
    shared_bytes: int
    list_ms: float
    status_ms: float
    scan_ms: float
    walk_ms: float
    compact_s: float
    copy_s: float
    store_bytes: int
    steps: tuple[Step, ...]

    @property
    def above_ms(self) -> float:
        """What a hybrid search takes beside the embedding."""
        return self.hybrid_ms - self.embedding_ms


def bench_scale(all_rows: list[int], dims: int) -> None:
    for rows in all_rows:
        one = measured(scale_store(rows, dims))
        keep(one)
        print_one(one)
    chart = cache() / "scale.png"
    draw(panels_of(kept(), kept()[-1]), chart)
    print(f"\n{chart}")


def measured(store: ScaleStore) -> Measured:
    kb = Path(sys.executable).parent / "kb"
    environment = {**os.environ, "KB_DATA_DIR": str(store.folder), "KB_MODEL": store.model}
    queries = unseen(bench_store())
    warm_up(kb, environment, next(queries))
    floors = Floors.start(store.folder)
    try:
        load = os.getloadavg()[0]
        cases = searched(kb, environment, floors, queries)
        status = daemon_status(kb, environment)
    finally:
        floors.end()
        run([str(kb), "daemon", "stop"], environment)
    in_python = {**environment, "KB_DAEMON": "off"}
    took_list, took_status = (repeated([str(kb), verb, "-j"], in_python) for verb in ("list", "status"))
    took_scan, took_walk = scanned(kb, in_python, store)
    compact_s, copy_s, size = compacted(kb, in_python, store)
    return Measured(
        rows=store.rows, dims=store.dims, load=load, hybrid_ms=cases["hybrid"], filtered_ms=cases["filtered"],
        keyword_ms=cases["keyword"], embedding_ms=cases["embedding"], numpy_ms=cases["numpy"], ours_ms=cases["ours"],
        resident_bytes=status.resident_bytes, shared_bytes=status.shared_bytes, list_ms=took_list, status_ms=took_status,
        scan_ms=took_scan, walk_ms=took_walk, compact_s=compact_s, copy_s=copy_s, store_bytes=size, steps=store.steps,
    )  # fmt: skip


def searched(kb: Path, environment: dict[str, str], floors: Floors, queries: Iterator[str]) -> dict[str, float]:
    cases = [
        Case("embedding", lambda some: floors.times("embedding", some, PAUSE_S)),
        Case("numpy", lambda some: floors.times("numpy", some, PAUSE_S)),
        Case("ours", lambda some: floors.times("ours", some, PAUSE_S)),
        *(Case(mode, commands(partial(search, kb, mode), environment)) for mode in ("keyword", "hybrid")),
        Case("filtered", commands(partial(filtered, kb, "hybrid", HALF), environment)),
    ]
    for _ in range(QUERIES // TURN):
        shared = list(islice(queries, TURN))
        for case in cases:
            case.times += case.measure(shared)
    return {case.name: case.median for case in cases}


def repeated(command: list[str], environment: dict[str, str]) -> float:
    """Least ms of some runs: a process of its own that starts, answers and ends."""
    found = []
    for _ in range(REPEATS):
        sleep(PAUSE_S)
        done = run(command, environment)
        if done.exit_code:
            raise SystemExit(f"exit code {done.exit_code}: {' '.join(command)}\n{done.output.decode(errors='replace')}")
        found.append(done.took_ms)
    return min(found)


def scanned(kb: Path, environment: dict[str, str], store: ScaleStore) -> tuple[float, float]:
    """`kb scan` of a source that has a file for each document, up to a number of them, and a bare walk of these."""
    folder = with_files(store)
    walks = []
    for _ in range(REPEATS):
        began = perf_counter()
        for place in os.scandir(folder):
            for entry in os.scandir(place.path):
                entry.stat()
        walks.append((perf_counter() - began) * 1000)
    return repeated([str(kb), "scan", "-j"], environment), min(walks)


def with_files(store: ScaleStore) -> Path:
    """The folder that the store's paths name, as a source; the files are holes of the right size and time."""
    folder = store.folder.parent / "files"
    with writing(store.folder) as writer:
        wanted = "SELECT id, mtime_ns, size FROM documents ORDER BY id LIMIT ?"
        rows = writer.connection.execute(wanted, (SCANNED_FILES,)).fetchall()
        if not sources.every(writer.connection):
            for document_id, mtime_ns, size in rows:
                path = path_of(folder, document_id)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    file.truncate(size)
                os.utime(path, ns=(mtime_ns, mtime_ns))
            with writer.transaction():
                source_id = sources.insert(
                    writer.connection, "files", str(folder), "", "{}", "2026-01-01T00:00:00+00:00"
                )
                writer.connection.executemany(
                    "UPDATE documents SET source_path = ?, source_id = ? WHERE id = ?",
                    ((str(path_of(folder, document_id)), source_id, document_id) for document_id, *_ in rows),
                )
    return folder


def path_of(folder: Path, document_id: int) -> Path:
    return folder / f"{document_id % 300:03}" / f"{document_id}.md"


def compacted(kb: Path, environment: dict[str, str], store: ScaleStore) -> tuple[float, float, int]:
    """Seconds of `kb compact` after a tenth was removed, of a plain copy of the same bytes to the disk, and how many these are."""
    with tempfile.TemporaryDirectory(dir=store.folder.parent) as place:
        copy = Path(place) / "store"
        shutil.copytree(store.folder, copy, ignore=shutil.ignore_patterns("run"))
        with writing(copy) as writer, writer.transaction():
            writer.connection.execute("DELETE FROM documents WHERE id % ? = 0", (REMOVED,))
        done = run([str(kb), "compact", "-j"], {**environment, "KB_DATA_DIR": str(copy)})
        if done.exit_code:
            raise SystemExit(f"kb compact: {done.output.decode(errors='replace')}")
        size = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
        return done.took_ms / 1000, copied(copy, Path(place) / "copy"), size


def copied(folder: Path, to: Path) -> float:
    os.sync()
    began = perf_counter()
    shutil.copytree(folder, to)
    for path in to.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    return perf_counter() - began


def print_one(one: Measured) -> None:
    lines = (
        ("hybrid search, exec to exit", f"{one.hybrid_ms:.1f} ms"),
        ("the same among half of the documents", f"{one.filtered_ms:.1f} ms"),
        ("embedding alone", f"{one.embedding_ms:.1f} ms"),
        ("hybrid search above the embedding", f"{one.above_ms:.1f} ms"),
        ("keyword search, exec to exit", f"{one.keyword_ms:.1f} ms"),
        ("product with the top 100: ours, and numpy's float32 without the top", f"{one.ours_ms:.1f}, {one.numpy_ms:.1f} ms"),
        ("daemon: resident, of it shared with the page cache", f"{one.resident_bytes / 1e6:.0f}, {one.shared_bytes / 1e6:.0f} MB"),
        ("kb list, kb status (a process each)", f"{one.list_ms:.0f}, {one.status_ms:.0f} ms"),
        (f"kb scan of {min(SCANNED_FILES, one.rows // CHUNKS_A_DOCUMENT):,} files, a bare walk of them", f"{one.scan_ms:.0f}, {one.walk_ms:.0f} ms"),
        ("kb compact, a plain copy of its bytes, ratio", f"{one.compact_s:.1f}, {one.copy_s:.1f} s, {one.compact_s / one.copy_s:.1f}"),
        ("the store", f"{one.store_bytes / 1e6:,.0f} MB, {one.store_bytes / one.rows:,.0f} bytes a chunk"),
    )  # fmt: skip
    print(f"\n{one.rows:,} chunks of {one.dims} dimensions; load of the machine {one.load:.1f}")
    for name, value in lines:
        print(f"  {name:<72}{value}")
    print_steps(one.steps)


def print_steps(steps: tuple[Step, ...]) -> None:
    """Of each append: many documents, and then a single one."""
    many, single = steps[::2], steps[1::2]
    print(
        f"  {'appended':<24}{'SQLite':>10}{'matrix':>10}{'tantivy':>10}{'whole':>10}{'one document':>16}   us a chunk; ms"
    )
    for some, one in zip(many, single, strict=False):
        parts = (some.sqlite_s, some.matrix_s, some.lexical_s, some.whole_s)
        costs = "".join(f"{part / some.chunks * 1e6:>10.0f}" for part in parts)
        print(f"  {some.chunks:>9,} to {some.chunks_before:>10,}{costs}{one.whole_s * 1e3:>16.0f}")


def kept_at() -> Path:
    return cache() / "scale.json"


def kept() -> list[Measured]:
    try:
        return msgspec.json.decode(kept_at().read_bytes(), type=list[Measured])
    except (FileNotFoundError, msgspec.ValidationError):  # measured before there was all of that
        return []


def keep(one: Measured) -> None:
    others = [other for other in kept() if (other.rows, other.dims) != (one.rows, one.dims)]
    kept_at().write_bytes(msgspec.json.encode(sorted([*others, one], key=lambda each: each.rows * each.dims)))
