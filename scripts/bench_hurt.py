"""Search hard while the store changes as fast as it can: `scripts/bench hurt`.

Each document is a file of three sections that all name the same generation. The writer puts the next generation into a file and
adds it with --replace, which is one transaction, or removes the document, or compacts. So in any one state a document's chunks
are of one generation, and of a later state's never an earlier one. Every client runs the real `kb search -j`, keyword and hybrid
in turn, and looks at each answer:

    an error       the exit code is not 0, the output is no answer, or more is found than there is
    mixed          it holds two generations, or two ids, of one document
    went back      it holds an earlier generation than this client has seen before

A document that is missing is neither: it may be removed just then, or its index may still be catching up, which the answer says.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import statistics
import sys
import tempfile
from multiprocessing.synchronize import Event
from pathlib import Path
from time import monotonic

import msgspec
from bench_process import Run, at_once, run
from bench_search import warm_up

from index.store import exists
from kb.add import Silent, add_paths
from kb.candidates import Request
from kb.compact import compact
from kb.remove import remove
from kb.settings import Settings
from kb.wire_search import SearchAnswer

CLIENTS = 8
DOCUMENTS = 12
SECTIONS = 3
COMPACT_EVERY = 25  # changes
TOP = DOCUMENTS * SECTIONS * 2
"""Room for two versions of everything."""
WORDS = ("harbour", "lantern", "meadow", "orchard", "pebble", "quarry", "ribbon", "saddle", "timber", "valley")

GENERATION = re.compile(r"generation(\d+)")


class Seen(msgspec.Struct):
    """What one client saw."""

    times_ms: list[float] = []
    errors: list[str] = []
    mixed: list[str] = []
    went_back: list[str] = []


def bench_hurt(seconds: int) -> None:
    kb = Path(sys.executable).parent / "kb"
    with tempfile.TemporaryDirectory() as folder:
        store, source = Path(folder) / "store", Path(folder) / "source"
        source.mkdir()
        for number in range(DOCUMENTS):
            write(source, number, generation=0)
        add(store, source)
        environment = {**os.environ, "KB_DATA_DIR": str(store)}
        try:
            warm_up(kb, environment, "subject")
            changes, seen = hurt(kb, store, source, environment, seconds)
        finally:
            run([str(kb), "daemon", "stop"], environment)
    report(changes, seen)


def hurt(
    kb: Path, store: Path, source: Path, environment: dict[str, str], seconds: int
) -> tuple[dict[str, int], list[Seen]]:
    """The writer in a process of its own as long as the clients ask."""
    context = multiprocessing.get_context("spawn")
    done, made = context.Event(), context.SimpleQueue()
    writer = context.Process(target=change, args=(store, source, done, made))
    writer.start()
    try:
        seen = at_once(CLIENTS, Client(kb, environment, seconds))
    finally:
        done.set()
    changes = made.get()
    writer.join()
    return changes, seen


class Client(msgspec.Struct):
    kb: Path
    environment: dict[str, str]
    seconds: int

    def __call__(self, number: int) -> list[Seen]:
        chance, seen = random.Random(number), Seen()
        newest: dict[str, int] = {}
        end = monotonic() + self.seconds
        while monotonic() < end:
            mode = chance.choice(["keyword", "hybrid"])
            query = f"subject {' '.join(chance.sample(WORDS, 3))}"
            done = run([str(self.kb), "search", "-j", "--mode", mode, "--top", str(TOP), query], self.environment)
            seen.times_ms.append(done.took_ms)
            try:
                look(answer_of(done), newest, seen)
            except ValueError as error:
                seen.errors.append(f"{error}: {done.output[:200]!r}")
        return [seen]


def answer_of(done: Run) -> SearchAnswer:
    """Raises ValueError, of which msgspec.DecodeError is one."""
    if done.exit_code:
        raise ValueError(f"exit code {done.exit_code}")
    return msgspec.json.decode(done.output, type=SearchAnswer)


def look(answer: SearchAnswer, newest: dict[str, int], seen: Seen) -> None:
    """Judge one answer; `newest`: the latest generation this client has seen of each path."""
    versions: dict[str, set[tuple[int, int]]] = {}
    for hit in answer.results:
        found = {int(number) for number in GENERATION.findall(hit.text)}
        if len(found) != 1 or not hit.source.path:
            raise ValueError(f"a chunk of {len(found)} generations")
        versions.setdefault(hit.source.path, set()).add((found.pop(), hit.source.document_id))
    if len(answer.results) > DOCUMENTS * SECTIONS:
        raise ValueError(f"{len(answer.results)} hits of {DOCUMENTS * SECTIONS} chunks")
    for path, those in versions.items():
        if len(those) > 1:
            seen.mixed.append(f"{Path(path).name}: {sorted(those)}")
        generation = max(those)[0]
        if generation < newest.get(path, 0):
            seen.went_back.append(f"{Path(path).name}: {generation} after {newest[path]}")
        newest[path] = max(generation, newest.get(path, 0))


def change(store: Path, source: Path, done: Event, made: multiprocessing.SimpleQueue[dict[str, int]]) -> None:
    """Add, replace, remove and compact until told to stop; then say how often."""
    chance, counts = random.Random(0), {"replaced": 0, "removed and added": 0, "compacted": 0}
    generation = 0
    while not done.is_set():
        generation += 1
        path = write(source, chance.randrange(DOCUMENTS), generation)
        if chance.random() < 1 / 4:
            remove(store, [str(path)], lock_timeout_s=Settings().storage.lock_timeout_s)
            counts["removed and added"] += 1
        else:
            counts["replaced"] += 1
        add(store, path)
        if generation % COMPACT_EVERY == 0:
            compact(store, vacuum=False, lock_timeout_s=Settings().storage.lock_timeout_s)
            counts["compacted"] += 1
    made.put(counts)


def write(source: Path, number: int, generation: int) -> Path:
    """A file whose every section, long enough to be a chunk, names its generation once."""
    chance = random.Random(number)
    sections = (
        f"## Part {part}\n\nsubject generation{generation} {' '.join(chance.choices(WORDS, k=70))}.\n"
        for part in range(SECTIONS)
    )
    path = source / f"document{number}.md"
    path.write_text("\n".join(sections), encoding="utf-8")
    return path


def add(store: Path, path: Path) -> None:
    answer = add_paths(store, Settings(), Request(paths=(path,), recursive=True, replace=True), Silent())
    if answer.failed or not exists(store):
        raise SystemExit(f"{path} could not be added: {answer.documents}")


def report(changes: dict[str, int], seen: list[Seen]) -> None:
    times = [each for one in seen for each in one.times_ms]
    cuts = statistics.quantiles(times, n=100)
    print(
        f"{len(times):,} answers to {len(seen)} clients; meanwhile "
        + ", ".join(f"{n} {what}" for what, n in changes.items())
    )
    print(f"median {statistics.median(times):.1f} ms, p95 {cuts[94]:.1f}, p99 {cuts[98]:.1f}")
    wrong = False
    for name in ("errors", "mixed", "went_back"):
        found = [each for one in seen for each in getattr(one, name)]
        print(f"{name.replace('_', ' ')}: {len(found)}", *found[:3], sep="\n    ")
        wrong = wrong or bool(found)
    if wrong:
        raise SystemExit(1)
