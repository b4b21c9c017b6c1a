"""Rows by their leading dimensions: a first look at large matrices, at a part of their codes, that loses nothing.

Real vectors lie close to fewer dimensions than they have. Nearly all of a vector's squared length is in the space of the first two thirds
of their principal axes. With L axes of that space, (m, dim), rows orthonormal, and x what is outside of it,

    q·v  =  Lq·Lv + qx·vx        and by Cauchy-Schwarz        |qx·vx|  <=  |qx|·|vx|

Lv is kept as int8 codes with their bounds (`index.quantized`), and an upper bound of |vx| beside them. So a row's score lies in an
interval. The rows whose intervals reach highest are looked at with all their codes, which puts the bar where the k-th best row is, give or take little;
then only those whose intervals reach that: of a million, one in a thousand and some for the first 100. Where there are few rows, the first hundred
are so large a part of them that this second look costs what the first one saves.

What float32 rounds away and what the axes lack in being orthonormal is in the bounds (the constants below). Not here: files, ids,
how rows are looked at (`index.near`).
"""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.cores import leave_first_core
from index.near import Near, Question, best, near, portions_of, question_of
from index.quantized import (
    ARITHMETIC,
    SCORE_ROUNDING,
    UPWARD,
    Asked,
    Bounds,
    Coded,
    Codes,
    Rows,
    Vectors,
    above,
    norms,
    products,
    quantize,
)

Axes = npt.NDArray[np.float32]


class Parts(NamedTuple):
    """Of n rows."""

    codes: Codes
    """int8 (n, m), of the leading dimensions."""
    bounds: Bounds
    """(n,), of these codes."""
    rests: Vectors
    """float32 (n,), upper bounds of |vx|."""


SAMPLE_ROWS = 8192
"""Evenly spread, that the axes are made from: 48 MB at 768 dimensions."""
ENERGY = 0.94
"""So much of the sample's squared length is in the leading dimensions, 224 of 384. The first 100 of a million then leave 600 to 800 rows to be looked
at with all codes at the median of 12 queries, in 14.8 ms (40 queries, AVX2); at 0.96, 256 dimensions, 330 to 370 in 17.4 ms; at 0.90, 192 dimensions, 1,400 to
2,300 in 14.3 ms. Of 123,000 rows of 768, put together of two models' worth, 352 lead: 900 to 1,000 rows are left, 4.9 ms; 384, 800 in 4.9; 288, 2,000 in 5.2."""
TURNED_BY = 1
"""The seed of the turn."""
STEP_DIMS = 32
"""What the kernel reads at once."""
LONGEST = 2.0
"""Rows are of unit length. A far longer one is looked at again whatever is asked."""
ORTHONORMAL = 1e-5
"""How far the products of the axes may be from those of a basis: of its float32 numbers, 2e-6 at 768 dimensions (as a matrix, its
largest singular value)."""
THREADS = 2
"""Two read memory faster than one."""


def principal_axes(vectors: Vectors) -> Axes:
    """float32 (m, dim), rows orthonormal: they span as many principal axes as hold `ENERGY` of the rows' squared length.

    They are turned at random, so that no coordinate is much larger than the others: the largest decides how finely all are kept.
    By the principal axes themselves the error is 2.3 to 2.8 times as large, and three to four times as many rows are looked at again.
    """
    sample = vectors[:: max(1, len(vectors) // SAMPLE_ROWS)].astype(np.float64)
    sample = sample[np.isfinite(sample).all(axis=1)]
    energies, axes = np.linalg.eigh(sample.T @ sample)  # ascending
    gathered = np.cumsum(energies[::-1])
    enough = int(np.searchsorted(gathered, ENERGY * gathered[-1])) + 1
    count = min(vectors.shape[1], math.ceil(enough / STEP_DIMS) * STEP_DIMS)
    turn, _ = np.linalg.qr(np.random.default_rng(TURNED_BY).standard_normal((count, count)))
    return np.ascontiguousarray(turn @ axes[:, ::-1][:, :count].T, np.float32)


def quantize_leading(axes: Axes, vectors: Vectors) -> Parts:
    """What is kept of `vectors`, float32 (n, dim)."""
    inside, lengths, sound = _inside(axes, vectors)
    codes, bounds = quantize(inside)
    off = _rounding(axes)
    # |vx|² = |v|² - |Lv|², the last known up to twice that rounding.
    squares = lengths**2 - norms(inside.astype(np.float64)) ** 2 + (2 * off + ORTHONORMAL) * lengths**2
    bounds["error"] = np.where(sound, above(bounds["error"] + off * lengths), np.inf)
    return Parts(codes, bounds, above(np.sqrt(np.maximum(squares, 0))))


def holds(axes: Axes, vectors: Vectors, parts: Parts) -> npt.NDArray[np.bool_]:
    """Of each row, whether its codes and bounds are true of it: then its score lies in its interval."""
    codes, bounds, rests = parts
    inside, lengths, sound = _inside(axes, vectors)
    exact = inside.astype(np.float64)
    within = norms(exact - codes * bounds["scale"].astype(np.float64)[:, None]) <= bounds["error"]
    within &= lengths**2 - norms(exact) ** 2 <= rests.astype(np.float64) ** 2
    return (within & sound) | np.isposinf(bounds["error"])


def _inside(axes: Axes, vectors: Vectors) -> tuple[Vectors, npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Lv, |v|, and whether that is of about unit length: 0 and 0 of rows where it is not."""
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = norms(vectors.astype(np.float64))
    sound = lengths <= LONGEST  # so that NaN is not
    kept = vectors if sound.all() else np.where(sound[:, None], vectors, np.float32(0))
    return kept @ axes.T, np.where(sound, lengths, 0), sound


def _rounding(axes: Axes) -> float:
    """How far Lv in float32 may be from Lv, relative to |v| (Higham 2002, 3.5, for each of m products)."""
    count, dim = axes.shape
    return float(math.sqrt(count) * (dim + 2) * 2.0**-24 * UPWARD)


class Leading:
    """The leading dimensions of rows as they are searched."""

    def __init__(self, axes: Axes, parts: Parts) -> None:
        self.axes = np.ascontiguousarray(axes)
        self.coded = Coded(parts.codes, parts.bounds)
        self.rests = parts.rests

    def contenders(self, coded: Coded, rows: Rows, query: Vectors, limit: int) -> Rows:
        """Those of `rows`, ascending, that may be among the `limit` best of them or tie with these, by all codes of those that the leading ones leave."""
        second = question_of(coded, query)
        if second is None:
            return rows
        portions = portions_of(rows, THREADS)
        asked: Future[Question] = Future()

        def look() -> Near:
            return near(asked.result(), second, portions, limit)

        try:
            # Begun before the query is ready: to wake a thread takes longer than that.
            begun = [_others().submit(look) for _ in range(THREADS - 1)]
            asked.set_result(self._question(query, second.asked.step))
        except BaseException as error:
            asked.set_exception(error)  # else they would wait for ever
            raise
        own = look()  # with what others have not come to: whoever has not begun by now is not waited for
        return best([own, *(other.result() for other in begun if not other.cancel())], limit)

    def _question(self, query: Vectors, unit: float) -> Question:
        """Its ends are multiples of `unit`; every row as if it had the largest error, which widens the intervals by little beside what is outside."""
        exact = query.astype(np.float64)
        inside = products(self.axes, np.arange(len(self.axes)), query[None])[0]
        # |qx|² = |q|² - 2|Lq|² + |Lᵀ(Lq)|², the last at most (1 + ORTHONORMAL)|Lq|².
        outside = float(exact @ exact) - (1 - ORTHONORMAL) * float(inside @ inside)
        asked = Asked(inside)
        length = math.sqrt(exact @ exact)
        slack = (SCORE_ROUNDING + 2 * ORTHONORMAL + ARITHMETIC) * length * LONGEST
        reach = asked.size * self.coded.largest_error + asked.reach(self.coded.longest) + slack
        spread = math.sqrt(max(outside, 0.0)) * UPWARD
        return Question(asked, self.coded, self.rests, asked.step / unit, spread / unit, reach / unit * UPWARD)


@cache
def _others() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS - 1, "rows", initializer=leave_first_core)
