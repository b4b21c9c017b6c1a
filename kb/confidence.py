"""Whether an answer answers: from how near the nearest passage is, and how much of the query's words the best one holds. Pure."""

from __future__ import annotations

import math

from kb.ranking import Ranking
from kb.wire_search import Confidence

# Measured with scripts/eval_confidence.py, chosen on one half of the queries. There the evidence of nonsense is 0.55 at most in a store of
# 11,300 passages (scifact), 0.44 in those of 1,300 to 1,900, 0.24 in one of 51 (qmd_eval): the nearest of many is nearer. Of questions that the
# documents answer, 95 % have 0.60 and more in the large one, 0.62 in the middle ones, 0.36 in qmd_eval, whose hardest are as vague as
# "nouns not verbs". On the other half of seven stores: all nonsense is none, 3 of 408 questions are, and strong are 387 of them and 8 of
# 435 questions of another collection (six of these are medicine, asked of scifact).
SHARE_WEIGHT = 0.75
"""The one that leaves fewest questions below all nonsense, of 0 to 3."""
WEAK, WEAK_OF, WEAK_A_DECADE, LEAST_WEAK = 0.56, 10_000, 0.105, 0.30
"""Where 10,000 passages and more were compared; so much less for a tenth of them, down to the last."""
STRONG = 0.65
WEAK_SHARE, STRONG_SHARE = 0.09, 0.25
"""Of keyword search, where there is no cosine: invented words have 0.08 at most, 3 % of the questions less than 0.09."""


def confidence(ranking: Ranking) -> Confidence:
    """By the best of either search, however they were fused."""
    found = evidence(ranking)
    weak, strong = (weakest(ranking.among), STRONG) if ranking.nearest else (WEAK_SHARE, STRONG_SHARE)
    return "strong" if found >= strong else "weak" if found >= weak else "none"


def evidence(ranking: Ranking) -> float:
    """The highest cosine, and to that a part of the highest share; where only words were searched, that share."""
    share = ranking.words.shares[0] if ranking.words.shares else 0.0
    return ranking.nearest[0][1] + SHARE_WEIGHT * share if ranking.nearest else share


def weakest(among: int) -> float:
    """The evidence from which a match is more than the nearest of so many passages about something else."""
    decades = math.log10(max(1, min(among, WEAK_OF)) / WEAK_OF)
    return max(LEAST_WEAK, WEAK + WEAK_A_DECADE * decades)
