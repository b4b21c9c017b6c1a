"""What `kb bench` answers: measures of a run, and what differs from another one (`kb.wire`)."""

from __future__ import annotations

import msgspec

from kb.wire import Answer


class BenchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Means over queries."""

    backend: str
    type: str | None
    """The queries of this type; null: all of them."""
    queries: int
    precision_at_k: float
    """Share of the first k documents that are relevant, each query with its own k."""
    recall_at_k: float
    """Share of the relevant documents that are among the first k."""
    mrr: float
    """Mean of 1 / rank of the first relevant document; 0 where none was returned."""
    ndcg_at_10: float
    latency_ms: float
    """Median, with the model loaded."""
    latency_p95_ms: float


class BenchOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one backend made of one query."""

    precision_at_k: float
    recall_at_k: float
    reciprocal_rank: float
    ndcg_at_10: float
    latency_ms: float
    ranks: dict[str, int]
    """Rank of each relevant document that was returned, by what the fixture calls it."""
    missed: tuple[str, ...]
    """Relevant documents that were not returned."""


class BenchQuery(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    query: str
    type: str
    """Empty if the fixture says none."""
    k: int
    outcomes: dict[str, BenchOutcome]
    """By backend."""


class BenchChange(msgspec.Struct, frozen=True, kw_only=True):
    """A query whose nDCG@10 is another than in the run compared with."""

    backend: str
    id: str
    query: str
    before: float
    after: float


class BenchComparison(msgspec.Struct, frozen=True, kw_only=True):
    with_run: str
    """The file of the earlier run."""
    ndcg_at_10: dict[str, tuple[float, float]]
    """By backend: then and now, over the queries that both runs hold."""
    better: tuple[BenchChange, ...]
    """Greatest change first, as are the next."""
    worse: tuple[BenchChange, ...]


class BenchAnswer(Answer, frozen=True):
    """A run; what `kb bench --save` writes, and `--compare` reads."""

    fixture: str
    backends: tuple[str, ...]
    summary: tuple[BenchSummary, ...]
    """For each backend a row of all queries, then one of each type."""
    queries: tuple[BenchQuery, ...]
    comparison: BenchComparison | None = None
