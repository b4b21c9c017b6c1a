"""`confidence`: whether an answer answers, with the default model over a few real texts; figures over the collections are in
scripts/eval_confidence.py."""

from __future__ import annotations

import msgspec
import pytest
import running
from eval_confidence import NONSENSE, nonsense

from index.lexical import LexicalHits
from kb.confidence import (
    COSINE_PART,
    LEAST_WEAK,
    MISSING,
    MORE_UNHELD,
    SHARE_PART,
    STRONG,
    STRONG_SHARE,
    UNHELD,
    WEAK,
    WEAK_A_DECADE,
    WEAK_SHARE,
    confidence,
    weakest,
)  # fmt: skip
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


@pytest.mark.parametrize("phrase", ["seven years", "hot oven"])
def test_a_short_phrase_that_stands_in_a_passage_is_not_called_none_by_meaning_alone(library, phrase):
    """A cosine knows little of two words: whether the nearest passages hold them counts too."""
    [answer] = asked(library, [phrase], "semantic")

    assert answer.confidence != "none"
    assert phrase in answer.results[0].text
    assert answer.results[0].score_breakdown.fts is None


def found(share, cosine, *, in_one=True, held=0.0):
    """A passage with this share of the words, and the nearest one with this cosine; they are one, or two."""
    nearest = 1 if in_one else 2
    words = LexicalHits(chunk_ids=[1], scores=[1.0], shares=[share], total=1, unknown=())
    return Ranking(
        ranked=[(1, 1.0), (2, 0.5)], words=words, nearest=[] if cosine is None else [(nearest, cosine)],
        held={1: held} if held else {}, among=50_000, total=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "cosine", "expected"),
    [
        (0.2, WEAK - 0.15, "weak"), (0.2, WEAK - 0.16, "none"),
        (UNHELD - 0.01, WEAK + MORE_UNHELD, "weak"), (UNHELD - 0.01, WEAK + MORE_UNHELD - 0.06, "none"),
        (WEAK_SHARE, None, "weak"), (WEAK_SHARE - 0.01, None, "none"), (STRONG_SHARE, None, "strong"),
    ],
)  # fmt: skip
def test_meaning_counts_and_words_add_to_it(share, cosine, expected):
    assert confidence(found(share, cosine, in_one=False)) == expected


def test_strong_is_one_passage_that_is_near_and_holds_the_words():
    near, share = 0.5, (STRONG - COSINE_PART * 0.5) / SHARE_PART

    assert confidence(found(share + 0.001, near)) == "strong"
    assert confidence(found(share - 0.001, near)) == "weak"
    assert confidence(found(share + 0.001, near, in_one=False)) == "weak"


def test_by_meaning_alone_the_words_of_the_nearest_count():
    assert confidence(found(0.0, 0.3)) == "none"
    assert confidence(found(0.0, 0.3, held=0.4)) == "strong"


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_what_asks_for_a_name_that_no_document_has_is_never_strong(library, mode):
    known, unknown = asked(library, ["restore the database", "restore the Oraclase database"], mode)

    assert (known.confidence, unknown.confidence) == ("strong", "weak")


def test_a_small_part_of_the_query_may_be_in_no_document():
    near = found(1.0, 0.9)

    assert confidence(msgspec.structs.replace(near, missing=MISSING - 0.01)) == "strong"
    assert confidence(msgspec.structs.replace(near, missing=MISSING)) == "weak"
    assert confidence(msgspec.structs.replace(NOTHING, missing=1.0)) == "none"


def test_the_nearest_of_few_need_not_be_as_near():
    bounds = [weakest(among) for among in (1, 10, 100, 1000, 100_000)]

    assert bounds == pytest.approx([LEAST_WEAK, LEAST_WEAK, WEAK - 2 * WEAK_A_DECADE, WEAK - WEAK_A_DECADE, WEAK])


def test_nothing_is_no_evidence():
    assert confidence(NOTHING) == "none"
