"""Several queries as one list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.ranking import Ranking
from kb.together import BEST, together

SCORES = st.dictionaries(st.integers(1, 9), st.floats(0, 1), max_size=9)


def ranking(scores):
    ranked = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
    return Ranking(ranked=ranked, total=len(ranked)), 0.0


def ids(*scores):
    return list(together([ranking(each) for each in scores]))


def test_what_answers_one_question_comes_before_what_is_middling_in_both():
    assert ids({1: 0.9, 2: 0.5}, {2: 0.5, 3: 0.8}) == [1, 3, 2]


def test_of_two_that_answer_one_question_the_one_that_the_other_finds_too_is_first():
    assert ids({1: 0.8, 2: 0.8}, {2: 0.4}) == [2, 1]


def test_one_query_is_its_own_list():
    found = together([ranking({1: 0.3, 2: 0.8})])
    assert {chunk_id: hit.score for chunk_id, hit in found.items()} == {2: 0.8, 1: 0.3}


def test_a_query_asked_twice_changes_no_order_and_no_score():
    once = {1: 0.3, 2: 0.8}
    assert {chunk_id: hit.score for chunk_id, hit in together([ranking(once)] * 2).items()} == pytest.approx(once)


@given(st.lists(SCORES, min_size=1, max_size=4))
def test_the_parts_add_up_to_a_score_that_its_scores_bound(queries):
    found = together([ranking(each) for each in queries])

    assert found.keys() == set().union(*queries)
    assert list(found) == sorted(found, key=lambda chunk_id: (-found[chunk_id].score, chunk_id))
    for chunk_id, hit in found.items():
        own = [queries[one.query][chunk_id] for one in hit.found_by]
        assert BEST * max(own) - 1e-8 <= hit.score <= max(own) + 1e-8
        assert sum(one.contribution for one in hit.found_by) == hit.score


@given(st.lists(SCORES, min_size=2, max_size=4))
def test_the_order_of_the_queries_does_not_matter(queries):
    def scores(asked):
        return {chunk_id: hit.score for chunk_id, hit in together([ranking(each) for each in asked]).items()}

    assert scores(queries) == pytest.approx(scores(queries[::-1]), abs=1e-8)
