"""The hits of a query, best first; and of a filter that admits many, those that pass: all hits are read, and these are kept.

Not here: whether a filter admits many (`index.lexical`), and the set of what it admits, which is asked for otherwise (`index.bm25.among`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, cast

import tantivy

from index import bm25, fields

if TYPE_CHECKING:
    from index.columns import Ids

HITS_A_DOCUMENT = 2
"""Or single chunk. Where there are more hits than that, it is the set after all: each of its documents takes 0.4 us, and each hit that is handed over 0.2."""

Found = tuple[float, tantivy.DocAddress]
"""A score, and where in the index its chunk is."""
BestFirst = Callable[[int], tuple[list[Found], int]]
"""What gives so many hits, best first, and says how many there are in all."""


def chunk_ids(searcher: tantivy.Searcher, hits: Sequence[Found]) -> list[int]:
    values = searcher.fast_field_values(fields.CHUNK_ID, [address for _, address in hits])
    return cast("list[int]", values)


def best(searcher: tantivy.Searcher, query: tantivy.Query, count: int) -> tuple[list[Found], int]:
    """So many of the hits, best first; and how many there are in all."""
    found = searcher.search(query, count)
    return found.hits, found.count  # type: ignore[attr-defined]  # missing from tantivy's stub


def best_first(searcher: tantivy.Searcher, plan: bm25.Plan, allowed: Ids, most: int) -> BestFirst | None:
    """As `best`, of those hits that are `allowed`, found by reading all; None where these are more than `most`, or can be expected to be."""
    import numpy as np

    from index.columns import is_among

    if _expected_hits(searcher, plan) > most:
        return None
    hits, count = best(searcher, plan.query, most)
    if count > most:
        return None
    ids = np.array(chunk_ids(searcher, hits), np.int64)
    found = list(compress(hits, is_among(ids, allowed).tolist()))
    return lambda count: (found[:count], len(found))


def _expected_hits(searcher: tantivy.Searcher, plan: bm25.Plan) -> float:
    """How many chunks match, if words come together by chance: to count them takes as long as to search."""
    chunks = max(1, searcher.num_docs)
    without = math.prod(1 - min(1.0, searcher.doc_freq(fields.BODY, token) / chunks) for token in plan.tokens)
    return chunks * (1 - without)
