"""What a score is by definition, a row at a time: the float32 nearest to the exact product."""

from __future__ import annotations

import math

import numpy as np


def exact_scores(vectors, query):
    """float32 (n,); nan for a row that is not all numbers."""
    return np.array([_score(vector.astype(np.float64) * query) for vector in vectors], np.float32)


def _score(terms):
    """The products of float32 are exact in float64, and `fsum` rounds once; adding 0.0 leaves no -0.0."""
    with np.errstate(over="ignore"):
        return np.float32(math.fsum(terms)) + np.float32(0) if np.isfinite(terms).all() else np.nan
