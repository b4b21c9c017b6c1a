"""Three long files and 276 questions, each with the places that answer it: whether the right passage of a document is found.

A passage is relevant if it holds half of the words of such a place, in their order. The collections of `ir_collections` judge
documents, where it does not matter which of its passages was found.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
from ir_collections import FOLDER, Collection
from ir_scores import Scored, arrays
from ir_stores import store_of

from index.store import reading

NAME = "spans"
HELD = 0.5
"""Of the pairs of neighbouring words of a place: what is cut in two belongs to the passage that has more of it."""
FILES = {"chatlogs.md", "state_of_the_union.md", "wikitexts.md"}
"""The collection's other two are six times as long, and would take longer to embed than all but the largest of the others."""


class _Files(Collection, frozen=True):
    def files(self) -> Iterator[tuple[str, str, str]]:
        return (file for file in super().files() if file[1] in FILES)


_COLLECTION = _Files(name="chunking_eval", keyword=0.0, pages="corpora")


class _Question(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    text: str
    corpus: str
    """The name of its file, without the ending."""


def scored_spans() -> Scored:
    store = store_of(_COLLECTION)
    lines = (FOLDER / _COLLECTION.name / "queries.jsonl").read_bytes().splitlines()
    asked = (msgspec.json.decode(line, type=_Question) for line in lines)
    questions = [question for question in asked if f"{question.corpus}.md" in FILES]
    passages = dict(_passages(store.data_dir))
    places = _places()
    grades = [dict(_relevant(places[question.id], passages)) for question in questions]
    known = {question.id: question.text for question, found in zip(questions, grades, strict=True) if found}
    return arrays(NAME, store, known, grades=[found for found in grades if found], owner_of=str)


def _passages(data_dir: Path) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    with reading(data_dir) as reader:
        for chunk_id, text in reader.connection.execute("SELECT id, text FROM chunks"):
            yield str(chunk_id), _pairs(text)


def _places() -> dict[str, list[set[tuple[str, str]]]]:
    """The answers of each question, by its id."""
    found: dict[str, list[set[tuple[str, str]]]] = {}
    with (FOLDER / _COLLECTION.name / "spans.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            found.setdefault(row["query-id"], []).append(_pairs(row["text"]))
    return found


def _relevant(
    places: Iterable[set[tuple[str, str]]], passages: dict[str, set[tuple[str, str]]]
) -> Iterator[tuple[str, int]]:
    for place in places:
        for chunk_id, pairs in passages.items():
            if place and len(place & pairs) >= HELD * len(place):
                yield chunk_id, 1


def _pairs(text: str) -> set[tuple[str, str]]:
    return set(pairwise(text.split()))
