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

Codes = npt.NDArray[np.int8]
Rows = npt.NDArray[np.intp]
Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


class _Question(ctypes.Structure):
    """`struct question`."""

    _fields_ = (
        ("codes", ctypes.c_void_p),
        ("dim", ctypes.c_int64),
        ("scales", ctypes.c_void_p),
        ("widths", ctypes.c_void_p),
        ("asked", ctypes.c_void_p),
        ("spread", ctypes.c_float),
        ("reach", ctypes.c_float),
        ("limit", ctypes.c_int64),
    )


class Native:
    """What is compiled. Calls let other threads run meanwhile."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        functions = ctypes.CDLL(str(path))
        self.kind = KINDS[functions.kb_kind()]
        """Of instructions that are used on this processor."""
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        self._look = functions.kb_look
        self._look.argtypes = (pointer, pointer, integer, integer, pointer, pointer, pointer)
        self._look.restype = integer
        self._multiply = functions.kb_multiply
        self._multiply.argtypes = (pointer, integer, pointer, integer, pointer, pointer)
        self._multiply.restype = None

    def near(
        self,
        codes: Codes,
        scales: Vectors,
        widths: Vectors,
        rows: Rows,
        asked: Codes,
        spread: float,
        reach: float,
        limit: int,
    ) -> tuple[Rows, Vectors, Vectors]:
        """Of `rows`, ascending, those that may be among the `limit` best, the upper ends of their intervals, and the `limit` highest lower
        ends of all, in no order, minus infinity where there are fewer rows.

        `codes` int8 (n, dim), `scales` and `widths` float32 (n,), `asked` int8 (1, dim), all of these contiguous. Raises ValueError.
        """
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1, got {limit}")
        rows = np.ascontiguousarray(rows)
        count, first = len(rows), int(rows[0]) if len(rows) else 0
        are_all = count == 0 or int(rows[-1]) + 1 - first == count
        question = _Question(
            codes.ctypes.data,
            codes.shape[1],
            scales.ctypes.data,
            widths.ctypes.data,
            asked.ctypes.data,
            spread,
            reach,
            limit,
        )
        kept, upper, lower = np.empty(count, np.int64), np.empty(count, np.float32), np.empty(limit, np.float32)
        found = self._look(
            ctypes.byref(question), None if are_all else rows.ctypes.data, first, count,
            kept.ctypes.data, upper.ctypes.data, lower.ctypes.data,
        )  # fmt: skip
        return kept[:found], upper[:found], lower

    def products(self, vectors: Vectors, rows: Rows, query: Floats) -> Floats:
        """float64 (len(rows),): of float32 (n, dim) contiguous `vectors` and a `query` (dim,), in an order of its own."""
        rows, products = np.ascontiguousarray(rows), np.empty(len(rows))
        self._multiply(
            vectors.ctypes.data, vectors.shape[1], rows.ctypes.data, len(rows), query.ctypes.data, products.ctypes.data
        )
        return products


@cache
def compiled() -> Native | None:
    """None: without a compiler, on another processor, or where the file is for another system."""
    try:
        found = Native(Path(__file__).with_name(FILE))
    except (OSError, AttributeError):
        return None
    return found if found.kind else None
