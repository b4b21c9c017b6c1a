"""What several queries found, as one ranking: a hit has most of its best score, and a part of its scores for the others. Pure.

By scores, not by ranks: an agent asks for the parts of a question, and the best passage of one part must come before what is 50th in
all of them, which reciprocal ranks with k = 60 would put first. Neither by the mean of the scores alone (CombSUM, Fox and Shaw
1994), which buries what answers one of two questions, nor by the best alone, which forgets what two halves of one question agree on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kb.ranking import Ranking
from kb.wire_search import FoundBy

BEST = 0.7
"""Of the best score; the others have the rest in equal parts, 0 where they did not find it. nDCG@10 of two questions, of two halves of one,
means of four collections: the mean 0.514 and 0.508, this 0.574 and 0.508, the best alone 0.602 and 0.450 (docs/ranking.md)."""
DIGITS = 9
"""More than scores have, so that the parts add up to the score in all of its digits."""


def together(rankings: Sequence[tuple[Ranking, float]]) -> dict[int, tuple[FoundBy, ...]]:
    """Who found each hit, best first, ties by id. Beside each ranking the score from which a hit counts."""
    found: defaultdict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for query, (ranking, min_score) in enumerate(rankings):
        for rank, (chunk_id, score) in enumerate(ranking.at_least(min_score), start=1):
            found[chunk_id].append((query, rank, score))
    parted = {chunk_id: _parts(by, len(rankings)) for chunk_id, by in found.items()}
    return dict(sorted(parted.items(), key=lambda item: (-score_of(item[1]), item[0])))


def score_of(found_by: Sequence[FoundBy]) -> float:
    return sum(by.contribution for by in found_by)


def _parts(by: Sequence[tuple[int, int, float]], queries: int) -> tuple[FoundBy, ...]:
    """What each of `by` (query, rank, score) contributes to a hit's score."""
    best = max(by, key=lambda one: one[2])
    first, rest = (BEST, (1 - BEST) / (queries - 1)) if queries > 1 else (1.0, 0.0)
    return tuple(
        FoundBy(query=one[0], rank=one[1], contribution=round(one[2] * (first if one is best else rest), DIGITS))
        for one in by
    )
