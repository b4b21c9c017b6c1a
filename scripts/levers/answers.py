"""What becomes of rankings: how many hits of a document a page holds, and several queries as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, zip_longest

import msgspec
import numpy as np
from ir_scores import AT, Floats, Scored, shares
from ir_vectors import queries_embedded
from levers.table import Table, fused, hybrid
from levers.words import changed

from index.store import reading
from kb import hits, measures
from kb.ranking import Ranking
from kb.together import together

Ranked = list[tuple[int, float]]
"""Columns with their scores, best first."""


def page(table: Table) -> None:
    """Of a page of ten hits; a document counts where it is first seen, and what it has after that fills places for nothing."""
    for limit in (1, 2, 3, 5, AT):
        with changed((hits, "PER_DOCUMENT", limit)):
            table.figures(f"at most {limit} of a document", _pages)


def _pages(one: Scored) -> Floats:
    ranking = hybrid(one)
    return np.array([_page(one, row, ranking(row)) for row in range(len(one.texts))], np.float32)


def _page(one: Scored, row: int, ranking: Sequence[int]) -> float:
    owned = (((column, 0.0), one.documents[column]) for column in ranking)
    left = dict(one.grades[row])
    gains = [left.pop(one.owners[column], 0) for column, _ in hits._spread(iter(owned), AT)]  # noqa: SLF001  it is measured
    return measures.ndcg(gains, one.grades[row].values(), AT)


def queries(table: Table) -> None:
    """Two questions at once, where the answers of both are wanted; and one question in two halves."""
    for label, way in WAYS.items():
        table.figures(f"two questions: {label}", partial(_two, way=way))
    halves = {one.name: (part(one, 0), part(one, 1)) for one in table.collections}
    table.row("whole question", hybrid)
    for label, way in WAYS.items():

        def ranking(one: Scored, way: Way = way) -> Callable[[int], list[int]]:
            ranked = [fused(half) for half in halves[one.name]]
            return lambda row: way([half(row) for half in ranked])

        table.row(f"its halves: {label}", ranking)


def part(one: Scored, half: int) -> Scored:
    """The collection, asked only one half of the words of each question."""
    texts = []
    for text in one.texts:
        words = text.split()
        middle = (len(words) + 1) // 2
        texts.append(" ".join(words[middle:] if half and len(words) > 1 else words[:middle]))
    vectors = queries_embedded(texts)
    with reading(one.store.data_dir) as reader:
        found = shares(reader.lexical(), texts, one.chunk_ids)
    return msgspec.structs.replace(
        one, texts=tuple(texts), shares=found, query_vectors=vectors, cosines=np.maximum(vectors @ one.vectors.T, 0)
    )


def _two(one: Scored, way: Way) -> Floats:
    """Each question beside the one after it."""
    ranked = fused(one)
    found = []
    for row in range(len(one.texts)):
        other = (row + 1) % len(one.texts)
        grades = {**one.grades[other], **one.grades[row]}
        documents = dict.fromkeys(one.owners[column] for column in way([ranked(row), ranked(other)]))
        found.append(measures.ndcg([grades.get(document, 0) for document in documents], grades.values(), AT))
    return np.array(found, np.float32)


def _mean(rankings: Sequence[Ranked]) -> list[int]:
    """As `kb search --also` does it."""
    return list(together([(Ranking(ranked=ranked, total=len(ranked)), 0.0) for ranked in rankings]))


def _led(share: float) -> Way:
    """The greatest of a hit's two scores has this share, the other one the rest."""

    def ranked(rankings: Sequence[Ranked]) -> list[int]:
        scores: defaultdict[int, list[float]] = defaultdict(list)
        for column, score in chain.from_iterable(rankings):
            scores[column].append(score)
        found = {column: share * max(own) + (1 - share) * (sum(own) - max(own)) for column, own in scores.items()}
        return sorted(found, key=lambda column: (-found[column], column))

    return ranked


def _reciprocal(rankings: Sequence[Ranked]) -> list[int]:
    sums: defaultdict[int, float] = defaultdict(float)
    for ranked in rankings:
        for rank, (column, _) in enumerate(ranked, start=1):
            sums[column] += 1 / (60 + rank)
    return sorted(sums, key=lambda column: (-sums[column], column))


def _in_turns(rankings: Sequence[Ranked]) -> list[int]:
    turns = zip_longest(*([column for column, _ in ranked] for ranked in rankings))
    return [column for column in dict.fromkeys(chain.from_iterable(turns)) if column is not None]


Way = Callable[[Sequence[Ranked]], list[int]]
WAYS: dict[str, Way] = {
    "mean of scores": _mean,
    "0.6 of the greatest": _led(0.6),
    "0.7 of the greatest": _led(0.7),
    "0.8 of the greatest": _led(0.8),
    "0.9 of the greatest": _led(0.9),
    "greatest score": _led(1.0),
    "reciprocal ranks": _reciprocal,
    "in turns": _in_turns,
}
