"""Rows in a quarter of their memory, and bounds that make a search over them exact.

Each row is kept a second time as int8 codes: row ≈ scale · codes. How far the two are apart is known, so the product of the
codes says in which interval a row's score lies. Only a row whose interval reaches the k-th best lower end can be among the
first k, and only those are read in float32.

With q = t·a + f the query and v = s·c + e a row (a and c codes, f and e what rounding left over), exactly

    q·v  =  s·t·(a·c) + t·a·e + f·v        and by Cauchy-Schwarz        |t·a·e + f·v|  <=  (|q| + |f|)·|e| + |f|·|v|

A score is the float32 nearest to the exact q·v: it depends on the two vectors and on nothing else, neither on the rows computed
beside it nor on the BLAS, so that every way to it gives the same bits.

Not here: files, ids, ranking.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int8]
Bounds = npt.NDArray[np.void]
Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

BOUNDS = np.dtype([("scale", "<f4"), ("error", "<f4"), ("length", "<f4")])
"""Of each row: s, an upper bound of |e|, an upper bound of |v|. The last two are infinite for a row that is not all numbers."""
CODE_LIMIT = 127
"""Symmetric: -128 is not used. The kernel's sums are int32, exact up to 133,000 dimensions."""
UPWARD = 1 + 2.0**-20
"""Makes a computed norm an upper bound of the true one: far above float64's rounding of it, far below what matters."""
SCORE_ROUNDING = 2.0**-23
"""Relative to |q||v|: float32's rounding of a score (2**-24), and as much again for the float64 arithmetic of the bounds."""
BLOCK_ROWS = 32768
"""The arrays of a block, 256 KB at most, stay in the cache."""
GROUP_ROWS = 32
"""Their highest stands for them where a bar is looked for: to sort out a whole block takes ten times as long."""
SPARSE = 4
"""Where fewer than one row in so many is asked for, they are gathered, by `take` (an index takes 1.2 to 1.7 times as long); otherwise all
between them are scored too."""
ROWS_AT_ONCE = 1024
"""Are turned to float64: 3 MB at 384 dimensions."""
FLOAT32_MAX = float(np.finfo(np.float32).max)
FLOAT32_TINY = float(np.finfo(np.float32).tiny)
FLOAT32_STEP = float(np.finfo(np.float32).smallest_subnormal)


def quantize(vectors: Vectors | Floats) -> tuple[Codes, Bounds]:
    """The codes, int8 (n, dim), and the bounds, (n,), of `vectors`, float32 or float64 (n, dim) of any length."""
    exact = vectors.astype(np.float64)
    with np.errstate(invalid="ignore"):
        sound = np.isfinite(exact.sum(axis=1))  # float32 cannot overflow a float64 sum
    exact[~sound] = 0
    bounds = np.empty(len(exact), BOUNDS)
    scale = (np.abs(exact).max(axis=1) / CODE_LIMIT).astype(np.float32)
    scale[scale < FLOAT32_TINY] = 0  # such a row is all error, which is true as well
    steps = np.divide(1, scale, out=np.zeros(len(exact)), where=scale > 0, dtype=np.float64)
    codes = np.rint(exact * steps[:, None]).astype(np.int8)
    bounds["scale"] = scale
    bounds["error"] = np.where(sound, above(norms(exact - codes * scale.astype(np.float64)[:, None])), np.inf)
    bounds["length"] = np.where(sound, above(norms(exact)), np.inf)
    return codes, bounds


def holds(vectors: Vectors, codes: Codes, bounds: Bounds) -> npt.NDArray[np.bool_]:
    """Of each row, whether its codes and bounds are true of it: then its score lies in its interval."""
    with np.errstate(invalid="ignore", over="ignore"):
        exact = vectors.astype(np.float64)
        within = norms(exact - codes * bounds["scale"].astype(np.float64)[:, None]) <= bounds["error"]
        within &= norms(exact) <= bounds["length"]
    return within | (np.isposinf(bounds["error"]) & np.isposinf(bounds["length"]))


class Coded:
    """Rows as they are searched: int8 (n, dim) and their bounds (n,), with what all searches need of these."""

    def __init__(self, codes: Codes, bounds: Bounds) -> None:
        self.codes = codes
        self.scales = np.ascontiguousarray(bounds["scale"])
        self.errors = np.ascontiguousarray(bounds["error"])
        self.largest_error = float(self.errors.max(initial=0))
        self.longest = float(bounds["length"].max(initial=0))
        """Stands for all: rows are of one length, unless something is wrong with them."""


class Asked:
    """A query, (dim,) of finite numbers, as it is put to the codes."""

    def __init__(self, query: Vectors | Floats) -> None:
        exact = query.astype(np.float64)
        self.step = float(np.abs(exact).max()) / CODE_LIMIT or 1.0
        codes = np.rint(exact / self.step)
        self.codes = codes.astype(np.int8)[None]
        rest = exact - codes * self.step
        # Never zero, so that a row's infinite error stays infinite.
        self.error = math.sqrt(rest @ rest) * UPWARD + FLOAT32_STEP
        self.length = math.sqrt(exact @ exact) * UPWARD + FLOAT32_STEP

    def middles(self, coded: Coded, rows: Rows) -> Floats:
        """The middle of the interval in which the score of each of `rows`, ascending, lies."""
        first, end = int(rows[0]), int(rows[-1]) + 1
        if len(rows) * SPARSE < end - first:
            return self._products(coded.codes.take(rows, axis=0), coded.scales[rows])
        middles = self._products(coded.codes[first:end], coded.scales[first:end])
        return middles if len(rows) == end - first else middles[rows - first]

    def _products(self, codes: Codes, scales: Vectors) -> Floats:
        import numkong as nk

        products: Floats = np.multiply(np.asarray(nk.cdist(self.codes, codes, "dot"))[0], scales, dtype=np.float64)
        products *= self.step
        return products

    def reach(self, coded: Coded, errors: Vectors | float) -> Floats:
        """How far from that middle the score of a row with such an error may be, either way."""
        of_rows = np.multiply(errors, self.length + self.error, dtype=np.float64)
        return of_rows + (coded.longest * (self.error + SCORE_ROUNDING * self.length) + FLOAT32_STEP)


def contenders(coded: Coded, rows: Rows, query: Vectors, limit: int) -> Rows:
    """Those of `rows`, ascending, that may be among the `limit` best of them or tie with these.

    First as if every row had the largest error, so that a row costs a product and a comparison; then those that are left, each
    with its own. Few operations of numpy: where caches have gone cold, each costs 30 to 100 us, whatever it is given.
    """
    asked = Asked(query)
    reach = float(asked.reach(coded, coded.largest_error))
    bar = -math.inf
    found: list[tuple[Rows, Floats]] = []
    for block in _blocks(rows):
        middles = asked.middles(coded, block)
        bar = max(bar, as_a_score(reached(middles, limit) - reach))
        near = np.flatnonzero(middles >= bar - reach) if bar > -math.inf else slice(None)
        found.append((block[near], middles[near]))
    return _narrowed(asked, coded, found, limit) if found else rows


def _blocks(rows: Rows) -> list[Rows]:
    """Those that are looked at together: BLOCK_ROWS, or SPARSE times fewer where they have to be gathered."""
    span = min(int(rows[-1]) + 1 - int(rows[0]), len(rows) * SPARSE) if len(rows) else 0
    return np.array_split(rows, math.ceil(span / BLOCK_ROWS)) if span else []


def reached(middles: Floats | Vectors, limit: int) -> float:
    """What at least `limit` of the middles reach, as seen at a glance: so many groups have one that does."""
    groups = len(middles) // GROUP_ROWS
    if groups < limit:
        return -math.inf
    # A group is every `groups`-th row: whole rows of an array are compared at once, ten times faster than neighbours are.
    highest = middles[: groups * GROUP_ROWS].reshape(GROUP_ROWS, groups).max(axis=0)
    return float(np.partition(highest, groups - limit)[groups - limit])


def _narrowed(asked: Asked, coded: Coded, found: list[tuple[Rows, Floats]], limit: int) -> Rows:
    """Those rows whose interval, around the middle given, reaches the `limit`-th best lower end."""
    rows, middles = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if len(rows) <= limit:
        return rows
    reach = asked.reach(coded, coded.errors[rows])
    return rows[middles + reach >= kth_best(middles - reach, limit)]


def kth_best(ends: Floats | Vectors, limit: int) -> float:
    """The `limit`-th highest of `ends`, as a score: of fewer, minus infinity."""
    return (
        as_a_score(float(np.partition(ends, len(ends) - limit)[len(ends) - limit])) if len(ends) >= limit else -math.inf
    )


def as_a_score(end: float) -> float:
    """Scores beyond float32 are infinite, and so equal."""
    return -math.inf if end < -FLOAT32_MAX else min(end, FLOAT32_MAX)


def scores(vectors: Vectors, lengths: Vectors | float, rows: Rows, query: Vectors) -> Vectors:
    """Of each of `rows`, the float32 nearest to its exact product with `query`; nan for a row that is not all numbers.

    `lengths` bounds those of `vectors`: one number for all, where all are numbers, or one each.
    """
    exact_query = query.astype(np.float64)
    found = [np.empty(0, np.float32)]
    for first in range(0, len(rows), ROWS_AT_ONCE):
        block = rows[first : first + ROWS_AT_ONCE]
        bounds = lengths if isinstance(lengths, float) else lengths[block]
        found.append(_nearest(vectors.take(block, axis=0), bounds, exact_query))
    return found[-1] if len(rows) <= ROWS_AT_ONCE else np.concatenate(found)


def _nearest(vectors: Vectors, lengths: Vectors | float, query: Floats) -> Vectors:
    """A float64 product decides, except where its own rounding error (Higham 2002, 3.5) leaves open which float32 that is.

    Of a score that is not all but zero, this is so once in some 100,000 times.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        products = vectors.astype(np.float64) @ query
        doubt = lengths * np.float64((len(query) + 2) * 2.0**-52 * math.sqrt(query @ query) * UPWARD)
        nearest: Vectors = (products - doubt).astype(np.float32)
        for row in np.flatnonzero(nearest != (products + doubt).astype(np.float32)):
            terms = vectors[row] * query
            nearest[row] = math.fsum(terms) if np.isfinite(terms).all() else np.nan
    nearest += np.float32(0)  # there is no -0.0
    return nearest


def norms(rows: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths


def above(lengths: Floats) -> Vectors:
    """Upper bounds of what `lengths` were computed for; never zero, so that infinity times one is infinity."""
    with np.errstate(over="ignore"):
        return np.nextafter((lengths * UPWARD).astype(np.float32), np.float32(np.inf))
