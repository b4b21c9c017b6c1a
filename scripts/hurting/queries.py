"""Ask a store random and hostile questions, with all options combined at random: `scripts/hurt queries`.

Each question is drawn from its own seed, `SEED/NUMBER`, and asked in this process (`kb.KnowledgeBase`), so that a fault is seen as it is
raised. Counted as faults:

    error      anything is raised but "the query is empty"; or the answer is no JSON, has more hits than were asked for, or a score
               that is no share
    slow       it takes more than 20 times the median of what is as much work by its kind: the same mode, as many queries, nothing to
               search (no document passes the filters), more than 50 hits in the answer or not, and those explained or not. What
               was slow is asked again, and its least time counts. Times are of the processor, over all threads, since a busy
               machine says nothing of a question. A median below 10 ms, which is what a search may take, counts as 10 ms; what
               is beyond 20 times the true one is counted and said

With --plain they are asked without options, by words and by meaning: all are of one kind then, and the true median counts.

Without --store it is the store of `scripts/bench search`, 22,000 chunks, where that was made; else, and with --light, one made of this
project's files with a model that looks its words up in a table (`light_store`), so that what is not the model's work is all that a question
takes, and more of them can be asked.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import re
import statistics
import traceback
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import msgspec
from bench_store import cache, made_of
from light_model import light_model

from hurting.arena import load, quick_folder
from hurting.questions import Asked
from kb import KnowledgeBase
from kb.errors import BadRequest

SLOW = 20
"""Times the median."""
LEAST_MEDIAN_S = 0.010
"""What a search may take: a median that is less counts as this."""
AGAIN = 3
NOTHING_ADMITTED = "no document passes the filters"
ROOT = Path(__file__).parents[2]
LIGHT_DIM = 16


class Asking:
    def __init__(self, kb: KnowledgeBase, least_median_s: float = LEAST_MEDIAN_S) -> None:
        self.kb = kb
        self.least_median_s = least_median_s
        self.times: defaultdict[str, list[tuple[float, Asked]]] = defaultdict(list)
        self.became: Counter[str] = Counter()
        self.faults = 0

    def ask(self, asked: Asked) -> None:
        started, hits, searched = process_time(), 0, True
        try:
            answer = self.kb.search(asked.query, **asked.options)
            hits, fault = len(hits_of(answer)), wrong(answer, asked)
            searched = NOTHING_ADMITTED not in answer.warnings
            how = "answered" if hits else "answered: nothing found"
        except BadRequest as error:
            how, fault = "refused as empty", "" if "the query is empty" in error.message else str(error)
        except Exception:  # noqa: BLE001  each is a fault of the product
            how, fault = "error", traceback.format_exc()[-1500:]
        self.times[asked.load(hits, searched=searched)].append((process_time() - started, asked))
        self.became[how] += 1
        if fault:
            self.say(asked, fault)

    def say(self, asked: Asked, fault: str) -> None:
        self.faults += 1
        print(f"  FAULT {asked.seed} {asked.query[:80]!a} {ascii(asked.options)[:300]}: {fault}", flush=True)

    def judge_times(self) -> None:
        """Say how slow the slowest are, and fault those beyond the bound that are so again."""
        beyond = 0
        for name, times in sorted(self.times.items()):
            median = statistics.median(took for took, _ in times)
            least = [
                (min(took, *(self._again(asked) for _ in range(AGAIN))) if took > SLOW * median else took, asked)
                for took, asked in times
            ]
            worst = max(least, key=lambda each: each[0])
            print(
                f"{name:<42} {len(times):>6}: median {median * 1000:.1f} ms, slowest {worst[0] * 1000:.1f} ms,"
                f" {worst[0] / median:.1f} times the median ({worst[1].seed})"
            )
            beyond += sum(took > SLOW * median for took, _ in least)
            for took, asked in least:
                if took > SLOW * max(median, self.least_median_s):
                    self.say(asked, f"slow: {took * 1000:.0f} ms, {took / median:.0f} times the median")
        print(f"{beyond} beyond {SLOW} times the median of their kind; {self._beyond_all()}")

    def _beyond_all(self) -> str:
        all_times = [took for times in self.times.values() for took, _ in times]
        median = statistics.median(all_times)
        count = sum(took > SLOW * median for took in all_times)
        return (
            f"whatever is asked for, the median is {median * 1000:.1f} ms, and {count} took more than {SLOW} times that"
        )

    def _again(self, asked: Asked) -> float:
        started = process_time()
        with suppress(Exception):  # which was said when it was asked first
            self.kb.search(asked.query, **asked.options)
        return process_time() - started


def hits_of(answer: Any) -> list[Any]:
    return list(answer.fused if hasattr(answer, "fused") else answer.results)


def wrong(answer: Any, asked: Asked) -> str:
    try:
        msgspec.json.encode(answer)
    except (UnicodeEncodeError, ValueError) as error:
        return f"no JSON: {error}"
    hits = hits_of(answer)
    if len(hits) > asked.options.get("top", 10):
        return f"{len(hits)} hits"
    bad = [hit.score for hit in hits if not 0 <= hit.score <= 1]
    return f"scores {bad[:3]}" if bad else ""


def words_of(kb: KnowledgeBase) -> list[str]:
    """Words that the store holds, in the order of their first use."""
    texts = [kb.get(document.document_id).text for document in kb.list().documents[:40]]
    return list(dict.fromkeys(word for text in texts for word in text.split()))[:4000]


def store_in(folder: Path) -> Path:
    made = cache() / f"search-{hashlib.sha256(made_of().encode()).hexdigest()[:12]}"
    if (made / "complete").exists():
        return made / "store"
    return light_store(folder)


def light_store(folder: Path) -> Path:
    """Of this project's pages and code, embedded by a `light_model`, which stays chosen (KB_MODEL) for the rest of the process."""
    pages, code = ROOT / "docs", [ROOT / name for name in ("kb", "index", "models")]
    texts = (
        path.read_text("utf-8")
        for part in (pages, *code)
        for path in part.rglob("*.*")
        if path.suffix in {".md", ".py"}
    )
    counts = Counter(word for text in texts for word in re.findall(r"\w+", text))
    os.environ["KB_MODEL"] = str(light_model(folder / "model", counts, LIGHT_DIM))
    with KnowledgeBase.open(folder / "store") as kb:
        kb.add(pages, recursive=True, tags=["new"], meta={"colour": "red"})
        kb.add(*code, recursive=True)
        print(f"a store of {kb.status().chunks} chunks", flush=True)
    return folder / "store"


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt queries", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--store", type=Path, help="a store's folder")
    parser.add_argument("--light", action="store_true", help="ask a store whose model costs next to nothing")
    parser.add_argument("--plain", action="store_true", help="without options")
    parser.add_argument("--any-speed", action="store_true", help="say nothing of times")
    parser.add_argument("--again", metavar="SEED/NUMBER", help="this one question")
    arguments = parser.parse_args(words)
    load()
    until, made = monotonic() + arguments.minutes * 60, light_store if arguments.light else store_in
    with quick_folder() as folder, KnowledgeBase.open(arguments.store or made(folder)) as kb:
        asking, known = Asking(kb, 0.0 if arguments.plain else LEAST_MEDIAN_S), words_of(kb)
        for _ in range(3):
            kb.search("what is loaded first")
        numbers = range(arguments.queries)
        for seed in [arguments.again] if arguments.again else [f"{arguments.seed}/{number}" for number in numbers]:
            if monotonic() > until:
                break
            asking.ask(Asked.of(seed, known, plain=arguments.plain))
        if not arguments.any_speed:
            asking.judge_times()
    said = ", ".join(f"{number} {how}" for how, number in sorted(asking.became.items()))
    print(f"{sum(asking.became.values())} queries: {said}; {asking.faults} faults")
    return 1 if asking.faults else 0
