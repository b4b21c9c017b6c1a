"""Which document each chunk belongs to, as a filter that admits many asks for it; against what SQLite says."""

from __future__ import annotations

import numpy as np
import pytest
import small_store
from hypothesis import given
from hypothesis import strategies as st
from small_store import document

from index import columns, documents, filters, owners, store
from index.columns import is_among
from index.filters import Admitted
from index.owners import Owners

COUNT = 3 * owners.FEW


@pytest.fixture
def many(data_dir, make_store):
    """30 documents of one to three chunks."""
    make_store(*(document(f"{number}.md", *"abc"[: number % 3 + 1]) for number in range(COUNT)))
    return data_dir


@pytest.mark.parametrize("of", [range(0), range(1, COUNT + 1), range(1, COUNT, 2), range(4, 30), [7, COUNT, 9999]])
@pytest.mark.parametrize("chunks", [(), (1, 5, 6)])
def test_the_chunks_of_any_documents_are_those_that_sqlite_finds(many, of, chunks):
    with store.reading(many) as reader:
        expected = filters.chunk_ids(reader.connection, of, chunks).tolist()
        for known in (None, Owners.read(reader.connection, None)):
            assert owners.chunk_ids(reader.connection, known, of, chunks)[0].tolist() == expected


def test_they_are_read_where_many_are_wanted_and_kept_for_the_next(many):
    with store.reading(many) as reader:
        _, after_few = owners.chunk_ids(reader.connection, None, [1, 2])
        _, after_many = owners.chunk_ids(reader.connection, None, [1, 2, 3])
        assert after_few is None
        assert after_many is not None
        assert owners.chunk_ids(reader.connection, after_many, [1, 2])[1] is after_many


def test_what_is_new_is_added_and_what_went_stays(many):
    """A chunk that went has no row: nothing finds it."""
    with store.reading(many) as reader:
        known = Owners.read(reader.connection, None)
    last = known.chunk_ids[-1]
    with store.writing(many) as writer, writer.transaction():
        documents.delete(writer.connection, [COUNT])
    [added] = small_store.add(many, document("new.md", "d", "e"))

    with store.reading(many) as reader:
        newer = Owners.read(reader.connection, known)
        assert (
            newer.of([added]).tolist() == filters.chunk_ids(reader.connection, [added]).tolist() == [last + 1, last + 2]
        )
        assert newer.chunk_ids[:-2].tolist() == known.chunk_ids.tolist()
        assert newer.of([COUNT]).tolist() == known.of([COUNT]).tolist() != []
        assert (
            reader.chunk_ids(Admitted(documents=frozenset(range(1, added + 1)))).tolist()
            == newer.chunk_ids[newer.document_ids != COUNT].tolist()
        )


def test_of_another_history_nothing_is_kept(many, tmp_path):
    """As after a restore: the same ids are other chunks' then."""
    small_store.create(tmp_path / "other", *(document(f"{number}.md", *"abcde") for number in range(COUNT)))
    with store.reading(tmp_path / "other") as other:
        known = Owners.read(other.connection, None)
    with store.reading(many) as reader:
        found = Owners.read(reader.connection, known)
        assert found.of([2]).tolist() == filters.chunk_ids(reader.connection, [2]).tolist()


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)), st.integers(1, 10_000))
def test_ids_are_told_apart_however_far_they_lie(some, wanted, apart):
    ids = np.array(sorted(some), np.int64) * apart
    found = is_among(ids, np.array(sorted(wanted), np.int64) * apart)
    assert ids[found].tolist() == [number * apart for number in sorted(some & wanted)]
    assert len(found) == len(some)


def test_ids_that_lie_far_apart_make_no_table():
    """Of 9 EB it would be."""
    far = np.array([1, 2**62], np.int64)
    assert is_among(far, far[1:]).tolist() == [False, True]
    assert columns.APART < 2**60
