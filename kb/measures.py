"""How good one ranking is: precision, recall, reciprocal rank, nDCG. Pure; a test holds them to `ir_measures`' values.

A ranking is the grade of each result, best result first, 0 where it is not relevant; `grades` are those of all relevant
documents, found or not. Not here: averages over queries (`kb.bench`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def precision(ranking: Sequence[int], k: int) -> float:
    """Share of the first k places that a relevant document holds; a place left empty holds none."""
    return _found(ranking, k) / k


def recall(ranking: Sequence[int], grades: Collection[int], k: int) -> float:
    """Share of the relevant documents that are among the first k results."""
    return _found(ranking, k) / len(grades)


def reciprocal_rank(ranking: Sequence[int]) -> float:
    """1 / the rank of the first relevant result; 0 where there is none."""
    return next((1 / rank for rank, grade in enumerate(ranking, start=1) if grade), 0.0)


def ndcg(ranking: Sequence[int], grades: Collection[int], k: int) -> float:
    """Discounted gain of the first k results, as a share of the best ranking's. Gain is the grade (trec_eval's `ndcg_cut`)."""
    return _gain(ranking[:k]) / _gain(sorted(grades, reverse=True)[:k])


def _found(ranking: Sequence[int], k: int) -> int:
    return sum(grade > 0 for grade in ranking[:k])


def _gain(ranking: Sequence[int]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(ranking, start=1))
