"""Damage files of every kind and let the workers of `kb add` read them: `scripts/hurt inputs`.

Each file is drawn from its own seed, `SEED/TYPE/NUMBER`: a real or a made one (`hurting.samples`), damaged by bits, cuts, repeats,
splices and words of its format (`hurting.mutating`), or read as a type that it is not. It is read as `kb add` reads it, in worker
processes with a time limit and a memory limit (`kb.reading`). Counted as faults:

    trace      this process, the parent, got an exception
    crashed    a worker died
    hung       a file took longer than the limit, twice
    unforeseen the reader raised what it did not foresee, so that what is said of the file is a library's word, not ours
    unstorable what was read cannot be stored: no UTF-8, a NUL, a value of another type than promised, an empty chunk, or one of which
               the model would not see all
"""

from __future__ import annotations

import argparse
import math
import resource
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple

import msgspec

from hurting.arena import load, quick_folder
from hurting.mutating import MOST_BYTES_OF_TEXT, mutated
from hurting.samples import Sample, samples
from kb import reading
from kb.chunk import plan_for
from kb.chunk.context import MOST_CHARACTERS_A_TOKEN
from kb.detect import detect, supported_types
from kb.errors import KbError
from kb.model import shipped_tokenizer
from kb.reading import Job, Outcome, Passages, Unread
from kb.settings import Settings
from kb.types import ReadOptions, Source
from models.tokenizer import TokenCounter

SHARES = {
    "markdown": 9, "text": 8, "data": 18, "code": 18, "transcript": 10, "notebook": 8, "html": 4, "epub": 5, "docx": 4, "pptx": 4,
    "xlsx": 5, "pdf": 4, "image": 3,
}  # fmt: skip
"""Of 100 files, how many of each type: more of those that are read in less time, and some thousands of each in a full run."""
SLOW_SHARE = 0.04
"""Of the files of a type, how many are drawn from those that take long to read."""
MODEL_SEES = 254
"""Tokens of text that the default model takes."""
ROUND = 400
"""Files of a type in a row: a worker then loads the libraries of few."""
SAID_EVERY = 2_000
MISREAD_SHARE = 0.03
"""So many are read as a type that they are not."""


class Drawn(NamedTuple):
    """A damaged file, all of it from its seed."""

    seed: str
    name: str
    content: bytes
    doc_type: str | None
    """As it is to be read; None: as it is found to be."""

    @classmethod
    def of(cls, seed: str, known: dict[str, list[Sample]]) -> Drawn:
        chances, kind = Random(seed), seed.split("/")[1]
        sample, other = picked(chances, known[kind]), chances.choice(known[kind])
        content = mutated(chances, kind, sample.content, other.content)
        if chances.random() < MISREAD_SHARE:
            return cls(seed, sample.name, content[:MOST_BYTES_OF_TEXT], chances.choice(supported_types()))
        forced = kind if kind == "transcript" and chances.random() < 0.5 else None
        return cls(seed, sample.name, content, forced)

    def written(self, folder: Path) -> Path:
        path = folder / f"{self.seed.replace('/', '-')}-{self.name}"
        path.write_bytes(self.content)
        return path


def picked(chances: Random, known: list[Sample]) -> Sample:
    is_slow = chances.random() < SLOW_SHARE
    return chances.choice([sample for sample in known if sample.is_slow == is_slow] or known)


def job_of(path: Path, doc_type: str | None) -> Job:
    """Raises KbError, as `kb add` meets it before anything is read."""
    known = detect(path, doc_type=doc_type).doc_type
    return Job(
        source=Source(path=str(path), doc_type=known),
        options=ReadOptions(max_ocr_pages=2),
        plan=plan_for(known, Settings().chunking),
        tokenizer_path=str(shipped_tokenizer()),
        model_sees=MODEL_SEES,
    )


def alone(job: Job, limit_s: float) -> Outcome:
    """Read by a worker of its own, whatever its type."""
    with reading.Pool.started(1) as pool:
        _, outcome = pool.outcome(job, pool.schedule(reading.read_and_chunk, job, limit_s), limit_s)
        return outcome


class Reading:
    """What came of the files of one run."""

    def __init__(self, folder: Path, limit_s: float, workers: int, keep: Path | None) -> None:
        self.folder, self.limit_s, self.workers, self.keep = folder, limit_s, workers, keep
        self.became: Counter[tuple[str, str]] = Counter()
        self.faults = 0
        self.flying: dict[str, Drawn] = {}
        self.begun = monotonic()

    def jobs(self, files: Iterable[Drawn], until: float) -> Iterator[Job]:
        for drawn in files:
            if monotonic() > until:
                return
            path = drawn.written(self.folder)
            try:
                job = job_of(path, drawn.doc_type)
            except KbError as error:
                self._note(drawn, type(error).__name__)
                path.unlink()
            else:
                self.flying[str(path)] = drawn
                yield job

    def run(self, files: Iterable[Drawn], until: float = math.inf) -> None:
        for job, outcome in reading.read_all(self.jobs(files, until), workers=self.workers, timeout_s=self.limit_s):
            drawn = self.flying.pop(job.source.path)
            how, fault = judged(outcome)
            if how in {"hung", "crashed"}:  # once more: the machine may have been busy
                how, fault = judged(alone(job, 3 * self.limit_s))
            self._note(drawn, how, fault)
            Path(job.source.path).unlink()

    def _note(self, drawn: Drawn, how: str, fault: str = "") -> None:
        self.became[drawn.seed.split("/")[1], how] += 1
        if self.count % SAID_EVERY == 0:
            print(f"  {self.count:,} inputs in {monotonic() - self.begun:.0f} s, {self.faults} faults", flush=True)
        if fault:
            self.faults += 1
            print(f"  FAULT {drawn.seed} ({drawn.name}): {how}: {fault[:600]}", flush=True)
            if self.keep:
                drawn.written(self.keep)

    @property
    def count(self) -> int:
        return sum(self.became.values())

    def said(self) -> Iterator[str]:
        for kind in dict.fromkeys(kind for kind, _ in self.became):
            parts = {how: number for (each, how), number in sorted(self.became.items()) if each == kind}
            yield f"{kind:<10} {sum(parts.values()):>6}: " + ", ".join(
                f"{number} {how}" for how, number in parts.items()
            )


def judged(outcome: Outcome) -> tuple[str, str]:
    """What became of a file, and what is wrong about that."""
    if isinstance(outcome, Passages):
        fault = unstorable(outcome)
        return ("unstorable" if fault else "read"), fault
    for sign, how in (("its reader crashed", "crashed"), (" s to read", "hung"), ("please report", "unforeseen")):
        if sign in outcome.reason or sign in outcome.hint:
            return how, outcome.reason
    return "NoText" if outcome.no_text else outcome.error, wrong_line(outcome)


def unstorable(passages: Passages) -> str:
    try:
        msgspec.convert(msgspec.to_builtins(passages), Passages)
        msgspec.json.encode(passages)
    except (UnicodeEncodeError, TypeError, ValueError) as error:  # ValidationError is a ValueError
        return f"not what the types say, or no JSON: {error}"
    if not passages.chunks or not all(chunk.text.strip() for chunk in passages.chunks):
        return "a chunk without text"
    if any("\0" in chunk.embedded_text for chunk in passages.chunks):
        return "a NUL in a chunk"
    for chunk in passages.chunks:
        if (
            chunk.token_count > MODEL_SEES
        ):  # by its characters, white space between its parts included, which costs no tokens
            tokens, characters = counter().count(chunk.embedded_text), len(chunk.embedded_text)
            if tokens > MODEL_SEES or characters > 2 * MODEL_SEES * MOST_CHARACTERS_A_TOKEN:
                return f"a chunk of {tokens} tokens, {characters} characters"
    return ""


@cache
def counter() -> TokenCounter:
    return TokenCounter.load(shipped_tokenizer())


def wrong_line(outcome: Unread) -> str:
    """What is said of a file is one line, not too long for a terminal, and of what can be printed there."""
    said = f"{outcome.reason} {outcome.hint}"
    try:
        said.encode()
    except UnicodeEncodeError:
        return f"not UTF-8: {said!r}"
    return f"not one line: {said!r}" if "\n" in said or len(said) > 1000 else ""


def seeds(arguments: argparse.Namespace) -> list[str]:
    if arguments.again:
        return [arguments.again]
    kinds = {kind: SHARES[kind] for kind in arguments.type or SHARES}
    total = sum(kinds.values())
    shares = {kind: math.ceil(arguments.inputs * share / total) for kind, share in kinds.items()}
    drawn = [(number // ROUND, kind, number) for kind, share in shares.items() for number in range(share)]
    return [f"{arguments.seed}/{kind}/{number}" for _, kind, number in sorted(drawn)]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt inputs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000, help="in all, over all types")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--type", choices=SHARES, action="append", help="only this; may be repeated")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="that a file may take")
    parser.add_argument("--workers", type=int, default=2, help="that read at once")
    parser.add_argument("--again", metavar="SEED/TYPE/NUMBER", help="this one file")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the files with faults there")
    arguments = parser.parse_args(words)
    load()
    known = samples()
    with quick_folder() as folder:
        run = Reading(folder, arguments.limit, arguments.workers, arguments.keep)
        try:
            run.run((Drawn.of(seed, known) for seed in seeds(arguments)), monotonic() + arguments.minutes * 60)
        except Exception:  # noqa: BLE001  the parent must not get any
            traceback.print_exc()
            run.faults += 1
    for line in run.said():
        print(line)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory_mb, cpu_s = used.ru_maxrss // 1024, used.ru_utime + used.ru_stime
    print(f"{run.count} inputs; the workers took {cpu_s:.0f} s of CPU, the largest {memory_mb} MB; {run.faults} faults")
    return 1 if run.faults else 0
