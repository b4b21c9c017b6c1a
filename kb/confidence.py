"""Whether an answer answers: from how near the nearest passage is, and how much of the query's words a passage holds. Pure."""

from __future__ import annotations

import math

from kb.ranking import Ranking
from kb.wire_search import Confidence

# Measured with scripts/eval_confidence.py, chosen on one half of the queries. There the evidence of nonsense is 0.55 at most in a store of
# 11,300 passages (scifact), 0.44 in those of 1,300 to 1,900, 0.24 in one of 51 (qmd_eval): the nearest of many is nearer. Of questions that the
# documents answer, 95 % have 0.60 and more in the large one, 0.62 in most middle ones, 0.36 in qmd_eval, whose hardest are as vague as
# "nouns not verbs". On the other half of nine stores all nonsense is none, and 1 % of 592 questions (2 % by meaning alone); strong are 81 %
# (79 %) of them, and half of those whose answer was left out (docs/ranking.md).
SHARE_WEIGHT = 0.75
"""The one that leaves fewest questions below all nonsense, of 0 to 3."""
WEAK, WEAK_OF, WEAK_A_DECADE, LEAST_WEAK = 0.56, 10_000, 0.105, 0.30
"""Where 10,000 passages and more were compared; so much less for a tenth of them, down to the last."""
UNHELD, MORE_UNHELD = 0.06, 0.12
"""A share that words reach by their spelling alone, and how much nearer the nearest must be where there is no more: struck keys
are as near as 0.57 to some code among 1,600 pieces. No question of seven collections has so small a share."""
SHARE_PART, COSINE_PART = 0.6, 0.4
"""As the default fusion weighs them."""
STRONG, LOOKED_AT = 0.35, 5
"""A score of one passage, among so many best ones. Questions asked once more with the documents left out that answer them: 0.35 tells
them best from the others, of 0.28 to 0.40."""
MISSING = 0.2
"""Of the query's weight, names that no document has. Any word of that kind says little: every eighth question has one, mostly none of its matter."""
WEAK_SHARE, STRONG_SHARE = 0.09, 0.25
"""Of keyword search, where there is no cosine: invented words have 0.08 at most, 3 % of the questions less than 0.09."""


def confidence(ranking: Ranking) -> Confidence:
    """At most weak where no document knows what the query is about, however near the others of its words are."""
    sure = _found(ranking)
    return "weak" if sure == "strong" and ranking.missing >= MISSING else sure


def _found(ranking: Ranking) -> Confidence:
    """However the searches were fused: strong by what one passage holds, weak by the best of either."""
    if not ranking.nearest:
        share = evidence(ranking)
        return "strong" if share >= STRONG_SHARE else "weak" if share >= WEAK_SHARE else "none"
    if fit(ranking) >= STRONG:
        return "strong"
    weak = weakest(ranking.among)
    if _best_share(ranking) < UNHELD:
        weak += MORE_UNHELD
    return "weak" if evidence(ranking) >= weak else "none"


def fit(ranking: Ranking) -> float:
    """The highest score of a passage by both searches: near in meaning, and it holds much of the query, rare words before others."""
    shares = ranking.held or ranking.shares
    return max(
        (
            SHARE_PART * shares.get(chunk_id, 0.0) + COSINE_PART * ranking.cosines.get(chunk_id, 0.0)
            for chunk_id, _ in ranking.ranked[:LOOKED_AT]
        ),
        default=0.0,
    )


def evidence(ranking: Ranking) -> float:
    """The highest cosine, and to that a part of the highest share; where only words were searched, that share."""
    share = _best_share(ranking)
    return ranking.nearest[0][1] + SHARE_WEIGHT * share if ranking.nearest else share


def _best_share(ranking: Ranking) -> float:
    return max(ranking.held.values(), default=0.0) or (ranking.words.shares[0] if ranking.words.shares else 0.0)


def weakest(among: int) -> float:
    """The evidence from which a match is more than the nearest of so many passages about something else."""
    decades = math.log10(max(1, min(among, WEAK_OF)) / WEAK_OF)
    return max(LEAST_WEAK, WEAK + WEAK_A_DECADE * decades)
