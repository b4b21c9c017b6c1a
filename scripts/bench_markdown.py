"""`kb add -r` of gigabytes of generated markdown: time, processor time and memory against the chunks that are in the store.

The model looks its words up in a table of 32 columns, so that what is measured is everything but the model: the default one would take
a day for 10 GB on two cores, and takes the same time for each chunk whatever the size of the store. Pages have 100 KB, of
sentences of real words, each word as often as there. Kept in $KB_BENCH_CACHE or ~/.cache/kb-bench under `markdown-GB`, five times the
source's bytes of disk in all; interrupted, the same command goes on where it was.

    scripts/bench markdown                                        0.1 GB, a minute
    scripts/bench markdown --gigabytes 10                         two hours, 50 GB of disk
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate, islice
from pathlib import Path
from random import Random
from time import perf_counter, sleep

import msgspec
from bench_store import COLLECTIONS, cache, generated, texts
from light_model import light_model
from scale_chart import Line, Panel, draw

DIMS = 32
VOCABULARY = 50_000
TEXTS = 8_000
PAGE_CHARS = 100_000
PAGES_A_FOLDER = 350
EVERY_S = 5.0
LINES = 20
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Sample(msgspec.Struct, frozen=True):
    """One moment of a run."""

    at_s: float
    """Since the run began; of a run that goes on, with what went before."""
    chunks: int
    writer_cpu_s: float
    workers_cpu_s: float
    writer_bytes: int
    """Resident and its own (not mapped from files)."""
    workers_bytes: int
    """Of the largest worker."""


def bench_markdown(gigabytes: float) -> None:
    folder = cache() / f"markdown-{gigabytes:g}"
    source = folder / "source"
    if not (folder / "complete").exists():
        write_pages(source, int(gigabytes * 1e9))
        light_model(folder / "model", words_of(TEXTS), DIMS)
        (folder / "complete").touch()
    samples = added(folder, source)
    print_samples(samples)
    print_end(folder, source)
    draw(panels_of(samples), folder / "markdown.png")
    print(folder / "markdown.png")


def write_pages(folder: Path, size: int) -> None:
    chances = Random(0)
    written = number = 0
    sentences = Sentences(chances)
    while written < size:
        path = folder / f"{number // PAGES_A_FOLDER:03}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        page = sentences.page(number)
        written += path.write_text(page, encoding="utf-8")
        number += 1


class Sentences:
    """Pages of real words in no order; each page begins with a heading of its own, and each paragraph with a sentence of its own."""

    def __init__(self, chances: Random) -> None:
        counts = words_of(TEXTS).most_common(VOCABULARY)
        weights = list(accumulate(count for _, count in counts))
        self.chances = chances
        self.words = chances.choices([word for word, _ in counts], cum_weights=weights, k=2_000_000)
        self.paragraphs = [" ".join(self.one() for _ in range(chances.randint(3, 8))) for _ in range(60_000)]

    def one(self) -> str:
        first = self.chances.randrange(len(self.words) - 30)
        return " ".join(self.words[first : first + self.chances.randint(6, 24)]).capitalize() + "."

    def page(self, number: int) -> str:
        parts = [f"# Page {number}: {self.one()}\n"]
        length = 0
        while length < PAGE_CHARS:
            parts.append(f"## {self.one()}\n")
            for _ in range(self.chances.randint(1, 5)):
                parts.append(f"{self.one()} {self.chances.choice(self.paragraphs)}\n")
                length += len(parts[-1])
        return "\n".join(parts)


def words_of(count: int) -> Counter[str]:
    some = texts() if COLLECTIONS.is_dir() else generated()
    return Counter(word for text in islice(some, count) for word in re.findall(r"\w+", text))


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "KB_DATA_DIR": str(folder / "store"),
        "KB_MODEL": str(folder / "model"),
        "KB_DAEMON": "off",
    }


def added(folder: Path, source: Path) -> list[Sample]:
    """What was seen on the way, now and in earlier runs that were interrupted."""
    log = folder / "samples.json"
    samples = msgspec.json.decode(log.read_bytes(), type=list[Sample]) if log.exists() else []
    before = samples[-1] if samples else Sample(0, 0, 0, 0, 0, 0)
    began = perf_counter()
    command = [sys.executable, "-m", "kb", "add", "-r", str(source)]
    with subprocess.Popen(command, env=environment(folder), stdout=subprocess.DEVNULL) as adding:
        while adding.poll() is None:
            sleep(EVERY_S)
            if (sample := sampled(adding.pid, folder / "store", before, perf_counter() - began)) is not None:
                samples.append(sample)
                log.write_bytes(msgspec.json.encode(samples))
    if adding.returncode:
        raise SystemExit(f"kb add ended with exit code {adding.returncode}")
    return samples


def sampled(pid: int, store: Path, before: Sample, now_s: float) -> Sample | None:
    """None where the process has just ended, or the store is not there yet."""
    try:
        if not (writer_bytes := own_bytes(pid)):
            return None
        workers = list(below(pid))
        writer_cpu, ended_cpu = cpu_s(pid)
        return Sample(
            at_s=before.at_s + now_s,
            chunks=chunks_in(store),
            writer_cpu_s=before.writer_cpu_s + writer_cpu,
            workers_cpu_s=before.workers_cpu_s + ended_cpu + sum(sum(cpu_s(worker)) for worker in workers),
            writer_bytes=writer_bytes,
            workers_bytes=max(map(own_bytes, workers), default=0),
        )
    except (OSError, sqlite3.OperationalError):
        return None


def below(pid: int) -> Iterator[int]:
    """The processes that it has started, and those that these have."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            yield child
            yield from below(child)


def cpu_s(pid: int) -> tuple[float, float]:
    """Of the process, and of its children that have ended: user and system; proc_pid_stat(5), fields 14 to 17."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, children = (sum(map(int, fields[first : first + 2])) / TICKS_A_SECOND for first in (11, 13))
    return own, children


def own_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^RssAnon:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def chunks_in(store: Path) -> int:
    with closing(sqlite3.connect(f"file:{store / 'kb.db'}?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT max(id) FROM chunks").fetchone()[0] or 0)


def steps(samples: list[Sample]) -> Iterator[tuple[Sample, Sample]]:
    """The run in parts of as many chunks each, as the moments that each begins and ends with."""
    last = samples[0]
    part = (samples[-1].chunks - last.chunks) / LINES
    for sample in samples[1:]:
        if sample.chunks - last.chunks >= part * 0.999:
            yield last, sample
            last = sample


def print_samples(samples: list[Sample]) -> None:
    print(
        f"  {'chunks':>12}{'s':>8}{'writer, us of processor a chunk':>34}{'workers':>10}{'writer MB':>12}{'a worker MB':>13}"
    )
    for first, last in steps(samples):
        count = last.chunks - first.chunks
        writer, workers = (
            (getattr(last, name) - getattr(first, name)) / count * 1e6 for name in ("writer_cpu_s", "workers_cpu_s")
        )
        print(
            f"  {last.chunks:>12,}{last.at_s:>8.0f}{writer:>34.0f}{workers:>10.0f}{last.writer_bytes / 1e6:>12.0f}{last.workers_bytes / 1e6:>13.0f}"
        )


def print_end(folder: Path, source: Path) -> None:
    """The bytes, and what the first questions to a store of this size take, a process each."""
    for name, place in (("source", source), ("store", folder / "store")):
        print(f"  {name:<12}{sum(path.stat().st_size for path in place.rglob('*') if path.is_file()) / 1e6:>12,.0f} MB")
    for words in (
        ["status"],
        ["list"],
        ["scan"],
        ["search", "--mode", "keyword", "page 4711"],
        ["search", "what was measured"],
    ):
        began = perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "kb", *words, "-j"], env=environment(folder), capture_output=True, check=False
        )
        print(f"  kb {' '.join(words):<40}{perf_counter() - began:>8.2f} s, exit code {done.returncode}")


def panels_of(samples: list[Sample]) -> list[Panel]:
    """Time and memory against chunks, for the chart."""
    parts = list(steps(samples))

    def line(name: str, field: str, scale: float) -> Line:
        return Line(name, [(last.chunks / 1e3, getattr(last, field) * scale) for _, last in parts])

    def cost(name: str, field: str) -> Line:
        return Line(name, [
            (last.chunks / 1e3, (getattr(last, field) - getattr(first, field)) / (last.chunks - first.chunks) * 1e6)
            for first, last in parts
        ])  # fmt: skip

    return [
        Panel("us of processor time a chunk", [cost("writer", "writer_cpu_s"), cost("workers", "workers_cpu_s")]),
        Panel("own memory, MB", [line("writer", "writer_bytes", 1e-6), line("largest worker", "workers_bytes", 1e-6)]),
    ]
