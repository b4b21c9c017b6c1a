"""The leading dimensions by themselves: bounds that hold, and no row lost that is among the best."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from exact import exact_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from test_quantized import matrices

from index import leading, near
from index.leading import Leading, Parts, holds, principal_axes, quantize_leading
from index.quantized import Coded, quantize

pytestmark = pytest.mark.usefixtures("each_way")


def some_axes(vectors, count, seed):
    """The first `count` principal axes, or those of a random basis: exactness may not depend on good ones."""
    dim = vectors.shape[1]
    if seed is None:
        with np.errstate(over="ignore"):
            covariance = np.nan_to_num(vectors.astype(np.float64).T @ vectors.astype(np.float64))
        return np.linalg.eigh(covariance)[1][:, ::-1][:, :count].T.astype(np.float32)
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))
    return basis[:count].astype(np.float32)


@st.composite
def led(draw):
    """Rows, a query and axes: rows of unit length mostly, of any other too."""
    vectors, query = draw(matrices())
    if draw(st.booleans()):
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        vectors = np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0).astype(np.float32)
    count = draw(st.integers(1, vectors.shape[1]))
    return vectors, query, some_axes(vectors, count, draw(st.none() | st.integers(0, 99)))


def contenders(axes, vectors, rows, query, limit):
    return Leading(axes, quantize_leading(axes, vectors)).contenders(Coded(*quantize(vectors)), rows, query, limit)


def best(rows, scores, limit):
    return sorted(zip((-scores).tolist(), rows.tolist(), strict=True))[:limit]


@settings(max_examples=200, deadline=None)
@given(led(), st.data())
def test_the_contenders_hold_the_best_rows_and_all_that_tie_with_them(drawn, data):
    vectors, query, axes = drawn
    limit = data.draw(st.integers(1, len(vectors) + 1))
    chosen = data.draw(st.none() | st.sets(st.integers(0, len(vectors) - 1)))
    rows = np.arange(len(vectors)) if chosen is None else np.array(sorted(chosen), np.intp)
    kept = contenders(axes, vectors, rows, query, limit)
    everything = exact_scores(vectors, query)
    assert best(kept, everything[kept], limit) == best(rows, everything[rows], limit)
    assert kept.tolist() == sorted(set(kept.tolist()) & set(rows.tolist()))
    if len(rows) > limit:
        least = np.sort(everything[rows])[len(rows) - limit]
        assert set(rows[everything[rows] == least].tolist()) <= set(kept.tolist())


@pytest.mark.filterwarnings("error")
def test_a_query_almost_outside_of_the_leading_dimensions_has_its_best_row():
    """All that those say is that any row may be the best, and its step there is beyond what float32 can have."""
    axes = np.eye(4, dtype=np.float32)[:2]
    vectors = np.eye(4, dtype=np.float32)
    query = np.array([1e-44, 0, 0, 1], np.float32)

    kept = contenders(axes, vectors, np.arange(4), query, 1)

    assert kept.tolist() == [3]


@settings(max_examples=100, deadline=None)
@given(led())
def test_what_is_kept_holds_and_anything_less_does_not(drawn):
    vectors, _, axes = drawn
    codes, bounds, rests = quantize_leading(axes, vectors)
    assert holds(axes, vectors, Parts(codes, bounds, rests)).all()
    outside = np.linalg.norm(vectors - vectors @ axes.T.astype(np.float64) @ axes, axis=1)
    unit = np.isclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1)
    assert (rests[unit] >= outside[unit] * (1 - 1e-6)).all()
    damaged = unit & (outside > 0.1)
    assert not holds(axes, vectors, Parts(codes, bounds, rests / 2))[damaged].any()
    other = np.where(codes > 0, codes - 9, codes + 9).astype(np.int8)
    assert not holds(axes, vectors, Parts(other, bounds, rests))[unit & (bounds["scale"] > 0.002)].any()


def clustered(count, dim, seed=1):
    """Unit rows whose later dimensions hold ever less, as real ones."""
    drawn = np.random.default_rng(seed).standard_normal((count, dim)) * 0.97 ** np.arange(dim)
    turned = drawn @ np.linalg.qr(np.random.default_rng(2).standard_normal((dim, dim)))[0]
    return (turned / np.linalg.norm(turned, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("at_once", [1000, 4096])
def test_blocks_and_threads_meet_without_a_gap(monkeypatch, at_once):
    monkeypatch.setattr(near, "BLOCK_ROWS", at_once)
    vectors = clustered(8192, 64)
    axes = principal_axes(vectors)
    led, coded = Leading(axes, quantize_leading(axes, vectors)), Coded(*quantize(vectors))
    for row in (0, at_once - 1, at_once, 8191):
        everything = exact_scores(vectors, vectors[row])
        rows = np.arange(len(vectors))
        for some in (rows, rows[::3], rows[at_once - 9 :]):
            kept = led.contenders(coded, some, vectors[row], 10)
            assert best(kept, everything[kept], 10) == best(some, everything[some], 10)


def test_the_axes_hold_most_of_the_rows_in_fewer_dimensions_and_few_rows_are_left():
    vectors = clustered(40_000, 256)
    axes = principal_axes(vectors)
    assert np.linalg.norm(axes.astype(np.float64) @ axes.T - np.eye(len(axes)), 2) <= leading.ORTHONORMAL / 4
    assert len(axes) <= 96
    assert np.linalg.norm(vectors @ axes.T) ** 2 >= leading.ENERGY * len(vectors)
    kept = contenders(axes, vectors, np.arange(len(vectors)), vectors[3], 20)
    by_all_codes = near.contenders(Coded(*quantize(vectors)), np.arange(len(vectors)), vectors[3], 20)
    assert 20 <= len(kept) < len(by_all_codes) + 20


def test_the_axes_are_turned_so_that_codes_are_fine():
    """Rows have a common part, as real ones: along its own axis all would be large there."""
    vectors = clustered(4000, 64) + 2 * clustered(1, 64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    axes = principal_axes(vectors)
    plain = some_axes(vectors, len(axes), None)
    turned_error, plain_error = (quantize_leading(each, vectors).bounds["error"].max() for each in (axes, plain))
    assert turned_error < plain_error * 0.7


def test_a_look_that_fails_leaves_no_thread_waiting_for_it(monkeypatch):
    """The other thread is woken before the query is ready."""
    vectors = clustered(64, 16)
    axes = principal_axes(vectors)
    led, coded = Leading(axes, quantize_leading(axes, vectors)), Coded(*quantize(vectors))
    with monkeypatch.context() as patched:
        patched.delattr(Leading, "_question")
        with pytest.raises(AttributeError):
            led.contenders(coded, np.arange(64), vectors[0], 3)
    assert 0 in led.contenders(coded, np.arange(64), vectors[0], 3)


def test_a_thread_that_is_busy_with_another_search_is_not_waited_for():
    vectors = clustered(8192, 16)
    axes = principal_axes(vectors)
    led, coded = Leading(axes, quantize_leading(axes, vectors)), Coded(*quantize(vectors))
    rows = np.arange(len(vectors))
    alone = led.contenders(coded, rows, vectors[7], 3)
    free = threading.Event()
    begun = [leading._others().submit(free.wait, 60) for _ in range(leading.THREADS - 1)]
    found = led.contenders(coded, rows, vectors[7], 3)
    assert not any(other.done() for other in begun)
    free.set()
    everything = exact_scores(vectors, vectors[7])
    assert best(found, everything[found], 3) == best(alone, everything[alone], 3)


@pytest.mark.parametrize("damaged", [np.nan, np.inf, 1e30])
def test_a_row_that_is_not_of_unit_length_is_always_looked_at_again(damaged):
    vectors = np.eye(4, dtype=np.float32)
    vectors[2, 1] = damaged
    axes = np.eye(2, 4, dtype=np.float32)
    kept = contenders(axes, vectors, np.arange(4), vectors[0], 1)
    assert 2 in kept
    assert 0 in kept


def test_no_rows_have_no_contenders():
    axes = np.eye(2, 4, dtype=np.float32)
    rows = np.eye(4, dtype=np.float32)
    assert len(contenders(axes, rows, np.empty(0, np.intp), np.ones(4, np.float32), 5)) == 0
