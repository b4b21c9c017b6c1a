"""How the two searches are made one: every method of `kb.fuse`, and a weight that follows the query."""

from __future__ import annotations

from functools import partial

import numpy as np
from ir_scores import Floats, Scored
from levers.table import Table, by, hybrid
from levers.words import searcher_of

from index import bm25, query
from index.store import reading
from kb.settings import Fusion


def fusion(table: Table) -> None:
    table.row("keyword", lambda one: by(one.shares))
    table.row("semantic", lambda one: by(one.cosines))
    table.row("rrf, k 60", lambda one: hybrid(one, "rrf"))
    table.row("rrf, k 60, bonus", lambda one: hybrid(one, "rrf-bonus"))
    methods: tuple[Fusion, ...] = ("min-max", "deviation", "weighted")
    for method in methods:
        for weight in (0.3, 0.4, 0.5, 0.6, 0.7):
            table.row(f"{method} {weight}", partial(hybrid, method=method, weight=weight))
    middle = np.concatenate([selectivity(one) for one in table.collections])
    for slope in (-0.2, -0.1, 0.1, 0.2):

        def weights(one: Scored, slope: float = slope) -> Floats:
            found: Floats = np.clip(0.4 + slope * (selectivity(one) - middle.mean()) / middle.std(), 0.05, 0.95)
            return found

        table.row(f"weighted 0.4 {slope:+} by selectivity", lambda one: hybrid(one, weight=weights(one)))


def selectivity(one: Scored) -> Floats:
    """Of each query: the mean inverse frequency of its words, as far as BM25's ceiling says."""
    with reading(one.store.data_dir) as reader:
        statistics = bm25.Statistics(searcher_of(reader))
        parsed = [query.parse(text) for text in one.texts]
        return np.array([bm25.plan(each, statistics).ceiling / max(1, len(each.words)) for each in parsed], np.float32)
