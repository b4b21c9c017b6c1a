"""A bench's run as lines for a person: a table, and the queries that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.cli.safe import one_line
from kb.wire_bench import BenchAnswer, BenchChange, BenchComparison

MOST_NAMED = 20
"""Queries named of the better and of the worse ones; -j names all."""


def benched(answer: BenchAnswer) -> Iterator[str]:
    width = max(len(one_line(row.type or "all")) for row in answer.summary)
    names = ("queries", "P@k", "R@k", "MRR", "nDCG@10", "ms", "ms p95")
    yield f"{'backend':<9} {'type':<{width}}" + "".join(f"{name:>9}" for name in names)
    for row in answer.summary:
        measures = (row.precision_at_k, row.recall_at_k, row.mrr, row.ndcg_at_10)
        figures = [f"{value:>9.3f}" for value in measures] + [
            f"{value:>9.1f}" for value in (row.latency_ms, row.latency_p95_ms)
        ]
        yield f"{row.backend:<9} {one_line(row.type or 'all'):<{width}}{row.queries:>9}" + "".join(figures)
    if answer.comparison:
        yield from _compared(answer.comparison)


def _compared(comparison: BenchComparison) -> Iterator[str]:
    yield ""
    for backend, (before, after) in comparison.ndcg_at_10.items():
        yield f"{backend}: nDCG@10 {before:.3f} in {one_line(comparison.with_run)}, now {after:.3f}"
    for verdict, changes in (("better", comparison.better), ("worse", comparison.worse)):
        yield from _changes(verdict, changes)
    if not comparison.better and not comparison.worse:
        yield "No query changed."


def _changes(verdict: str, changes: Sequence[BenchChange]) -> Iterator[str]:
    for change in changes[:MOST_NAMED]:
        said = f"{change.backend:<9} {one_line(change.id)}: {one_line(change.query)}"
        yield f"{verdict:<7}{change.before:>6.3f} -> {change.after:.3f}  {said}"
    if len(changes) > MOST_NAMED:
        yield f"{verdict:<7}... and {len(changes) - MOST_NAMED} more (-j names them)"
