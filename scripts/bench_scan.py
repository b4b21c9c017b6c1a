"""Measure `kb scan` of 10,000 unchanged files beside the bare walk that it cannot do without, in one run, taking turns.

The bare walk is `os.scandir` and one `stat` a file, nothing else. The store holds a document for each file, made without reading it
(a scan reads rows, not texts), in a folder of its own that is thrown away. Both are timed inside this process, in CPU time and by
the clock; what counts on a machine that others use is the median of the ratios of neighbours, since what slows one down slows
down the other.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from bench_process import run

from index import sources, store
from index.builtwith import BuiltWith
from index.rows import NewChunk, NewDocument
from index.vectors import text_hash
from index.writer import utc_now
from kb.scan import scan
from kb.settings import Settings

FILES, FOLDERS = 10_000, 100
ROUNDS = 40
BOUND = 1.5
"""Of issue 6."""


def bench_scan(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, data_dir = Path(folder) / "notes", Path(folder) / "store"
        make_files(root)
        make_store(data_dir, root)
        plain = compare(root, data_dir, max(rounds, ROUNDS))
        (root / ".gitignore").write_text("*.log\nbuild/\n!keep.log\n/tmp/**\nnode_modules\n", encoding="utf-8")
        ignoring = compare(root, data_dir, max(rounds, ROUNDS))
        whole = whole_process(data_dir)
    print(f"{'':<44}{'scan':>9}{'bare':>9}{'ratio':>8}   median of {max(rounds, ROUNDS)}, ms of CPU (by the clock)")
    for name, (cpu, clock) in (("unchanged files", plain), ("the same with a .gitignore", ignoring)):
        print(
            f"{FILES:,} {name:<37}{cpu.scan_ms:>9.1f}{cpu.bare_ms:>9.1f}{cpu.ratio:>8.2f}   ({clock.scan_ms:.1f}, {clock.bare_ms:.1f}, {clock.ratio:.2f})"
        )
    print(f"kb scan as a process, start included: {whole:.0f} ms")
    met = plain[0].ratio <= BOUND
    print(f"{'met    ' if met else 'NOT MET'} scan of unchanged files at most {BOUND} times the bare walk")


def make_files(root: Path) -> None:
    for number in range(FILES):
        path = root / f"folder {number % FOLDERS:02}" / f"note {number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"note {number}\n", encoding="utf-8")


def make_store(data_dir: Path, root: Path) -> None:
    store.create(data_dir, BuiltWith(model_name="none", model_key="none", embedding_dim=8, model_max_tokens=64))
    with store.writing(data_dir) as writer, writer.transaction() as seq:
        source_id = sources.insert(writer.connection, "notes", str(root), "", "{}", utc_now())
        for path in sorted(root.rglob("*.md")):
            text, status = path.read_text(encoding="utf-8"), path.stat()
            chunk = NewChunk(text=text, heading="", context="", text_hash=text_hash(text), token_count=2)
            document = NewDocument(
                title=path.stem, source_path=str(path), content_hash=hashlib.sha256(text.encode()).hexdigest(),
                doc_type="markdown", modified_at=utc_now(), size=status.st_size, extractor="markdown", chunks=(chunk,),
                mtime_ns=status.st_mtime_ns, source_id=source_id,
            )  # fmt: skip
            writer.insert(document, {}, "none", seq=seq)


@dataclass
class Compared:
    """Medians."""

    scan_ms: float
    bare_ms: float
    ratio: float

    @classmethod
    def of(cls, scan_ms: list[float], bare_ms: list[float]) -> Compared:
        ratios = [ours / bare for ours, bare in zip(scan_ms, bare_ms, strict=True)]
        return cls(*(statistics.median(numbers) for numbers in (scan_ms, bare_ms, ratios)))


def compare(root: Path, data_dir: Path, rounds: int) -> tuple[Compared, Compared]:
    """In CPU time, and by the clock."""
    settings = Settings()
    os.sync()  # what was just written keeps the machine busy
    ours, bare = [], []
    for _ in range(rounds):
        ours.append(timed(lambda: check(data_dir, settings)))
        bare.append(timed(lambda: walk(str(root))))
    cpu, clock = (Compared.of([one[by] for one in ours], [one[by] for one in bare]) for by in (0, 1))
    return cpu, clock


def check(data_dir: Path, settings: Settings) -> None:
    answer = scan(data_dir, settings, ())
    if not answer.in_step or answer.sources[0].unchanged != FILES:
        raise SystemExit(f"the files are not unchanged: {answer}")


def walk(folder: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                walk(entry.path)
            else:
                entry.stat(follow_symlinks=False)


def timed(work: Callable[[], None]) -> tuple[float, float]:
    cpu, clock = process_time(), perf_counter()
    work()
    return (process_time() - cpu) * 1000, (perf_counter() - clock) * 1000


def whole_process(data_dir: Path) -> float:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    environment["KB_DATA_DIR"] = str(data_dir)
    command = [sys.executable, "-m", "kb", "scan", "-j"]
    return min(run(command, environment).took_ms for _ in range(5))
