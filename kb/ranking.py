"""What a search found, before it is an answer: chunk ids in their order, and what was said of each on the way. Pure values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from index.lexical import NO_HITS, LexicalHits
from kb.fuse import Fused
from kb.rerank import Blended

HALF_A_DIGIT = 5e-7
"""Scores are shown rounded, and whoever takes the least one shown for a limit means that hit too."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Chunk ids best first with their scores, and what each search said of them."""

    ranked: list[tuple[int, float]]
    words: LexicalHits = NO_HITS
    nearest: list[tuple[int, float]] = []
    """By meaning, with their cosines, best first."""
    held: dict[int, float] = {}
    """Shares of the query's words in the nearest ones, where only meaning was searched: for `confidence` alone."""
    missing: float = 0.0
    """How much of the query's weight names have that no chunk holds: in [0, 1]."""
    among: int = 0
    """How many vectors the nearest are the nearest of."""
    further: dict[int, float] = {}
    """Cosines of what was found by its words and is not among the nearest."""
    fused: Sequence[Fused] = ()
    """Parts of the scores, where two searches were fused; best first."""
    blended: Mapping[int, Blended] = {}
    """Where a reranker read them; then `ranked` is in its order."""
    total: int

    def at_least(self, min_score: float) -> list[tuple[int, float]]:
        """Those that score so much, as scores are shown."""
        if not min_score:
            return self.ranked
        return [hit for hit in self.ranked if hit[1] >= min_score - HALF_A_DIGIT]

    @cached_property
    def shares(self) -> dict[int, float]:
        return dict(zip(self.words.chunk_ids, self.words.shares, strict=True))

    @cached_property
    def cosines(self) -> dict[int, float]:
        return {**self.further, **dict(self.nearest)}


NOTHING = Ranking(ranked=[], total=0)
