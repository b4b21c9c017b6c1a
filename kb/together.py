"""What several queries found, as one ranking: a hit's score is the mean of its scores, 0 where a query did not find it. Pure.

A mean of scores (CombSUM, Fox and Shaw 1994), not of ranks: an agent asks for the parts of a question, and the best passage of
one part must come before what is 50th in all of them, which reciprocal ranks with k = 60 would put first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kb.ranking import Ranking
from kb.wire import FoundBy

DIGITS = 9
"""More than scores have, so that the parts add up to the score in all of its digits."""


def together(rankings: Sequence[tuple[Ranking, float]]) -> dict[int, tuple[FoundBy, ...]]:
    """Who found each hit, best first, ties by id. Beside each ranking the score from which a hit counts."""
    found: defaultdict[int, list[FoundBy]] = defaultdict(list)
    for query, (ranking, min_score) in enumerate(rankings):
        for rank, (chunk_id, score) in enumerate(ranking.at_least(min_score), start=1):
            found[chunk_id].append(FoundBy(query=query, rank=rank, contribution=round(score / len(rankings), DIGITS)))
    return {
        chunk_id: tuple(by) for chunk_id, by in sorted(found.items(), key=lambda item: (-score_of(item[1]), item[0]))
    }


def score_of(found_by: Sequence[FoundBy]) -> float:
    return sum(by.contribution for by in found_by)
