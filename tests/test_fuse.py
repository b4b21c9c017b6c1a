"""Reciprocal rank fusion: worked by hand, and what must hold for any two rankings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.fuse import reciprocal_ranks

rankings = st.lists(st.lists(st.integers(1, 30), unique=True, max_size=20), min_size=1, max_size=3)


def test_worked_by_hand():
    """k = 60, two rankings: the most is 2/61. The first of both 1; the second of one and third of the other less."""
    fused = reciprocal_ranks([[7, 5], [7, 8, 5]], 60)

    assert fused == [
        (7, pytest.approx(1.0)),
        (5, pytest.approx((1 / 62 + 1 / 63) * 61 / 2)),
        (8, pytest.approx(1 / 62 * 61 / 2)),
    ]


def test_first_in_one_and_absent_from_the_other_is_a_half():
    assert reciprocal_ranks([[1], []], 60) == [(1, pytest.approx(0.5))]


def test_nothing_found_is_nothing():
    assert reciprocal_ranks([[], []], 60) == []


@given(rankings, st.integers(1, 100))
def test_scores_lie_in_0_1_best_first_ties_by_id(given, k):
    fused = reciprocal_ranks(given, k)

    assert all(0 < score <= 1 + 1e-9 for _, score in fused)
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@given(rankings, st.integers(1, 100))
def test_every_id_of_every_ranking_is_there_once(given, k):
    assert sorted(item for item, _ in reciprocal_ranks(given, k)) == sorted({item for one in given for item in one})


@given(rankings, st.integers(1, 100))
def test_the_order_of_the_rankings_does_not_matter(given, k):
    forward, backward = dict(reciprocal_ranks(given, k)), dict(reciprocal_ranks(given[::-1], k))

    assert forward == pytest.approx(backward)


@given(st.lists(st.integers(1, 30), unique=True, min_size=1, max_size=20), st.integers(1, 100))
def test_two_rankings_that_agree_keep_their_order(ranking, k):
    assert [item for item, _ in reciprocal_ranks([ranking, ranking], k)] == ranking
