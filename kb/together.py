"""What several queries found, as one ranking: a hit has most of its best score, and a part of its scores for the others. Pure.

By scores, not by ranks: an agent asks for the parts of a question, and the best passage of one part must come before what is 50th in
all of them, which reciprocal ranks with k = 60 would put first. Neither by the mean of the scores alone (CombSUM, Fox and Shaw
1994), which buries what answers one of two questions, nor by the best alone, which forgets what two halves of one question agree on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from kb.ranking import Ranking
from kb.wire_search import FoundBy

BEST = 0.7
"""Of the best score; the others have the rest in equal parts, 0 where they did not find it. nDCG@10 of two questions, of two halves of one,
means of four collections: the mean 0.514 and 0.508, this 0.574 and 0.508, the best alone 0.602 and 0.450 (docs/ranking.md)."""
DIGITS = 9
"""More than scores have, so that the parts add up to the score in all of its digits."""


class Together(NamedTuple):
    """A hit of several queries. What each of them adds is worked out where it is shown: thousands are ranked where ten are."""

    score: float
    by: Sequence[tuple[int, int, float]]
    """Query, rank and score there."""
    shares: tuple[float, float]
    """Of the best score, and of each other one."""

    @property
    def found_by(self) -> tuple[FoundBy, ...]:
        contributions = zip(self.by, _contributions(self.by, self.shares), strict=True)
        return tuple(FoundBy(query=query, rank=rank, contribution=part) for (query, rank, _), part in contributions)


def together(rankings: Sequence[tuple[Ranking, float]]) -> dict[int, Together]:
    """Every hit, best first, ties by id. Beside each ranking the score from which a hit counts."""
    found: defaultdict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for query, (ranking, min_score) in enumerate(rankings):
        for rank, (chunk_id, score) in enumerate(ranking.at_least(min_score), start=1):
            found[chunk_id].append((query, rank, score))
    shares = (BEST, (1 - BEST) / (len(rankings) - 1)) if len(rankings) > 1 else (1.0, 0.0)
    order = sorted([(-sum(_contributions(by, shares)), chunk_id) for chunk_id, by in found.items()])
    return {chunk_id: Together(-score, found[chunk_id], shares) for score, chunk_id in order}


def _contributions(by: Sequence[tuple[int, int, float]], shares: tuple[float, float]) -> list[float]:
    of_best, of_others = shares
    if len(by) == 1:
        return [round(by[0][2] * of_best, DIGITS)]
    best = max(by, key=itemgetter(2))
    return [round(one[2] * (of_best if one is best else of_others), DIGITS) for one in by]
