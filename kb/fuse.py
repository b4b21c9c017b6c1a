"""Two rankings to one: reciprocal rank fusion. Pure; knows ranks, not scores."""

from __future__ import annotations

from collections.abc import Sequence


def reciprocal_ranks(rankings: Sequence[Sequence[int]], k: int) -> list[tuple[int, float]]:
    """Ids with their fused score, best first, ties by id.

    The score is the sum of 1 / (k + rank) over the rankings that hold the id (ranks from 1), divided by the most it could
    be: 1.0 is first in every ranking. Cormack, Clarke and Buettcher, SIGIR 2009.
    """
    most = len(rankings) / (k + 1)
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank) / most
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
