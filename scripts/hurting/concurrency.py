"""Write and read a store from many processes at once, and see whether a history explains every answer: `scripts/hurt concurrency`.

Writers add, tag, untag and remove notes of their own, each with a word that no other has, as programs do (`kb.KnowledgeBase`) and as
people do (`kb add --note`); now and then one compacts. Readers ask for them by word, with and without a filter, and by list: programs with the store
open, the daemon through the launcher, and commands of their own. Each notes when it asked, what it was answered, and when
(`CLOCK_MONOTONIC`, the same for all). Then `hurting.history` looks for an order that explains all of it.

A search may be behind where its answer says so in a warning; such answers are counted and left out. Beside unexplained answers a fault
is each error, and whatever `kb doctor` finds at the end.

With --busy all are at it together for so many seconds of each minute, and rest for the others: that leaves a shared machine to others
and their calls as close to each other as without it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import monotonic, monotonic_ns, sleep
from typing import Any, NamedTuple

import tiny_model

from hurting.arena import load, quick_folder
from hurting.history import Change, Read, unexplained
from index import lexical
from kb import KnowledgeBase
from kb.errors import NotFound

BEHIND = "the store is being written"
ABSENT, PLAIN, TAGGED = "absent", "plain", "tagged"
PROGRAM = Path(sys.executable).with_name("kb")
"""The launcher, which asks the daemon."""
RECENT = 40
"""Readers ask for one of so many newest documents of a writer: where something may still be happening."""
MINUTE_S = 60


class Note(NamedTuple):
    word: str

    @classmethod
    def of(cls, writer: int, number: int) -> Note:
        return cls(f"zq{writer}x{number}z")

    @property
    def text(self) -> str:
        return f"red green {self.word}"


class Party:
    """A process that takes part; what it did and saw goes to a file of its own, a line each."""

    def __init__(self, folder: Path, name: str, seed: str, until: float, busy_s: float) -> None:
        self.folder, self.name, self.until, self.busy_s = folder, name, until, busy_s
        self.chances = Random(f"{seed}/{name}")
        self.log = (folder / f"{name}.log").open("w")

    def note(self, kind: str, *values: Any) -> None:
        self.log.write(json.dumps([kind, *values]) + "\n")
        self.log.flush()

    def run(self, step: Callable[[], None]) -> None:
        while (now := monotonic()) < self.until:
            if now % MINUTE_S >= self.busy_s:  # the clock is the same for all
                sleep(min(MINUTE_S - now % MINUTE_S, self.until - now))
                continue
            try:
                step()
            except Exception:  # noqa: BLE001  each is a fault of the product
                self.note("error", traceback.format_exc()[-1200:])

    def command(self, *words: str, program: tuple[str, ...] = (sys.executable, "-m", "kb")) -> Any:
        """What a command answers. Raises NotFound, RuntimeError."""
        done = subprocess.run(
            [*program, *words, "-j"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode == 4:
            raise NotFound(words[-1])
        if done.returncode:
            raise RuntimeError(f"{words} ended with {done.returncode}: {done.stdout[:300]} {done.stderr[-600:]}")
        return json.loads(done.stdout)


class Writer(Party):
    def __init__(self, folder: Path, number: int, seed: str, until: float, busy_s: float, *, by_command: bool) -> None:
        super().__init__(folder, f"writer{number}", seed, until, busy_s)
        self.number, self.count, self.by_command = number, 0, by_command
        self.there: dict[str, tuple[int, str]] = {}
        """Word -> id and state."""
        self.kb = KnowledgeBase.open(folder / "store")

    def step(self) -> None:
        way = self.chances.random()
        if not self.there or way < 0.4:
            self.add()
        elif way > 0.995:
            self.kb.compact()
        else:
            self.change(self.chances.choice(sorted(self.there)))

    def add(self) -> None:
        note = Note.of(self.number, self.count)
        self.count += 1
        called = monotonic_ns()
        if self.by_command:
            number = self.command("add", "--note", note.text)["documents"][0]["document_id"]
        else:
            number = self.kb.add_note(note.text).documents[0].document_id
        self.changed(note.word, PLAIN, called)
        self.there[note.word] = number, PLAIN
        (self.folder / f"{self.name}.count").write_text(f"{self.count}")

    def change(self, word: str) -> None:
        number, state = self.there[word]
        called = monotonic_ns()
        if self.chances.random() < 0.5:
            self.kb.remove(number)
            del self.there[word]
            return self.changed(word, ABSENT, called)
        (self.kb.tag if state == PLAIN else self.kb.untag)(number, "marked")
        state = TAGGED if state == PLAIN else PLAIN
        self.there[word] = number, state
        return self.changed(word, state, called)

    def changed(self, word: str, state: str, called: int) -> None:
        self.note("change", word, state, called, monotonic_ns())


class Reader(Party):
    """`way`: program, daemon or command."""

    def __init__(
        self, folder: Path, number: int, seed: str, until: float, busy_s: float, *, way: str, writers: int
    ) -> None:
        super().__init__(folder, f"{way}{number}", seed, until, busy_s)
        self.way, self.writers = way, writers
        lexical.MANY = 0  # so that a filter is answered from what is kept of chunks and their documents
        self.kb = KnowledgeBase.open(folder / "store")
        self.program = (str(PROGRAM),) if way == "daemon" else (sys.executable, "-m", "kb")

    def step(self) -> None:
        writer = self.chances.randrange(self.writers)
        counted = self.folder / f"writer{writer}.count"
        count = int((counted.read_text() or 0) if counted.exists() else 0)
        number = (
            max(0, count - self.chances.randrange(RECENT))
            if self.chances.random() < 0.8
            else self.chances.randrange(count + 1)
        )
        word = Note.of(writer, number).word
        called = monotonic_ns()
        ask = self.by_list if self.chances.random() < 0.15 else self.by_word
        seen, is_behind = ask(word)
        self.note("behind" if is_behind else "read", word, seen, called, monotonic_ns(), ask.__name__)

    def by_word(self, word: str) -> tuple[str, bool]:
        if self.way == "program":
            answer = self.kb.search(word, mode="keyword", types=self.chances.choice([[], ["note"]]))
            tags = [hit.source.tags for hit in answer.results if word in hit.text]
            return state_of(tags), any(BEHIND in warning for warning in answer.warnings)
        found = self.command("search", "--mode", "keyword", word, program=self.program)
        tags = [hit["source"]["tags"] for hit in found["results"] if word in hit["text"]]
        return state_of(tags), any(BEHIND in warning for warning in found["warnings"])

    def by_list(self, word: str) -> tuple[str, bool]:
        """The truth alone is asked, which is never behind."""
        if self.way == "program":
            return state_of(
                [each.tags for each in self.kb.list(top=1_000_000).documents if each.title.endswith(word)]
            ), False
        listed = self.command("list", "--all", program=self.program)["documents"]
        return state_of([each["tags"] for each in listed if each["title"].endswith(word)]), False


def state_of(tags: list[Any]) -> str:
    if len(tags) > 1:
        return f"{len(tags)} times"
    return ABSENT if not tags else TAGGED if "marked" in tags[0] else PLAIN


def take_part(kind: str, folder: str, number: int, when: tuple[str, float, float], options: dict[str, Any]) -> None:
    """`when`: the seed of the party's chances, when it ends, and of how many seconds of each minute it makes use."""
    party = (Writer if kind == "writer" else Reader)(Path(folder), number, *when, **options)
    party.run(party.step)


def parties(arguments: argparse.Namespace) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for number in range(arguments.writers):
        yield "writer", number, {"by_command": number == arguments.writers - 1}
    ways = ("program", "daemon", "program", "command")
    for number in range(arguments.readers):
        yield "reader", number, {"way": ways[number % len(ways)], "writers": arguments.writers}


def history(folder: Path) -> Iterator[list[Any]]:
    for path in sorted(folder.glob("*.log")):
        for line in path.read_text().splitlines():
            yield [path.stem, *json.loads(line)]


def judge(folder: Path) -> int:
    """Says what was done and found; returns how many faults."""
    changes, reads, faults = [], [], []
    became: Counter[str] = Counter()
    for by, kind, *values in history(folder):
        became[f"{by.rstrip('0123456789')} {kind}"] += 1
        if kind == "change":
            changes.append(Change(*values))
        elif kind == "read":
            word, seen, called, answered, way = values
            reads.append(Read(word, seen, called, answered, f"{by} {way}"))
        elif kind == "error":
            faults.append(f"{by}: {values[0]}")
    faults += unexplained(changes, reads)
    with KnowledgeBase.open(folder / "store") as kb:
        there = {each.title.rpartition(" ")[2] for each in kb.list(top=1_000_000, types=["note"]).documents}
    last = {change.key: change.state for change in sorted(changes, key=lambda change: change.answered)}
    wanted = {word for word, state in last.items() if state != ABSENT}
    faults += (
        [f"at the end lost: {sorted(wanted - there)}, too many: {sorted(there - wanted)}"] if wanted != there else []
    )
    doctor = subprocess.run([sys.executable, "-m", "kb", "doctor", "-j"], capture_output=True, text=True, check=False)
    faults += [f"doctor: {doctor.stdout[:600]}"] if doctor.returncode else []
    for fault in faults:
        print(f"  FAULT {fault[:1500]}", flush=True)
    print(", ".join(f"{number} {what}" for what, number in sorted(became.items())))
    return len(faults)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt concurrency", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--busy", type=float, default=MINUTE_S, help="seconds of each minute; the others they rest")
    parser.add_argument("--writers", type=int, default=3, help="the last one adds by commands")
    parser.add_argument("--readers", type=int, default=4, help="in turn programs, the daemon, programs, commands")
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args(words)
    load()
    with quick_folder() as folder:
        os.chdir(folder)
        model = tiny_model.write_model(folder / "model")
        os.environ |= {"KB_DATA_DIR": str(folder / "store"), "KB_MODEL": str(model), "KB_DAEMON": "on"}
        with KnowledgeBase.open(folder / "store") as kb:
            kb.add_content("a page, so that not all are notes")
        when = arguments.seed, monotonic() + arguments.minutes * MINUTE_S, arguments.busy
        context = get_context("spawn")
        running = [
            context.Process(target=take_part, args=(kind, str(folder), number, when, options))
            for kind, number, options in parties(arguments)
        ]
        for process in running:
            process.start()
        for process in running:
            process.join()
        faults = judge(folder) + sum(process.exitcode != 0 for process in running)
        subprocess.run([sys.executable, "-m", "kb", "daemon", "stop"], capture_output=True, check=False)
    print(
        f"{arguments.minutes:g} minutes, of each {arguments.busy:g} s, {arguments.writers} writers, {arguments.readers} readers;"
        f" {faults} faults"
    )
    return 1 if faults else 0
