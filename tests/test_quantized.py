"""The int8 codes by themselves: bounds that hold, and the same bits as a product of everything."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact import exact_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from index import near
from index.near import BLOCK_ROWS, Question, contenders, question_of
from index.quantized import BOUNDS, Asked, Coded, holds, quantize, scores

pytestmark = pytest.mark.usefixtures("each_way")

EXTREMES = (0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1e-38, 3e-38, 1.5e-4, 0.1, 127.0, 1e19, -3.4e38)


@st.composite
def matrices(draw):
    """A matrix and a query, float32: of random directions, of a few small integers (ties), or of any numbers; rows repeated,
    zeroed, and scaled by up to 2**±120 at will."""
    dim = draw(st.integers(1, 20) | st.sampled_from([63, 64, 65, 100, 384]))
    count = draw(st.integers(1, 60))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["directions", "integers", "extremes", "one-hot"]))
    if kind == "directions":
        drawn = random.standard_normal((count + 1, dim))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    elif kind == "integers":
        drawn = random.integers(-2, 3, (count + 1, dim)).astype(float)
    elif kind == "extremes":
        drawn = random.choice(EXTREMES, (count + 1, dim))
    else:
        drawn = np.eye(dim)[random.integers(0, dim, count + 1)]
    vectors = drawn.astype(np.float32)
    if draw(st.booleans()):
        vectors[:-1] = vectors[random.integers(0, draw(st.integers(1, count)), count)]
    if draw(st.booleans()):
        vectors[random.random(count + 1) < 0.2] = 0
    if draw(st.booleans()):
        vectors = np.ldexp(np.clip(vectors, -128, 128), random.integers(-120, 120, (count + 1, 1)))
    return vectors[:-1], vectors[-1]


def ranked(row_numbers, found):
    """(score, row), best first, ties by row."""
    return sorted(zip((-found).tolist(), row_numbers.tolist(), strict=True))


def interval(question, row):
    """Its ends, as exact numbers or infinite."""
    _, upper, lower = near.near(question, None, near.portions_of(np.array([row])), 1)
    return [
        Fraction(float(end)) * Fraction(question.asked.step) if np.isfinite(end) else end for end in (*lower, *upper)
    ]


@settings(max_examples=100, deadline=None)
@given(matrices())
def test_each_score_lies_in_its_interval(drawn):
    vectors, query = drawn
    codes, bounds = quantize(vectors)
    assert holds(vectors, codes, bounds).all()
    question = question_of(Coded(codes, bounds), query)
    if question is None:
        return
    found = exact_scores(vectors, query)
    for row, vector in enumerate(vectors):
        product = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(vector, query, strict=True))
        lower, upper = interval(question, row)
        assert lower <= product <= upper
        if np.isfinite(found[row]):
            assert lower <= Fraction(float(found[row])) <= upper


@settings(max_examples=200, deadline=None)
@given(matrices(), st.data())
def test_the_contenders_hold_the_best_rows_and_all_that_tie_with_them(drawn, data):
    """Of all rows, and of any of them; the very bits."""
    vectors, query = drawn
    limit = data.draw(st.integers(1, len(vectors) + 1))
    chosen = data.draw(st.none() | st.sets(st.integers(0, len(vectors) - 1)))
    rows = np.arange(len(vectors)) if chosen is None else np.array(sorted(chosen), np.intp)
    codes, bounds = quantize(vectors)
    kept = contenders(Coded(codes, bounds), rows, query, limit)
    found = scores(vectors, bounds["length"], kept, query)
    everything = exact_scores(vectors[rows], query)
    assert ranked(kept, found)[:limit] == ranked(rows, everything)[:limit]
    assert kept.tolist() == sorted(set(kept.tolist()) & set(rows.tolist()))
    if len(rows) > limit:
        least = np.sort(everything)[len(rows) - limit]
        assert set(rows[everything == least].tolist()) <= set(kept.tolist())


@settings(max_examples=200, deadline=None)
@given(matrices())
def test_a_score_is_the_nearest_float32_and_does_not_depend_on_its_neighbours(drawn):
    vectors, query = drawn
    lengths = quantize(vectors)[1]["length"]
    together = scores(vectors, lengths, np.arange(len(vectors)), query)
    alone = [scores(vectors, lengths, np.array([row]), query)[0] for row in range(len(vectors))]
    bounded_alike = scores(vectors, float(lengths.max()), np.arange(len(vectors)), query)
    by_definition = exact_scores(vectors, query)
    assert bounded_alike.tobytes() == by_definition.tobytes()
    assert together.tobytes() == np.array(alone, np.float32).tobytes() == by_definition.tobytes()


def test_a_score_that_float64_leaves_open_is_rounded_from_the_exact_sum():
    """1 + 2**-24 lies between two float32, and what decides is beyond float64: three rows that a plain sum takes for one."""
    tiny = 2.0**-80
    vectors = np.array([[1, 2.0**-24, -tiny], [1, 2.0**-24, 0], [1, 2.0**-24, tiny]], np.float32)
    query = np.ones(3, np.float32)
    found = scores(vectors, quantize(vectors)[1]["length"], np.arange(3), query)
    assert found.tolist() == exact_scores(vectors, query).tolist()


@pytest.mark.parametrize("size", [1, 2, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS + 1])
@pytest.mark.parametrize("step", [1, 2, 40])
def test_blocks_meet_without_a_gap(size, step):
    """Also where the best rows are at a block's edge, and where few rows of a block are asked for."""
    vectors = np.random.default_rng(size).standard_normal((size, 5)).astype(np.float32)
    query = vectors[-1] * 2
    codes, bounds = quantize(vectors)
    rows = np.arange(size)[::-step][::-1]
    kept = contenders(Coded(codes, bounds), rows, query, 7)
    found = scores(vectors, bounds["length"], kept, query)
    assert ranked(kept, found)[:7] == ranked(rows, exact_scores(vectors[rows], query))[:7]


def test_few_rows_are_left_to_finish():
    """Of 5,000 random directions, among which hardly any are near, some hundred more than are asked for."""
    drawn = np.random.default_rng(1).standard_normal((5000, 384)).astype(np.float32)
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    codes, bounds = quantize(vectors)
    assert 100 <= len(contenders(Coded(codes, bounds), np.arange(len(vectors)), vectors[0], 100)) < 400


def test_no_rows_have_no_contenders():
    codes, bounds = quantize(np.ones((3, 4), np.float32))
    assert len(contenders(Coded(codes, bounds), np.empty(0, np.intp), np.ones(4, np.float32), 5)) == 0
    assert len(quantize(np.empty((0, 4), np.float32))[1]) == 0


@pytest.mark.parametrize("damaged", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_all_numbers_is_always_finished_and_scores_nan(damaged):
    vectors = np.eye(4, dtype=np.float32)
    vectors[2, 1] = damaged
    codes, bounds = quantize(vectors)
    assert holds(vectors, codes, bounds).all()
    kept = contenders(Coded(codes, bounds), np.arange(4), vectors[0], 1)
    assert kept.tolist() == [0, 2]
    assert np.isnan(scores(vectors, bounds["length"], np.array([2]), vectors[0])).all()


def test_codes_that_are_not_the_rows_are_told():
    vectors = np.random.default_rng(3).standard_normal((5, 16)).astype(np.float32)
    codes, bounds = quantize(vectors)
    codes[1, 3] ^= 64
    bounds["scale"][2] *= 2
    bounds["length"][3] /= 2
    bounds["error"][4] = np.nan
    assert holds(vectors, codes, bounds).tolist() == [True, False, False, False, False]


def test_a_row_takes_a_byte_a_number_and_twelve_more():
    codes, bounds = quantize(np.ones((2, 384), np.float32))
    assert (codes.nbytes, bounds.nbytes) == (2 * 384, 2 * 12)
    assert BOUNDS.itemsize == 12


def test_the_kernel_adds_integers_exactly():
    """Any number of dimensions, the largest codes; on every processor that runs this."""
    random = np.random.default_rng(0)
    for dim in (*range(1, 130), 383, 384, 385, 768, 1024):
        for codes in (random.integers(-127, 128, (3, dim)), np.full((3, dim), 127)):
            for query in (random.integers(-127, 128, dim), np.full(dim, -127)):
                asked = Asked(np.zeros(dim, np.float32))
                asked.codes = query[None].astype(np.int8)
                bounds = np.zeros(3, BOUNDS)
                bounds["scale"] = 1
                question = Question(asked, Coded(codes.astype(np.int8), bounds), np.zeros(3, np.float32), 1.0, 0.0, 0.0)
                assert (
                    near.near(question, None, near.portions_of(np.arange(3)), 3).upper.tolist()
                    == (codes @ query).tolist()
                )
