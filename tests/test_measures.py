"""Measures of one ranking: worked by hand, and equal to `ir_measures` (trec_eval) for any ranking."""

from __future__ import annotations

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, P, R, nDCG

from kb import measures

RANKINGS = st.lists(st.integers(0, 3), max_size=15)
UNFOUND = st.lists(st.integers(1, 3), min_size=1, max_size=5)


def test_worked_by_hand():
    """Four results, the second and third relevant with grades 1 and 2; a third relevant document, grade 1, is not found."""
    ranking, grades = [0, 1, 2, 0], [1, 2, 1]

    assert measures.precision(ranking, 3) == pytest.approx(2 / 3)
    assert measures.recall(ranking, grades, 2) == pytest.approx(1 / 3)
    assert measures.reciprocal_rank(ranking) == pytest.approx(1 / 2)
    assert measures.ndcg(ranking, grades, 10) == pytest.approx((1 / 1.58496 + 2 / 2) / (2 + 1 / 1.58496 + 1 / 2), 1e-5)


def test_precision_counts_empty_places():
    """One right answer, returned alone: of five places one is right. A hit rate would say 1."""
    assert measures.precision([1], 5) == pytest.approx(0.2)


@settings(deadline=None)
@given(RANKINGS, UNFOUND, st.integers(1, 20))
def test_the_measures_are_those_of_trec_eval(ranking, unfound, k):
    grades = [grade for grade in ranking if grade] + unfound
    judged = {f"r{rank}": grade for rank, grade in enumerate(ranking)}
    judged |= {f"u{number}": grade for number, grade in enumerate(unfound)}
    returned = {f"r{rank}": float(-rank) for rank in range(len(ranking))} or {"nothing of use": 0.0}

    theirs = ir_measures.calc_aggregate([P @ k, R @ k, RR, nDCG @ k], {"q": judged}, {"q": returned})

    assert {
        P @ k: measures.precision(ranking, k),
        R @ k: measures.recall(ranking, grades, k),
        RR: measures.reciprocal_rank(ranking),
        nDCG @ k: measures.ndcg(ranking, grades, k),
    } == pytest.approx(theirs)
