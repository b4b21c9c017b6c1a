"""Vectors in SQLite: each text's once a model."""

from __future__ import annotations

import numpy as np
import pytest
import small_store
from small_store import document

from index import documents, store, vectors

FOX, DOG = vectors.text_hash("red fox"), vectors.text_hash("green dog")


@pytest.fixture
def writer(data_dir, make_store):
    make_store(document("a", "red fox", "blue fox"), document("b", "green dog"))
    with store.writing(data_dir) as writer:
        yield writer


def searchable(connection, after_seq=-1, **options):
    return {
        chunk_id: row
        for ids, rows in vectors.of_chunks(connection, "made-up", small_store.DIM, after_seq=after_seq, **options)
        for chunk_id, row in zip(ids.tolist(), rows, strict=True)
    }


FOXES = ("red fox", "blue fox")


def test_a_vector_comes_back_bit_for_bit(writer):
    assert np.array_equal(searchable(writer.connection)[3], small_store.vector("green dog"))


def test_a_chunk_with_others_beside_it_comes_back_mixed_with_them(writer):
    assert np.array_equal(searchable(writer.connection)[1], small_store.row("red fox", of=FOXES))


def test_batches_of_any_size_give_the_same_rows(writer):
    assert list(searchable(writer.connection, batch_size=1)) == list(searchable(writer.connection)) == [1, 2, 3]


def test_a_vector_that_is_there_stays(writer):
    """Two writers that embedded the same text agree, up to the last bit; the first one counts."""
    with writer.transaction() as seq:
        vectors.insert(writer.connection, [FOX], small_store.vector("other")[None, :], "made-up", seq=seq)
    assert np.array_equal(searchable(writer.connection)[1], small_store.row("red fox", of=FOXES))


@pytest.mark.parametrize("rows", [np.ones((2, 8), np.float32), np.ones((1, 8))])
def test_rows_that_do_not_fit_their_texts_are_refused_with_their_shape(writer, rows):
    with pytest.raises(ValueError, match=r"expected float32 \(1, dim\), got float"), writer.transaction() as seq:
        vectors.insert(writer.connection, [FOX], rows, "made-up", seq=seq)


def test_what_is_known_is_known_of_one_model_only(writer):
    assert vectors.known(writer.connection, [FOX, b"unknown"], "made-up") == {FOX}
    assert vectors.known(writer.connection, [FOX], "another") == set()


def test_texts_without_a_vector_wait_in_the_order_they_came_each_once(writer):
    """The same text in two documents is embedded once."""
    with writer.transaction() as seq:
        writer.insert(document("c", "white owl", "red fox", "white owl too"), {}, "made-up", seq=seq)
        writer.insert(document("d", "white owl"), {}, "made-up", seq=seq)
    waiting = vectors.waiting(writer.connection, "made-up", 10)
    assert [text.embedded_text for text in waiting] == ["white owl", "white owl too"]
    assert vectors.waiting(writer.connection, "made-up", 1) == waiting[:1]
    assert vectors.waiting_count(writer.connection, "made-up") == 2


def test_what_waits_is_the_text_with_its_context(writer):
    """What is embedded later has the hash that it was stored under."""
    piece = small_store.chunk("def f()", context="class C", text_hash=vectors.text_hash("class C\n\ndef f()"))
    with writer.transaction() as seq:
        writer.insert(document("c", chunks=(piece,)), {}, "made-up", seq=seq)
    [waiting] = vectors.waiting(writer.connection, "made-up", 10)
    assert vectors.text_hash(waiting.embedded_text) == waiting.text_hash == piece.text_hash


def test_a_chunk_becomes_searchable_with_the_later_of_its_document_and_its_vector(writer):
    with writer.transaction() as first:
        writer.insert(document("c", "red fox", "white owl"), {}, "made-up", seq=first)
    assert list(searchable(writer.connection, after_seq=first - 1)) == [4]
    with writer.transaction() as second:
        row = small_store.vector("white owl")[None, :]
        vectors.insert(writer.connection, [vectors.text_hash("white owl")], row, "made-up", seq=second)
    found = searchable(writer.connection, after_seq=second - 1)
    assert list(found) == [4, 5], "what is beside it has another row now"
    assert np.array_equal(found[4], small_store.row("red fox", of=("red fox", "white owl")))
    assert list(searchable(writer.connection, after_seq=second)) == []


def test_a_vector_outlives_its_chunk_until_it_is_purged(writer):
    with writer.transaction():
        documents.delete(writer.connection, [2])
    assert vectors.known(writer.connection, [DOG], "made-up") == {DOG}
    with writer.transaction():
        assert vectors.purge(writer.connection, ["made-up"]) == 1
    assert vectors.known(writer.connection, [DOG, FOX], "made-up") == {FOX}


def test_a_purge_drops_vectors_of_other_models(writer):
    with writer.transaction() as seq:
        vectors.insert(writer.connection, [FOX], small_store.vector("x")[None, :], "another", seq=seq)
    with writer.transaction():
        assert vectors.purge(writer.connection, ["made-up"]) == 1
    assert list(searchable(writer.connection)) == [1, 2, 3]
