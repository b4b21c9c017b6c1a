"""What two searches found to one ranking: by scores or by ranks, as `search.fusion` says. Pure.

Each method gives a hit what each search contributes to its score, in [0, 1]; docs/ranking.md has what they were measured at.

    weighted    a weighted mean of the share of BM25 and the cosine, as they are: says the same in every query
    min-max     the same mean, each score stretched so that the search's worst hit has 0 and its best 1
    deviation   the same mean, each score at its place among the search's hits, three standard deviations either way
    rrf         reciprocal ranks: 1 / (k + rank), summed. Cormack, Clarke and Buettcher, SIGIR 2009
    rrf-bonus   the same and a bonus for whatever is at the top of either search, as qmd adds it

Not here: where the hits come from (`kb.search`), and a second look at them by a reranker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, pstdev

import msgspec

from kb.settings import Fusion

Hits = Sequence[tuple[int, float]]
"""Chunk ids and scores."""
Scores = dict[int, float]
"""By chunk id."""

TOP_BONUS = {1: 0.05, 2: 0.02, 3: 0.02}
"""By the better of a hit's two ranks, beside reciprocal ranks of at most 2 / 61."""
DEVIATIONS = 3.0
"""Either way of the mean; beyond lies what counts as 0 and as 1."""
STEPS = 1_000_000
"""From 0 to 1, in which scores are shown and compared: hits whose scores differ less come in the order of their ids."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What both searches say, in any order."""

    keyword: Hits
    """Shares of BM25, in [0, 1]."""
    semantic: Hits
    """Cosines, in [0, 1]."""
    cosines: Mapping[int, float] = {}
    """Of hits by keyword that are not among those by meaning, where they are known: methods by score use them."""

    @property
    def ids(self) -> set[int]:
        return {item for item, _ in (*self.keyword, *self.semantic)}


class Knobs(msgspec.Struct, frozen=True, kw_only=True):
    semantic_weight: float = 0.4
    """Of methods by score, in [0, 1]; the other search has the rest."""
    rrf_k: int = 60


DEFAULTS = Knobs()


class Fused(msgspec.Struct, frozen=True, gc=False):
    """A hit, and what its score is the sum of."""

    id: int
    keyword: float
    semantic: float
    bonus: float = 0.0
    alike: float = 0.0
    """What hits like it add (`kb.regularize`)."""

    @property
    def score(self) -> float:
        return self.keyword + self.semantic + self.bonus + self.alike


def fuse(found: Found, method: Fusion, knobs: Knobs = DEFAULTS) -> list[Fused]:
    """Every hit of either search once, best first, ties by id."""
    keyword, semantic, bonus = METHODS[method](found, knobs)
    return best_first(
        [
            Fused(item, keyword.get(item, 0.0), semantic.get(item, 0.0), bonus.get(item, 0.0))
            for item in sorted(keyword.keys() | semantic.keys())
        ]
    )


def best_first(hits: list[Fused]) -> list[Fused]:
    """Those that tie, as scores are `shown`, in the order they have."""
    return sorted(hits, key=lambda hit: -int(hit.score * STEPS + 0.5))


def shown(score: float) -> float:
    """A score of at least 0 as answers have it. Not Python's `round`, for which 0.0000005 is 0: hits shown as equal stand in the order of their ids."""
    return int(score * STEPS + 0.5) / STEPS


Parts = tuple[Scores, Scores, Scores]
"""What the keyword search, the semantic search and the bonus contribute."""


def _weighted(found: Found, knobs: Knobs) -> Parts:
    return _mean(dict(found.keyword), {**found.cosines, **dict(found.semantic)}, knobs)


def _min_max(found: Found, knobs: Knobs) -> Parts:
    def stretched(hits: Hits, further: Mapping[int, float]) -> Scores:
        scores = [score for _, score in hits]
        low, high = min(scores, default=0.0), max(scores, default=1.0)
        return _scaled({**further, **dict(hits)}, low, high)

    return _mean(stretched(found.keyword, {}), stretched(found.semantic, found.cosines), knobs)


def _deviation(found: Found, knobs: Knobs) -> Parts:
    def placed(hits: Hits, further: Mapping[int, float]) -> Scores:
        scores = [score for _, score in hits] or [0.0]
        middle, reach = fmean(scores), DEVIATIONS * pstdev(scores)
        return _scaled({**further, **dict(hits)}, middle - reach, middle + reach)

    return _mean(placed(found.keyword, {}), placed(found.semantic, found.cosines), knobs)


def _scaled(scores: Scores, low: float, high: float) -> Scores:
    """`low` to 0, `high` to 1; where both are one, it is 1."""
    return {
        item: min(1.0, max(0.0, (score - low) / (high - low))) if high > low else float(score >= high)
        for item, score in scores.items()
    }


def _mean(keyword: Scores, semantic: Scores, knobs: Knobs) -> Parts:
    weight = knobs.semantic_weight
    return (
        {item: (1 - weight) * score for item, score in keyword.items()},
        {item: weight * score for item, score in semantic.items()},
        {},
    )


def _reciprocal(found: Found, knobs: Knobs) -> Parts:
    """Divided by the most they could be: 1 is first in both, 0.5 first in one and absent from the other."""
    most = 2 / (knobs.rrf_k + 1)
    keyword, semantic = (
        {item: 1 / (knobs.rrf_k + rank) / most for item, rank in _ranks(hits).items()}
        for hits in (found.keyword, found.semantic)
    )
    return keyword, semantic, {}


def _with_bonus(found: Found, knobs: Knobs) -> Parts:
    """As above, with the bonus in what they could be at most."""
    keyword, semantic, _ = _reciprocal(found, knobs)
    ranks = (_ranks(found.keyword), _ranks(found.semantic))
    best = {item: min(rank[item] for rank in ranks if item in rank) for item in found.ids}
    without = 2 / (knobs.rrf_k + 1)
    most = without + TOP_BONUS[1]
    return (
        {item: part * without / most for item, part in keyword.items()},
        {item: part * without / most for item, part in semantic.items()},
        {item: TOP_BONUS[rank] / most for item, rank in best.items() if rank in TOP_BONUS},
    )


def _ranks(hits: Hits) -> dict[int, int]:
    """From 1; equal scores by id."""
    ordered = sorted(hits, key=lambda hit: (-shown(hit[1]), hit[0]))
    return {item: rank for rank, (item, _) in enumerate(ordered, start=1)}


METHODS: dict[Fusion, Callable[[Found, Knobs], Parts]] = {
    "weighted": _weighted,
    "min-max": _min_max,
    "deviation": _deviation,
    "rrf": _reciprocal,
    "rrf-bonus": _with_bonus,
}
