"""Fusion: worked by hand, and what must hold for any two searches by any method."""

from __future__ import annotations

import random
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kb.fuse import METHODS, Found, Knobs, fuse, shown
from kb.settings import Fusion

HITS = st.dictionaries(st.integers(1, 30), st.floats(0, 1), max_size=20).map(lambda scores: tuple(scores.items()))
WEIGHTS = st.floats(0, 1)


@st.composite
def found(draw):
    keyword, semantic = draw(HITS), draw(HITS)
    unseen = {item for item, _ in keyword} - {item for item, _ in semantic}
    known = draw(st.sets(st.sampled_from(sorted(unseen)))) if unseen else set()
    return Found(keyword=keyword, semantic=semantic, cosines={item: draw(st.floats(0, 1)) for item in known})


FOUND = found()
TWO = Found(keyword=((7, 0.8), (5, 0.4)), semantic=((7, 0.9), (8, 0.7), (6, 0.5)), cosines={5: 0.3})
"""Two hits by words, three by meaning; 7 is the best of both, 5 is far away in meaning."""


def scores(found, method, **knobs):
    return {hit.id: pytest.approx(hit.score) for hit in fuse(found, method, Knobs(**knobs))}


def test_weighted_is_the_mean_of_share_and_cosine_as_they_are():
    assert scores(TWO, "weighted", semantic_weight=0.4) == {
        7: 0.6 * 0.8 + 0.4 * 0.9,
        5: 0.6 * 0.4 + 0.4 * 0.3,
        8: 0.4 * 0.7,
        6: 0.4 * 0.5,
    }


def test_min_max_stretches_each_search_from_0_to_1():
    """5 lies below the worst hit by meaning: nothing from there."""
    assert scores(TWO, "min-max", semantic_weight=0.5) == {7: 0.5 + 0.5, 8: 0.5 * 0.5, 5: 0.0, 6: 0.0}


def test_deviation_places_a_score_among_those_of_its_search():
    """By words the mean is 0.6 and the deviation 0.2: 0.8 lies one above, at (3 + 1) / 6."""
    assert scores(TWO, "deviation", semantic_weight=0.0) == {7: 4 / 6, 5: 2 / 6, 8: 0.0, 6: 0.0}


def test_reciprocal_ranks_are_divided_by_the_most_they_could_be():
    assert scores(TWO, "rrf", rrf_k=60) == {
        7: 1.0,
        5: 61 / 62 / 2,
        8: 61 / 62 / 2,
        6: 61 / 63 / 2,
    }


def test_the_bonus_is_for_the_better_of_both_ranks():
    most = 2 / 61 + 0.05
    assert scores(TWO, "rrf-bonus", rrf_k=60) == {
        7: 1.0,
        5: (1 / 62 + 0.02) / most,
        8: (1 / 62 + 0.02) / most,
        6: (1 / 63 + 0.02) / most,
    }
    assert {hit.id: hit.bonus for hit in fuse(TWO, "rrf-bonus")}[7] == pytest.approx(0.05 / most)


def test_the_score_of_the_weighted_mean_does_not_depend_on_the_other_hits():
    """So it says the same in every query; the other methods' do not."""
    alone = Found(keyword=((7, 0.8),), semantic=((7, 0.9),))

    assert fuse(alone, "weighted")[0].score == fuse(TWO, "weighted")[0].score


def test_every_method_that_can_be_configured_is_there():
    assert set(METHODS) == set(get_args(Fusion))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_found_is_nothing(method):
    assert fuse(Found(keyword=(), semantic=()), method) == []


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(FOUND, WEIGHTS, st.integers(1, 100))
@example(Found(keyword=((1, 0.0), (2, 5e-07)), semantic=()), 0.0, 1)
def test_scores_lie_in_0_1_and_come_best_first_ties_by_id(method, found, weight, k):
    hits = fuse(found, method, Knobs(semantic_weight=weight, rrf_k=k))

    assert all(0 <= hit.score <= 1 + 1e-9 for hit in hits)
    assert hits == sorted(hits, key=lambda hit: (-shown(hit.score), hit.id))


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(FOUND)
def test_every_hit_of_either_search_is_there_once(method, found):
    assert sorted(hit.id for hit in fuse(found, method)) == sorted(found.ids)


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(FOUND, st.randoms(use_true_random=False))
def test_the_order_of_the_hits_does_not_matter(method, found, chance: random.Random):
    keyword, semantic = list(found.keyword), list(found.semantic)
    chance.shuffle(keyword)
    chance.shuffle(semantic)

    shuffled = Found(keyword=tuple(keyword), semantic=tuple(semantic), cosines=found.cosines)

    assert fuse(shuffled, method) == fuse(found, method)


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(HITS, HITS)
def test_the_order_of_the_searches_does_not_matter(method, one, other):
    """At equal weights it is the same which of the two is which."""
    forward = fuse(Found(keyword=one, semantic=other), method, Knobs(semantic_weight=0.5))
    backward = fuse(Found(keyword=other, semantic=one), method, Knobs(semantic_weight=0.5))

    assert {hit.id: hit.score for hit in forward} == pytest.approx({hit.id: hit.score for hit in backward})


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(HITS)
def test_searches_that_agree_keep_their_order(method, hits):
    """The scores are those of one search, so that the order is too, up to what a method holds equal."""
    fused = [round(dict(hits)[hit.id], 6) for hit in fuse(Found(keyword=hits, semantic=hits), method)]

    if method in {"rrf", "weighted"}:
        assert fused == sorted(fused, reverse=True)
