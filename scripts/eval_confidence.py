#!/usr/bin/env python3
"""Measure `confidence`: python scripts/eval_confidence.py [COLLECTION ...]

Each collection's store is asked its own questions, which it answers; the same with the documents left out that answer them, which
leaves what is about the matter and does not say it (if all that does was judged: cranfield and medline1033 have more); phrases of one
to three words that stand in a passage; questions of another collection, which it does not answer; and NONSENSE queries of three sorts:
invented words, keys struck at random, and words that have nothing to do with each other. First comes, on the half of the queries that
settings are tuned on, where the evidence of each lies; then, on the other half, what share of them is called none, weak and strong,
by both searches and by meaning alone. Needs ../shared/data/ir; the stores are kept in ~/.cache/kb-eval.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
from collections.abc import Collection as Several
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from ir_collections import COLLECTIONS, FOLDER, Collection, by_names
from ir_stores import Store, store_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from index.lexical import LexicalHits
from index.store import Reader, reading
from kb.confidence import confidence, evidence
from kb.ranking import Ranking
from kb.retrieve import Mode
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


SORTS = ("own", "left out", "phrase", "foreign", "nonsense")
MODES: tuple[Mode, ...] = ("hybrid", "semantic")
WORD = re.compile(r"[A-Za-z][a-z]{3,}")


class Asked(msgspec.Struct, frozen=True):
    sort: str
    query: str
    is_tuning: bool
    without: frozenset[int] = frozenset()
    """Chunks that are taken out of what is found."""


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


def asked_of(own: Collection, store: Store, reader: Reader) -> Iterator[Asked]:
    """What the store of a collection is asked."""
    # The next but one in the table is about something else for each of them.
    names = [collection.name for collection in COLLECTIONS]
    [other] = by_names([names[(names.index(own.name) + 2) % len(names)]])
    for sort, queries in (("own", own.queries()), ("foreign", other.queries())):
        for query in list(queries.values())[:MOST_QUERIES]:
            yield Asked(sort, query, _is_tuning(query))
    judged, chunks = own.judgements(), _chunks_of(store, reader)
    for query_id, query in list(own.queries().items())[:MOST_QUERIES]:
        answers = frozenset(chunk for document in judged[query_id] for chunk in chunks.get(document, ()))
        yield Asked("left out", query, _is_tuning(query), answers)
    for sort, queries_of_it in (("phrase", phrases(reader)), ("nonsense", nonsense())):
        for query in queries_of_it:
            yield Asked(sort, query, _is_tuning(query))


def _chunks_of(store: Store, reader: Reader) -> dict[str, list[int]]:
    """The chunks of each document, by the collection's id."""
    found: dict[str, list[int]] = {}
    rows = reader.connection.execute(
        "SELECT d.source_path, c.id FROM chunks c JOIN documents d ON d.id = c.document_id"
    )
    for path, chunk_id in rows:
        found.setdefault(store.ids[path], []).append(chunk_id)
    return found


def phrases(reader: Reader) -> Iterator[str]:
    """The same ones each time: words that follow each other in a passage, what stands between them left out."""
    dice = random.Random(3)
    texts = [text for (text,) in reader.connection.execute("SELECT text FROM chunks ORDER BY id")]
    for text in dice.choices(texts, k=MOST_QUERIES):
        words = WORD.findall(text)
        if words:
            first = dice.randrange(len(words))
            yield " ".join(words[first : first + dice.randint(1, 3)])


def _is_tuning(query: str) -> bool:
    return hashlib.sha256(query.encode()).digest()[0] % 2 == 1


Found = dict[tuple[str, str, bool], list[tuple[float, str]]]
"""Evidence and verdict of each query, by mode, sort and half."""


def measure(name: str) -> Found:
    [collection] = by_names([name])
    store = store_of(collection)
    found: Found = {}
    with reading(store.data_dir) as reader:
        searcher = Searcher(store.data_dir, Settings(), reader)
        for asked in asked_of(collection, store, reader):
            for mode in MODES:
                _, ranking = searcher.found(Request(query=asked.query, top=1, mode=mode))
                left = without(ranking, asked.without)
                found.setdefault((mode, asked.sort, asked.is_tuning), []).append((evidence(left), confidence(left)))
    return found


def without(ranking: Ranking, chunk_ids: Several[int]) -> Ranking:
    """What would have been found, as far as confidence is concerned, if these were not in the store."""
    if not chunk_ids:
        return ranking
    words = ranking.words
    kept = [at for at, chunk_id in enumerate(words.chunk_ids) if chunk_id not in chunk_ids]
    return Ranking(
        ranked=[hit for hit in ranking.ranked if hit[0] not in chunk_ids],
        words=LexicalHits(
            chunk_ids=[words.chunk_ids[at] for at in kept], scores=[words.scores[at] for at in kept],
            shares=[words.shares[at] for at in kept], total=len(kept), unknown=words.unknown,
        ),
        nearest=[hit for hit in ranking.nearest if hit[0] not in chunk_ids],
        held={chunk_id: share for chunk_id, share in ranking.held.items() if chunk_id not in chunk_ids},
        further=ranking.further, missing=ranking.missing, among=ranking.among, total=ranking.total,
    )  # fmt: skip


def main(names: Sequence[str]) -> None:
    found = {name: measure(name) for name in names}
    print(
        f"{'evidence, tuning half':<32}{'queries':>8}"
        + "".join(f"{f'{percent} %':>8}" for percent in (0, 5, 50, 95, 100))
    )
    for name, sorts in found.items():
        for sort in SORTS:
            values = sorted(value for value, _ in sorts["hybrid", sort, True])
            at = [values[min(len(values) - 1, len(values) * percent // 100)] for percent in (0, 5, 50, 95, 100)]
            print(f"{name + ', ' + sort:<32}{len(values):>8}" + "".join(f"{value:>8.3f}" for value in at))
    for mode in MODES:
        print(f"\n{f'{mode}: share, other half':<32}{'queries':>8}" + "".join(f"{word:>8}" for word in CONFIDENCES))
        for name, sorts in found.items():
            for sort in SORTS:
                said = [word for _, word in sorts[mode, sort, False]]
                shares = "".join(f"{said.count(word) / len(said):>8.3f}" for word in CONFIDENCES)
                print(f"{name + ', ' + sort:<32}{len(said):>8}{shares}")


if __name__ == "__main__":
    if not FOLDER.is_dir():
        sys.exit(f"the test collections are not at {FOLDER}: nothing to measure")
    main(sys.argv[1:] or [collection.name for collection in COLLECTIONS])
