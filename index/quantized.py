"""Rows in a quarter of their memory, and bounds that make a search over them exact.

Each row is kept a second time as int8 codes: row ≈ scale · codes. How far the two are apart is known, so the product of the
codes says in which interval a row's score lies, and only rows that may be among the best are read in float32 (`index.near`).

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

from index import native

Codes = npt.NDArray[np.int8]
Bounds = npt.NDArray[np.void]
Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

BOUNDS = np.dtype([("scale", "<f4"), ("error", "<f4"), ("length", "<f4")])
"""Of each row: s, an upper bound of |e|, an upper bound of |v|. The last two are infinite for a row that is not all numbers."""
CODE_LIMIT = 127
"""Symmetric: -128 is not used. The sums are int32, exact up to 66,000 dimensions."""
UPWARD = 1 + 2.0**-20
"""Makes a computed norm an upper bound of the true one: far above float64's rounding of it, far below what matters."""
SCORE_ROUNDING = 2.0**-23
"""Relative to |q||v|: float32's rounding of a score (2**-24), and as much again for the float64 arithmetic of the bounds."""
ARITHMETIC = 2.0**-21
"""The same of the float32 arithmetic of an interval, five operations."""
SPARSE = 4
"""Where fewer than one row in so many is asked for, they are gathered, by `take` (an index takes 1.2 to 1.7 times as long); otherwise all
between them are scored too."""
ROWS_AT_ONCE = 1024
"""Are gathered: 1.5 MB at 384 dimensions."""
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
        lengths = bounds["length"]
        fit = np.isfinite(lengths)
        self.are_fit = bool(fit.all())
        """Whether all rows are numbers, of lengths that float32 can have. One that is not has no codes, and an infinite error."""
        self.codes = codes
        self.scales = np.where(fit, bounds["scale"], np.float32(0))
        self.errors = np.where(fit, bounds["error"], np.float32(np.inf))
        self.largest_error = float(self.errors.max(initial=0))
        self.longest = float(lengths.max(initial=0, where=fit))
        """Of those that are fit: stands for all, since rows are of one length, unless something is wrong with them."""


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
        self.size = self.length + self.error
        """What an error of a row weighs: |q| + |f|."""

    def reach(self, longest: float) -> float:
        """How far the score of a row that is no longer may be from the product of the codes, beside what the row's own error makes."""
        return longest * (self.error + (SCORE_ROUNDING + ARITHMETIC) * self.length) + FLOAT32_STEP


def scores(vectors: Vectors, lengths: Vectors | float, rows: Rows, query: Vectors) -> Vectors:
    """Of each of `rows`, the float32 nearest to its exact product with `query`; nan for a row that is not all numbers.

    `lengths` bounds those of `vectors`: one number for all, where all are numbers, or one each. A float64 product decides, except where
    its own rounding error (Higham 2002, 3.5, whatever the order of the sum) leaves open which float32 that is. Of a score that is not
    all but zero, this is so once in some 100,000 times.
    """
    exact = query.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        computed = products(vectors, rows, query[None])[0]
        bounds = lengths if isinstance(lengths, float) else lengths[rows]
        doubt = bounds * np.float64((len(query) + 2) * 2.0**-52 * math.sqrt(exact @ exact) * UPWARD)
        nearest: Vectors = (computed - doubt).astype(np.float32)
        for place in np.flatnonzero(nearest != (computed + doubt).astype(np.float32)):
            terms = vectors[rows[place]] * exact
            nearest[place] = math.fsum(terms) if np.isfinite(terms).all() else np.nan
    nearest += np.float32(0)  # there is no -0.0
    return nearest


def products(vectors: Vectors, rows: Rows, queries: Vectors) -> Floats:
    """float64 (queries, len(rows)): of `rows` with float32 (queries, dim), each sum in float64 and in an order of its own.

    Not by the BLAS of numpy: its threads look for work for many milliseconds after each product, on cores that a search needs.
    """
    compiled = native.compiled()
    if compiled is not None:
        return compiled.products(vectors, rows, queries.astype(np.float64))
    import numkong as nk

    found = np.empty((len(queries), len(rows)))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = slice(first, first + ROWS_AT_ONCE)
        found[:, some] = nk.cdist(queries, vectors.take(rows[some], axis=0), "dot")
    return found


def norms(rows: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths


def above(lengths: Floats) -> Vectors:
    """Upper bounds of what `lengths` were computed for; never zero, so that infinity times one is infinity."""
    with np.errstate(over="ignore"):
        return np.nextafter((lengths * UPWARD).astype(np.float32), np.float32(np.inf))
