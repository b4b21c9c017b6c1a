"""The passes over many rows that are compiled (index/native.c), where they are and this processor is one that they are made for.

Not here: what they are for (`index.near`, `index.quantized`), and what is done without them.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

FILE = "libnative.so"
"""Beside this file: put there by hatch_build.py where there is a compiler."""

KINDS = (None, "AVX2", "AVX-VNNI", "AVX-512")
"""`enum kind`; None: this processor has none of them."""

Rows = npt.NDArray[np.intp]
Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


class Question(ctypes.Structure):
    """`struct question`. Whoever makes one keeps its arrays."""

    _fields_ = (
        ("codes", ctypes.c_void_p),
        ("dim", ctypes.c_int64),
        ("scales", ctypes.c_void_p),
        ("widths", ctypes.c_void_p),
        ("asked", ctypes.c_void_p),
        ("step", ctypes.c_float),
        ("spread", ctypes.c_float),
        ("reach", ctypes.c_float),
    )


class _Rows(ctypes.Structure):
    """`struct rows`."""

    _fields_ = (
        ("listed", ctypes.c_void_p),
        ("start", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("next", ctypes.c_int64),
        ("ends", ctypes.c_void_p),
    )


class Portions:
    """Rows, ascending, that threads look at together, each at the next portion as long as there is one. For one look."""

    def __init__(self, rows: Rows) -> None:
        self.count = len(rows)
        self._listed, self._ends = np.ascontiguousarray(rows), np.empty(self.count, np.float32)
        start = int(rows[0]) if self.count else 0
        are_all = self.count == 0 or int(rows[-1]) + 1 - start == self.count
        listed = None if are_all else self._listed.ctypes.data
        self.struct = _Rows(listed, start, self.count, 0, self._ends.ctypes.data)


class _Near(ctypes.Structure):
    """`struct near`."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("rows", ctypes.c_void_p),
        ("upper", ctypes.c_void_p),
        ("limit", ctypes.c_int64),
        ("lower", ctypes.c_void_p),
    )


class _Factors(ctypes.Structure):
    """`struct factors`."""

    _fields_ = (
        ("vectors", ctypes.c_void_p),
        ("dim", ctypes.c_int64),
        ("rows", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("asked", ctypes.c_int64),
        ("products", ctypes.c_void_p),
    )


class Native:
    """What is compiled. Calls let other threads run meanwhile."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        functions = ctypes.CDLL(str(path))
        self.kind = KINDS[functions.kb_kind()]
        """Of instructions that are used on this processor."""
        pointer = ctypes.c_void_p
        self._near = functions.kb_near
        self._near.argtypes = (pointer, pointer, pointer, pointer)
        self._near.restype = None
        self._multiply = functions.kb_multiply
        self._multiply.argtypes = (pointer,)
        self._multiply.restype = None

    def near(
        self, first: Question, second: Question | None, portions: Portions, limit: int
    ) -> tuple[Rows, Vectors, Vectors]:
        """Of the rows that the calling thread takes, ascending, those that may be among the `limit` best of them, the upper ends of their
        intervals, and the `limit` highest lower ends, in no order, minus infinity where there are fewer rows. By the second question of those
        that the first one leaves.

        Raises ValueError.
        """
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1, got {limit}")
        kept, upper = np.empty(portions.count, np.int64), np.empty(portions.count, np.float32)
        lower = np.empty(limit, np.float32)
        near = _Near(0, kept.ctypes.data, upper.ctypes.data, limit, lower.ctypes.data)
        self._near(
            ctypes.byref(near), ctypes.byref(first), ctypes.byref(second or first), ctypes.byref(portions.struct)
        )
        return kept[: near.count], upper[: near.count], lower

    def products(self, vectors: Vectors, rows: Rows, queries: Floats) -> Floats:
        """float64 (queries, len(rows)): of float32 (n, dim) and float64 (queries, dim), both contiguous; each sum in an order of its own."""
        rows, products = np.ascontiguousarray(rows), np.empty((len(queries), len(rows)))
        factors = _Factors(
            vectors.ctypes.data, vectors.shape[1], rows.ctypes.data, len(rows),
            queries.ctypes.data, len(queries), products.ctypes.data,
        )  # fmt: skip
        self._multiply(ctypes.byref(factors))
        return products


@cache
def compiled() -> Native | None:
    """None: without a compiler, on another processor, or where the file is for another system."""
    try:
        found = Native(Path(__file__).with_name(FILE))
    except (OSError, AttributeError):
        return None
    return found if found.kind else None
