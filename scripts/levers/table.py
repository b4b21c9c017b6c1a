"""A table of nDCG@10, and hybrid search over arrays of shares and cosines: what every lever is measured with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from ir_collections import GOAL
from ir_scores import Floats, Scored, best

from kb.fuse import Found, Knobs, fuse
from kb.regularize import LOOKED_AT, regularize
from kb.settings import Fusion

CANDIDATES = 100
Ranking = Callable[[int], Sequence[int]]
"""The best chunks, as columns, of a query, as a row."""


class Table:
    """Rows of nDCG@10, printed as they are measured."""

    def __init__(self, collections: Sequence[Scored]) -> None:
        self.collections = collections
        self.goal = [number for number, one in enumerate(collections) if one.name in GOAL]
        print(
            f"{'':<34}"
            + "".join(f"{one.name[:9]:>10}" for one in collections)
            + f"{'five':>9}{'tuned on':>10}{'held out':>10}"
        )

    def row(self, label: str, ranking_of: Callable[[Scored], Ranking]) -> None:
        self.figures(label, lambda one: one.ndcg(ranking_of(one)))

    def figures(self, label: str, values_of: Callable[[Scored], Floats]) -> None:
        """A row of a measure that gives a number a query."""
        found = [values_of(one) for one in self.collections]
        five = [found[number].mean() for number in self.goal]
        halves = [
            [found[number][self.collections[number].tuning == tuning].mean() for number in self.goal]
            for tuning in (True, False)
        ]
        means = [float(np.mean(values)) for values in (five, *halves) if values]
        print(
            f"{label:<34}"
            + "".join(f"{values.mean():>10.4f}" for values in found)
            + "".join(f"{value:>9.4f}" for value in means),
            flush=True,
        )


def by(scores: Floats) -> Ranking:
    return lambda row: best(scores[row], CANDIDATES).tolist()


def hybrid(
    one: Scored,
    method: Fusion = "weighted",
    *,
    weight: float | Floats = 0.4,
    words: Floats | None = None,
    meaning: Floats | None = None,
    lifted: float = 0.5,
) -> Ranking:
    """As `kb.search` makes it, of other shares or cosines where they are given; `weight` of the meaning, or one a query; `lifted` as far by better hits."""
    ranked = fused(one, method, weight=weight, words=words, meaning=meaning, lifted=lifted)
    return lambda row: [column for column, _ in ranked(row)]


def fused(
    one: Scored,
    method: Fusion = "weighted",
    *,
    weight: float | Floats = 0.4,
    words: Floats | None = None,
    meaning: Floats | None = None,
    lifted: float = 0.5,
) -> Callable[[int], list[tuple[int, float]]]:
    """The same with the scores."""
    words = one.shares if words is None else words
    meaning = one.cosines if meaning is None else meaning

    def ranking(row: int) -> list[tuple[int, float]]:
        keyword, semantic = best(words[row], CANDIDATES), best(meaning[row], CANDIDATES)
        found = Found(
            keyword=list(zip(keyword.tolist(), words[row, keyword].tolist(), strict=True)),
            semantic=list(zip(semantic.tolist(), meaning[row, semantic].tolist(), strict=True)),
            cosines={int(column): float(meaning[row, column]) for column in np.setdiff1d(keyword, semantic)},
        )
        own = float(weight if isinstance(weight, float) else weight[row])
        hits = fuse(found, method, Knobs(semantic_weight=own))
        if method == "weighted" and lifted:
            vectors = one.vectors[[hit.id for hit in hits[:LOOKED_AT]]]
            hits = regularize(hits, np.maximum(vectors @ vectors.T, 0), lifted)
        return [(hit.id, hit.score) for hit in hits]

    return ranking
