"""A hit that says what better ones say comes nearer to them: half of what the five most like it are above it. Pure.

Score regularization (Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005), of the first hits alone and upwards alone: there hits that stand
alone lose too, and the one passage that answers often stands alone. docs/ranking.md has both. No hit comes to score more than the
best did, so a score means what it meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from kb.fuse import Fused, best_first

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOOKED_AT = 30
"""Hits; of 20, 30, 40, 60 and 200 the number that gains most (scripts/eval_levers.py regularization)."""
MOST_ALIKE = 5
"""Of 3, 5, 8, 10 and 20."""
LITTLE = 1.0
"""Likeness with all of those together. A hit that has less comes up by so much less: among few hits, those most like it may be nothing
like it."""


def regularize(hits: Sequence[Fused], likeness: NDArray[np.float64], weight: float) -> list[Fused]:
    """`hits`, best first; `likeness` (n, n) holds the cosines, in [0, 1], of the first n of them with each other.

    `weight` in [0, 1]: how far a hit comes up to the mean score of those most like it, weighed by how like they are.
    """
    import numpy as np

    first = hits[: len(likeness)]
    scores = np.array([hit.score for hit in first])
    others = likeness * _but_itself(len(first))
    nearest = np.argsort(-others, axis=1, kind="stable")[:, :MOST_ALIKE]
    weights = others[np.arange(len(first))[:, None], nearest]
    above = (weights * (scores[nearest] - scores[:, None])).sum(axis=1) / np.maximum(weights.sum(axis=1), LITTLE)
    lifts = (weight * np.maximum(above, 0)).tolist()
    lifted = [Fused(hit.id, hit.keyword, hit.semantic, hit.bonus, lift) for hit, lift in zip(first, lifts, strict=True)]
    return [*best_first(lifted), *hits[len(first) :]]


@cache
def _but_itself(count: int) -> NDArray[np.float64]:
    """(count, count): 1, and 0 for a hit beside itself."""
    import numpy as np

    return 1 - np.eye(count)
