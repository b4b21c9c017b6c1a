"""The nearest chunks where a chunk has several rows: its own and those of its windows. Pure.

A chunk's score is the mean of its own row's and its best window's; its own row's alone where it has no windows. No row of it scores
less than that mean and none of the others either: so the chunk's best row is at least as good as the chunk. Rows are looked at
best first, until as many chunks as are asked for are no worse than the last of them: any other chunk has only rows below that one,
and is below it itself, in float32 too, since rounding keeps the order.

Not here: how rows are scored (`index.quantized`), where windows come from (`index.windows`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.windows import NUMBER_BITS

Ids = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float32]

ROWS_A_CHUNK = 4
"""So many rows are looked at first for each chunk that is asked for, and as many times more where they do not suffice."""


class Scorer(NamedTuple):
    """A query, put to rows."""

    contenders: Callable[[Rows, int], Rows]
    """Those of rows, ascending, that may be among so many best of them or tie with these."""
    scores: Callable[[Rows], Scores]
    """nan where a row is damaged."""


def owners(row_ids: Ids) -> Ids:
    """The chunk of each row, whole or window; 0 of a dead one."""
    return np.where(row_ids < 0, -row_ids >> NUMBER_BITS, row_ids)


class Groups(NamedTuple):
    """Chunks with their rows."""

    chunk_ids: Ids
    """Ascending."""
    starts: Rows
    """Where the rows of each begin in `rows`: its own first, then those of its windows."""
    counts: Rows
    rows: Rows

    @classmethod
    def of_live(cls, row_ids: Ids) -> Groups:
        """Of all rows of the matrix. Windows of which the whole is dead are left out: their chunk is going."""
        live = np.flatnonzero(row_ids)
        chunks = owners(row_ids[live])
        order = np.lexsort((-row_ids[live], chunks))  # a chunk's own id is the only one above zero
        rows = live[order]
        chunk_ids, starts, counts = np.unique(chunks[order], return_index=True, return_counts=True)
        whole = row_ids[rows[starts]] > 0
        return cls(chunk_ids[whole], starts[whole], counts[whole], rows)

    def of(self, chunk_ids: Ids) -> Groups:
        """Of these chunks, ascending; those that have no rows are passed over."""
        places = np.searchsorted(self.chunk_ids, chunk_ids)
        places = places[places < len(self.chunk_ids)]
        places = places[self.chunk_ids[places] == chunk_ids[: len(places)]]
        counts = self.counts[places]
        starts = np.cumsum(counts) - counts
        there = np.repeat(self.starts[places] - starts, counts) + np.arange(counts.sum())
        return Groups(self.chunk_ids[places], starts, counts, self.rows[there])

    def scores(self, scorer: Scorer) -> Scores:
        """Of each chunk. A damaged window counts as none."""
        if not len(self.rows):
            return np.empty(0, np.float32)
        found = scorer.scores(self.rows).astype(np.float64)
        wholes = found[self.starts]
        found[self.starts] = np.where(self.counts > 1, -np.inf, wholes)
        best = np.fmax.reduceat(found, self.starts)
        best = np.where(np.isneginf(best), wholes, best)
        return ((wholes + best) / 2).astype(np.float32)


def nearest(live: Rows, row_ids: Ids, groups: Groups, scorer: Scorer, limit: int) -> tuple[Ids, Scores]:
    """Chunks of `groups`, with their scores, among them the `limit` best and all that tie with these; in no order.

    `live`: the rows of `groups`, ascending.
    """
    count = limit
    while True:
        count *= ROWS_A_CHUNK
        rows, bar = _best(live, scorer, count)
        found = groups.of(np.unique(owners(row_ids[rows])))
        scores = found.scores(scorer)
        if len(rows) == len(live) or np.count_nonzero(scores >= bar) >= limit:
            return found.chunk_ids, scores


def _best(rows: Rows, scorer: Scorer, count: int) -> tuple[Rows, float]:
    """The `count` best rows with all that tie with the last of them, and its score: all others are below it."""
    if len(rows) <= count:
        return rows, -np.inf
    near = scorer.contenders(rows, count)
    scores = scorer.scores(near)
    bar = -np.partition(-scores, count - 1)[count - 1]
    return (near, -np.inf) if np.isnan(bar) else (near[scores >= bar], float(bar))  # nan: the sound ones are fewer
