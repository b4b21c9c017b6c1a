#!/usr/bin/env python3
"""Measure `confidence`: python scripts/eval_confidence.py [COLLECTION ...]

Each collection's store is asked its own questions, which it answers; questions of another collection, which it does not; and
NONSENSE queries of three sorts: invented words, keys struck at random, and words that have nothing to do with each other. First
comes, on the half of the queries that settings are tuned on, where the evidence of each lies; then, on the other half, what share
of them is called none, weak and strong. Needs ../shared/data/ir; the stores are kept in ~/.cache/kb-eval.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from ir_collections import COLLECTIONS, FOLDER, by_names
from ir_stores import store_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from index.store import reading
from kb.confidence import confidence, evidence
from kb.search import Request, Searcher
from kb.settings import Settings
from kb.wire_search import CONFIDENCES

NONSENSE = 50
MOST_QUERIES = 250
"""Of each sort, a store."""
SYLLABLES = [
    "ba",
    "blo",
    "crun",
    "dax",
    "fez",
    "gri",
    "hov",
    "jup",
    "kla",
    "lem",
    "mog",
    "nix",
    "orp",
    "plu",
    "quib",
    "rask",
    "snor",
    "tev",
    "ulm",
    "vax",
    "wug",
    "xil",
    "yob",
    "zan",
    "flim",
    "grob",
    "sket",
]
ROWS_OF_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
THINGS = [
    "purple",
    "monkey",
    "dishwasher",
    "banana",
    "umbrella",
    "trombone",
    "pickle",
    "lighthouse",
    "velvet",
    "penguin",
    "saxophone",
    "marshmallow",
    "hammock",
    "teapot",
    "giraffe",
    "skateboard",
    "pancake",
    "chandelier",
    "walrus",
    "bagpipe",
    "cactus",
    "origami",
    "doughnut",
    "accordion",
    "flamingo",
    "kazoo",
    "waffle",
    "mermaid",
    "trampoline",
]


class Asked(msgspec.Struct, frozen=True):
    sort: str
    query: str
    is_tuning: bool


def nonsense() -> Iterator[str]:
    """The same ones each time, the three sorts in turn."""
    dice = random.Random(5)
    for number in range(NONSENSE):
        if number % 3 == 0:
            words = ["".join(dice.choices(SYLLABLES, k=dice.randint(2, 3))) for _ in range(dice.randint(2, 6))]
        elif number % 3 == 1:
            words = [
                "".join(dice.choice(dice.choice(ROWS_OF_KEYS)) for _ in range(dice.randint(4, 10))) for _ in range(4)
            ]
        else:
            words = dice.sample(THINGS, dice.randint(3, 5))
        yield " ".join(words)


def asked_of(name: str) -> Iterator[Asked]:
    """What the store of a collection is asked."""
    [own] = by_names([name])
    # The next but one in the table is about something else for each of them.
    names = [collection.name for collection in COLLECTIONS]
    [other] = by_names([names[(names.index(name) + 2) % len(names)]])
    for sort, queries in (("own", own.queries()), ("foreign", other.queries())):
        for query in list(queries.values())[:MOST_QUERIES]:
            yield Asked(sort, query, _is_tuning(query))
    for query in nonsense():
        yield Asked("nonsense", query, _is_tuning(query))


def _is_tuning(query: str) -> bool:
    return hashlib.sha256(query.encode()).digest()[0] % 2 == 1


def measure(name: str) -> dict[tuple[str, bool], list[tuple[float, str]]]:
    """Evidence and verdict of each query, by sort and half."""
    store = store_of(by_names([name])[0])
    found: dict[tuple[str, bool], list[tuple[float, str]]] = {}
    with reading(store.data_dir) as reader:
        searcher = Searcher(store.data_dir, Settings(), reader)
        for asked in asked_of(name):
            _, ranking = searcher.found(Request(query=asked.query, top=1))
            verdict = evidence(ranking), confidence(ranking)
            found.setdefault((asked.sort, asked.is_tuning), []).append(verdict)
    return found


def main(names: Sequence[str]) -> None:
    found = {name: measure(name) for name in names}
    print(
        f"{'evidence, tuning half':<32}{'queries':>8}"
        + "".join(f"{f'{percent} %':>8}" for percent in (0, 5, 50, 95, 100))
    )
    for name, sorts in found.items():
        for sort in ("own", "foreign", "nonsense"):
            values = sorted(value for value, _ in sorts[sort, True])
            at = [values[min(len(values) - 1, len(values) * percent // 100)] for percent in (0, 5, 50, 95, 100)]
            print(f"{name + ', ' + sort:<32}{len(values):>8}" + "".join(f"{value:>8.3f}" for value in at))
    print(f"\n{'share of queries, other half':<32}{'queries':>8}" + "".join(f"{word:>8}" for word in CONFIDENCES))
    for name, sorts in found.items():
        for sort in ("own", "foreign", "nonsense"):
            said = [word for _, word in sorts[sort, False]]
            shares = "".join(f"{said.count(word) / len(said):>8.3f}" for word in CONFIDENCES)
            print(f"{name + ', ' + sort:<32}{len(said):>8}{shares}")


if __name__ == "__main__":
    if not FOLDER.is_dir():
        sys.exit(f"the test collections are not at {FOLDER}: nothing to measure")
    main(sys.argv[1:] or [collection.name for collection in COLLECTIONS])
