"""`confidence`: whether an answer answers, with the default model over a few real texts; figures over the collections are in
scripts/eval_confidence.py."""

from __future__ import annotations

import pytest
import running
from eval_confidence import NONSENSE, nonsense

from index.lexical import LexicalHits
from kb.confidence import LEAST_WEAK, STRONG, STRONG_SHARE, WEAK, WEAK_A_DECADE, WEAK_SHARE, confidence, weakest
from kb.ranking import NOTHING, Ranking
from kb.search import Request, search
from kb.settings import Settings

FILES = {
    "bread.md": "# Sourdough\n\nMix flour, water and salt with the starter, let the dough rise overnight, then bake it in a hot oven.",
    "backup.md": "# Backups\n\nThe database is dumped every night at two and copied to another site. To restore it, stop the"
    " service and load the newest dump.",
    "bees.md": "# Bees\n\nA honey bee colony survives the winter by clustering around the queen and eating stored honey.",
    "tax.md": "# Tax return\n\nTravel between home and work can be deducted; keep receipts for at least seven years.",
}
QUESTIONS = (
    "how do I bake sourdough bread", "restore the database from a backup", "when is the database dumped",
    "how do bees get through the winter", "can I deduct my commute", "how long must receipts be kept",
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    running.write(folder / "docs", FILES)
    assert running.here(folder, "add", "docs", "-r").code == 0
    return folder


def asked(library, queries, mode="hybrid"):
    requests = [Request(query=query, top=3, mode=mode) for query in queries]
    return search(library / "store", Settings(), requests)


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_nonsense_has_none_and_is_warned_of(library, mode):
    answers = asked(library, nonsense(), mode)

    assert [answer.confidence for answer in answers] == ["none"] * NONSENSE
    assert all(any("no good match" in warning for warning in answer.warnings) for answer in answers if answer.results)


def test_questions_that_are_answered_have_some(library):
    answers = asked(library, QUESTIONS)

    said = [answer.confidence for answer in answers]
    assert "none" not in said
    assert said.count("strong") >= len(QUESTIONS) // 2
    assert not any("no good match" in warning for answer in answers for warning in answer.warnings)


def test_words_alone_tell_too(library):
    def said(query):
        return running.here(library, "search", "-j", "--mode", "keyword", query).json["confidence"]

    assert said("sourdough starter dough") == "strong"
    assert said("xqzv blorp fnord") == "none"


def test_nothing_found_is_none(library):
    assert running.here(library, "search", "-j", "--tag", "unheard", "bread").json["confidence"] == "none"
    assert running.here(library, "search", "-j", "--min-score", 1, "bread").json["confidence"] == "none"


def found(share, cosine):
    words = LexicalHits(chunk_ids=[1], scores=[1.0], shares=[share], total=1, unknown=())
    return Ranking(
        ranked=[(1, 1.0)], words=words, nearest=[] if cosine is None else [(2, cosine)], among=50_000, total=2
    )


@pytest.mark.parametrize(
    ("share", "cosine", "expected"),
    [
        (0.0, WEAK, "weak"), (0.0, WEAK - 0.01, "none"), (0.0, STRONG, "strong"),
        (0.2, STRONG - 0.15, "strong"), (0.2, WEAK - 0.15, "weak"),
        (WEAK_SHARE, None, "weak"), (WEAK_SHARE - 0.01, None, "none"), (STRONG_SHARE, None, "strong"),
    ],
)  # fmt: skip
def test_meaning_counts_and_words_add_to_it(share, cosine, expected):
    assert confidence(found(share, cosine)) == expected


def test_the_nearest_of_few_need_not_be_as_near():
    bounds = [weakest(among) for among in (1, 10, 100, 1000, 100_000)]

    assert bounds == pytest.approx([LEAST_WEAK, LEAST_WEAK, WEAK - 2 * WEAK_A_DECADE, WEAK - WEAK_A_DECADE, WEAK])


def test_nothing_is_no_evidence():
    assert confidence(NOTHING) == "none"
