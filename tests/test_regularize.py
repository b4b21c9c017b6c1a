"""Score regularization: worked by hand, and what must hold for any hits."""

from __future__ import annotations

import numpy as np
import pytest
import running
from hypothesis import given
from hypothesis import strategies as st

from kb.fuse import Fused, best_first, shown
from kb.regularize import MOST_ALIKE, regularize

COSINES = st.floats(0, 1)


@st.composite
def found(draw):
    """Hits, best first, and the likeness of the first of them."""
    parts = draw(st.lists(st.tuples(st.floats(0, 0.6), st.floats(0, 0.4)), max_size=12))
    hits = best_first([Fused(number, *each) for number, each in enumerate(parts)])
    size = draw(st.integers(0, len(hits)))
    cosines = draw(st.lists(COSINES, min_size=size * size, max_size=size * size))
    return hits, np.array(cosines).reshape(size, size)


def scores(hits):
    return {hit.id: pytest.approx(hit.score) for hit in hits}


def test_a_hit_comes_up_to_the_mean_of_those_like_it_by_how_like_they_are():
    hits = [Fused(1, 0.5, 0.3), Fused(2, 0.3, 0.1), Fused(3, 0.1, 0.1)]
    likeness = np.array([[1, 0.6, 0.8], [0.6, 1, 0.5], [0.8, 0.5, 1]])

    assert scores(regularize(hits, likeness, 0.5)) == {
        1: 0.8,
        2: (0.4 + (0.6 * 0.8 + 0.5 * 0.2) / 1.1) / 2,
        3: (0.2 + (0.8 * 0.8 + 0.5 * 0.4) / 1.3) / 2,
    }


def test_a_hit_that_is_like_nothing_hardly_comes_up_however_few_there_are():
    """The one other hit is the one most like it, and says something else."""
    hits = [Fused(1, 0.35, 0.25), Fused(2, 0.0, 0.03)]
    likeness = np.array([[1, 0.05], [0.05, 1]])

    assert scores(regularize(hits, likeness, 0.5))[2] == 0.03 + 0.5 * 0.05 * (0.6 - 0.03)


def test_a_hit_near_to_a_good_one_passes_one_that_stands_alone_and_loses_nothing():
    hits = [Fused(1, 0.6, 0.2), Fused(2, 0.3, 0.1), Fused(3, 0.28, 0.1)]
    likeness = np.array([[1, 0, 0.9], [0, 1, 0], [0.9, 0, 1]])

    mixed = regularize(hits, likeness, 0.5)

    assert [hit.id for hit in mixed] == [1, 3, 2]
    assert scores(mixed)[2] == 0.4


def test_only_the_most_alike_count():
    """However many there are."""
    hits = [*(Fused(number, 0.4, 0.4) for number in range(MOST_ALIKE)), Fused(8, 0.4, 0), Fused(9, 0.2, 0)]
    likeness = np.array([[0.9] * MOST_ALIKE + [0.5, 0.9]] * (MOST_ALIKE + 2))

    assert scores(regularize(hits, likeness, 0.5))[9] == (0.2 + 0.8) / 2


@given(found(), st.floats(0, 1))
def test_none_loses_none_scores_more_than_the_best_and_the_first_stay_before_all_others(some, weight):
    hits, likeness = some
    mixed = regularize(hits, likeness, weight)
    before, size = {hit.id: hit.score for hit in hits}, len(likeness)

    assert {hit.id for hit in mixed[:size]} == {hit.id for hit in hits[:size]}
    assert mixed[size:] == hits[size:]
    assert all(before[hit.id] <= hit.score <= max(before.values()) + 1e-9 for hit in mixed)
    as_shown = [shown(hit.score) for hit in mixed]
    assert as_shown == sorted(as_shown, reverse=True)


@given(found())
def test_without_weight_nothing_changes(some):
    hits, likeness = some
    assert regularize(hits, likeness, 0.0) == hits


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
@pytest.mark.parametrize("weight", ["0", "0.5"])
def test_a_search_does_it_where_scores_are_weighted_and_a_weight_is_set(tmp_path, roomy_folder, fusion, weight):
    texts = {f"{number}.md": f"red heat flows {'warm ' * number}" for number in range(4)}
    running.write(tmp_path / "docs", texts)
    assert running.here(tmp_path, "add", "docs", "-r", KB_MODEL=roomy_folder).code == 0

    variables = {"KB_MODEL": roomy_folder, "KB_FUSION": fusion, "KB_REGULARIZATION": weight}
    hits = running.here(tmp_path, "search", "-j", "--explain", "red heat", **variables).json["results"]

    assert len(hits) == len(texts)
    assert any(hit["explain"]["alike"] for hit in hits) == (fusion == "weighted" and weight != "0")
