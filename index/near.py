"""Which rows may be among the best: one pass over their codes, and intervals in which their scores lie.

Of a query and a row as codes (`index.quantized`, of all dimensions or, `index.leading`, of some), in units of their own,

    score  =  scale · step · (a·c)  ±  (width · spread + reach)

with what differs from row to row in `scale` and `width`. Only a row whose upper end reaches the k-th best lower end can be
among the first k. Where a second question is put to the rows that the first one leaves, its narrow intervals raise that bar at once
to where it belongs, and the first one's need not be narrow. Ends are float32; whoever makes a `Question` puts into `spread` and `reach`
what that rounds away. By what is compiled, where it is (`index.native`), else by numpy and numkong: both keep all that may be needed,
and need not keep the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

import numpy as np

from index import native
from index.quantized import (
    FLOAT32_MAX,
    FLOAT32_TINY,
    SPARSE,
    UPWARD,
    Asked,
    Coded,
    Rows,
    Vectors,
)

BLOCK_ROWS = 65536
"""Rows that numpy looks at together: as many as keep it busy with one call, and their arrays in the cache. A quarter of them takes a fifth longer."""
GROUP_ROWS = 32
"""Their highest stands for them where a bar is looked for: to sort out a whole block takes ten times as long."""
LARGEST = FLOAT32_MAX / 8
"""Leaves room for what ends are made of."""


class Question(NamedTuple):
    """A query as it is put to coded rows."""

    asked: Asked
    coded: Coded
    widths: Vectors
    """float32 (n,), above zero; infinite of a row that is to be kept whatever is asked."""
    step: float
    """The query's, in units of the ends."""
    spread: float
    reach: float


Portions = native.Portions | Iterator[Rows]
"""Of the rows that are looked at: `portions_of`."""


class Near(NamedTuple):
    """Rows, ascending, that may be among the best as far as those looked at tell."""

    rows: Rows
    upper: Vectors
    """Ends of their intervals, float32."""
    lower: Vectors
    """The highest ends of their intervals, as many as are asked for or all, in no order."""


def contenders(coded: Coded, rows: Rows, query: Vectors, limit: int) -> Rows:
    """Those of `rows`, ascending, that may be among the `limit` best of them or tie with these, by all of their codes."""
    question = question_of(coded, query)
    return rows if question is None else best([near(question, None, portions_of(rows), limit)], limit)


def question_of(coded: Coded, query: Vectors) -> Question | None:
    """In units of the query's step. None where an end, or the score itself, might be beyond float32: the query or a row is far from unit
    length, or not all numbers.
    """
    asked = Asked(query)
    if not asked.size * coded.longest * max(1.0, 1 / asked.step) < LARGEST:
        return None
    spread, reach = asked.size / asked.step * UPWARD, asked.reach(coded.longest) / asked.step * UPWARD + FLOAT32_TINY
    return Question(asked, coded, coded.errors, 1.0, spread, reach)


def portions_of(rows: Rows, threads: int = 1) -> Portions:
    """`rows`, ascending, for one look: each of the threads takes the next portion as long as there is one, so that none waits long for another."""
    return native.Portions(rows) if native.compiled() else iter(_blocks(rows, threads))


def near(first: Question, second: Question | None, portions: Portions, limit: int) -> Near:
    """Look for the `limit` best of the rows that this thread takes; by the second question, in the same units, at those that the first one leaves."""
    compiled = native.compiled()
    if compiled is None or not isinstance(portions, native.Portions):
        return _by_numpy(first, second, cast("Iterator[Rows]", portions), limit)
    return Near(*compiled.near(_compiled(first), None if second is None else _compiled(second), portions, limit))


def _compiled(question: Question) -> native.Question:
    asked, coded, widths, *numbers = question
    codes, scales = coded.codes, coded.scales
    places = codes.ctypes.data, codes.shape[1], scales.ctypes.data, widths.ctypes.data, asked.codes.ctypes.data
    return native.Question(*places, *numbers)


def best(parts: Iterable[Near], limit: int) -> Rows:
    """The rows of all parts that reach the `limit`-th best lower end of all, ascending."""
    rows, upper, lower = (np.concatenate(each) for each in zip(*parts, strict=True))
    return np.sort(rows[_reaching(upper, kth_best(lower, limit))])


def kth_best(ends: Vectors, limit: int) -> float:
    """The `limit`-th highest of `ends`: of fewer, minus infinity."""
    return float(np.partition(ends, len(ends) - limit)[len(ends) - limit]) if len(ends) >= limit else -math.inf


@np.errstate(over="ignore", invalid="ignore")
def _by_numpy(first: Question, second: Question | None, blocks: Iterator[Rows], limit: int) -> Near:
    """Few operations: where caches have gone cold each costs 30 to 100 us, whatever it is given."""
    bar = -math.inf
    found: list[Near] = [Near(np.empty(0, np.intp), np.empty(0, np.float32), np.empty(0, np.float32))]
    for block in blocks:
        middles, reaches = _parts(first, block)
        if bar == -math.inf:
            bar = _reached(middles - reaches, limit)
        upper = middles + reaches
        kept = _reaching(upper, bar)
        if second is None:
            middles, reaches, kept = middles[kept], reaches[kept], block[kept]
        else:
            kept, bar = _left(second, block[kept], upper[kept], limit, bar)
            middles, reaches = _parts(second, kept)
        found.append(Near(kept, middles + reaches, middles - reaches))
        bar = max(bar, kth_best(np.concatenate([each.lower for each in found]), limit))
    return Near(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _left(second: Question, rows: Rows, upper: Vectors, limit: int, bar: float) -> tuple[Rows, float]:
    """Those of `rows` that still reach the bar when it is where the second question puts it for the most promising of them; and it."""
    if len(rows) > limit:
        promising = np.sort(rows[np.argpartition(upper, len(rows) - limit)[len(rows) - limit :]])
        middles, reaches = _parts(second, promising)
        bar = max(bar, kth_best(middles - reaches, limit))
        rows = rows[_reaching(upper, bar)]
    return rows, bar


def _blocks(rows: Rows, threads: int) -> list[Rows]:
    """Those that are looked at together: BLOCK_ROWS, or SPARSE times fewer where they have to be gathered; one for each thread at least."""
    span = min(int(rows[-1]) + 1 - int(rows[0]), len(rows) * SPARSE) if len(rows) else 0
    return np.array_split(rows, min(len(rows), max(threads, math.ceil(span / BLOCK_ROWS)))) if span else []


def _parts(question: Question, rows: Rows) -> tuple[Vectors, Vectors]:
    """The middles of the intervals, and how far their ends are from them."""
    import numkong as nk

    if not len(rows):
        return np.empty(0, np.float32), np.empty(0, np.float32)
    asked, coded, widths, step, spread, reach = question
    first, end = int(rows[0]), int(rows[-1]) + 1
    gathered = len(rows) * SPARSE < end - first
    codes = coded.codes.take(rows, axis=0) if gathered else coded.codes[first:end]
    of: Rows | slice = rows if gathered else slice(first, end)
    middles: Vectors = np.asarray(nk.cdist(asked.codes, codes, "dot", out_dtype="float32"))[0]
    middles *= coded.scales[of]
    middles *= np.float32(step)
    reaches = widths[of] * np.float32(spread)
    reaches += np.float32(reach)
    if len(middles) == len(rows):
        return middles, reaches
    return middles[rows - first], reaches[rows - first]


def _reached(lower: Vectors, limit: int) -> float:
    """What at least `limit` of the ends reach, as seen at a glance: so many groups have one that does."""
    groups = len(lower) // GROUP_ROWS
    if groups < limit:
        return -math.inf
    # A group is every `groups`-th row: whole rows of an array are compared at once, ten times faster than neighbours are.
    highest = lower[: groups * GROUP_ROWS].reshape(GROUP_ROWS, groups).max(axis=0)
    return float(np.partition(highest, groups - limit)[groups - limit])


def _reaching(upper: Vectors, bar: float) -> Rows:
    """Which of the ends are not below `bar`."""
    return np.flatnonzero(~(upper < np.float32(bar)))
