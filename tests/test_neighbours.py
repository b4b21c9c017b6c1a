"""Rows of the matrix: a chunk's vector in its place in the document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_store import vector

from index import neighbours
from index.neighbours import WEIGHT, Placed

DIM = 8


def chunk(document_id, number, text):
    return Placed(document_id, number, 100 * document_id + number, vector(text).tobytes())


def rows(placed, batch_size=100):
    return {
        chunk_id: row
        for ids, batch in neighbours.rows(placed, DIM, batch_size)
        for chunk_id, row in zip(ids.tolist(), batch, strict=True)
    }


def unit(row):
    return row / np.linalg.norm(row)


def test_a_row_is_the_chunk_and_a_part_of_the_one_before_and_the_one_after():
    found = rows([chunk(1, 0, "a"), chunk(1, 1, "b"), chunk(1, 2, "c")])
    a, b, c = vector("a"), vector("b"), vector("c")
    assert found[100] == pytest.approx(unit(a + WEIGHT * b))
    assert found[101] == pytest.approx(unit(b + WEIGHT * a + WEIGHT * c))
    assert found[102] == pytest.approx(unit(c + WEIGHT * b))


def test_a_document_of_one_chunk_is_its_vector_to_the_last_bit():
    found = rows([chunk(1, 0, "a"), chunk(2, 0, "b")])
    assert np.array_equal(found[100], vector("a"))
    assert np.array_equal(found[200], vector("b"))


def test_chunks_with_a_gap_between_them_are_no_neighbours():
    """The one between has no vector."""
    found = rows([chunk(1, 0, "a"), chunk(1, 2, "c")])
    assert np.array_equal(found[100], vector("a"))


def test_the_last_chunk_of_a_document_is_not_beside_the_first_of_the_next():
    """Even where its number would follow."""
    found = rows([chunk(1, 0, "a"), chunk(2, 1, "b")])
    assert np.array_equal(found[201], vector("b"))


def test_a_damaged_vector_spoils_no_other_row():
    damaged = Placed(1, 1, 101, np.full(DIM, np.nan, np.float32).tobytes())
    found = rows([chunk(1, 0, "a"), damaged, chunk(1, 2, "c")])
    assert np.array_equal(found[100], vector("a"))
    assert np.array_equal(found[102], vector("c"))


def test_nothing_gives_no_rows():
    assert rows([]) == {}


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 9))
def test_batches_of_any_size_give_the_same_rows_to_the_last_bit(lengths, batch_size):
    placed = [chunk(one, number, f"{one} {number}") for one, count in enumerate(lengths) for number in range(count)]
    found, expected = rows(placed, batch_size), rows(placed)
    assert list(found) == list(expected) == [each.chunk_id for each in placed]
    assert all(np.array_equal(found[each], expected[each]) for each in found)
