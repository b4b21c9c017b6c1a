"""Compact: the room of what was removed comes back, and nothing else changes."""

from __future__ import annotations

import pytest
import small_store
from small_store import document

import kb.compact
from index import database, documents, segments, store, vectors
from index.matrix import Matrix
from index.query import parse
from kb.compact import compact
from kb.settings import Settings
from kb.status import status


@pytest.fixture(autouse=True, params=["few", "many"])
def size(request, monkeypatch):
    """A store whose indexes are made anew, and one whose rows are copied."""
    if request.param == "many":
        monkeypatch.setattr(kb.compact, "FEW_CHUNKS", 0)
    return request.param


@pytest.fixture
def half_empty(data_dir, make_store):
    """Forty documents of one chunk, twenty of them removed: ids 1 to 20."""
    make_store(*(document(f"d{i}", f"fox number{i} {'filler ' * 200}") for i in range(1, 41)))
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, range(1, 21))
    return data_dir


def run(folder, *, vacuum=False):
    return compact(folder, vacuum=vacuum, lock_timeout_s=1)


def answers(folder):
    return sorted(small_store.by_words(folder, "fox")), small_store.by_vector(folder, "any")


def test_dead_rows_go_and_the_answers_stay(half_empty):
    before = answers(half_empty)
    answer = run(half_empty)
    assert (answer.rows_before, answer.rows_after) == (40, 20)
    assert Matrix.open(half_empty / "matrix").dead_count == 0
    assert answers(half_empty) == before


@pytest.mark.parametrize("removed", [1, 39])
def test_the_index_of_words_of_a_large_store_is_made_anew_only_where_that_gives_much_back(
    data_dir, make_store, size, removed
):
    """Left as it is, it is not taken for one of another history either: a million chunks would take minutes."""
    make_store(*(document(f"d{i}", f"fox number{i}") for i in range(1, 41)))
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, range(1, 1 + removed))
    before = {path.stem for path in segments.segment_files(data_dir / "lexical") if path.suffix == ".idx"}

    run(data_dir)

    after = {path.stem for path in segments.segment_files(data_dir / "lexical") if path.suffix == ".idx"}
    assert before
    assert (after == before) == (size == "many" and removed == 1)
    assert len(small_store.by_words(data_dir, "fox")) == 40 - removed


def test_it_says_how_many_bytes_came_back(half_empty):
    """Vacuumed, so that `kb.db` counts too: the texts of twenty documents are more than half of what there was."""
    before = sum(path.stat().st_size for path in half_empty.rglob("*") if path.is_file())
    answer = run(half_empty, vacuum=True)
    after = sum(path.stat().st_size for path in half_empty.rglob("*") if path.is_file())
    assert answer.reclaimed_bytes == pytest.approx(before - after, rel=0.5)
    assert answer.reclaimed_bytes > 20 * 1000


def test_vectors_that_no_text_holds_are_forgotten(half_empty):
    assert run(half_empty).vectors_purged == 20
    with store.reading(half_empty) as reader:
        assert reader.connection.execute("SELECT count(*) FROM vectors").fetchone() == (20,)
        assert vectors.waiting_count(reader.connection, "made-up") == 0


def test_history_before_it_is_forgotten_and_what_comes_after_is_replayed(half_empty):
    run(half_empty)
    with store.reading(half_empty) as reader:
        assert reader.connection.execute("SELECT count(*) FROM log").fetchone() == (1,)
        assert reader.connection.execute("SELECT count(*) FROM deleted_chunks").fetchone() == (0,)
    small_store.add(half_empty, document("new", "white owl"))
    with store.writing(half_empty) as writer, writer.transaction():
        documents.delete(writer.connection, [21])
    assert small_store.by_words(half_empty, "owl") == [41]
    assert Matrix.open(half_empty / "matrix").dead_count == 1


def test_a_projection_from_before_it_is_made_anew(half_empty):
    """The history that it would need is gone."""
    old = (half_empty / "lexical" / "watermark.json").read_bytes()
    run(half_empty)
    (half_empty / "lexical" / "watermark.json").write_bytes(old)
    assert sorted(small_store.by_words(half_empty, "fox")) == list(range(21, 41))


def test_a_reader_that_began_before_it_keeps_answering_and_sees_the_same(half_empty, monkeypatch):
    """Its rows and segments are unlinked under it; the log of the database, which it needs, is waited for and left."""
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.1)
    query = small_store.vector("any")
    with store.reading(half_empty) as reader, database.snapshot(reader.connection):
        lexical, matrix = reader.lexical(), reader.matrix()
        before = matrix.search(query, 100), sorted(lexical.search(parse("fox"), 100).chunk_ids)
        run(half_empty, vacuum=True)
        assert (matrix.search(query, 100), sorted(lexical.search(parse("fox"), 100).chunk_ids)) == before
        assert documents.count(reader.connection) == 20


def test_a_second_one_finds_nothing_to_do(half_empty):
    run(half_empty)
    answer = run(half_empty)
    assert (answer.rows_before, answer.rows_after, answer.vectors_purged) == (20, 20, 0)


def test_an_empty_store_can_be_compacted(data_dir, make_store):
    make_store()
    assert run(data_dir, vacuum=True).rows_after == 0


def test_status_counts_dead_rows_and_suggests_it_from_a_quarter(data_dir, make_store):
    make_store(*(document(f"d{i}", f"text {i}") for i in range(8)))
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, [1])
    assert (status(data_dir, Settings()).dead_rows, status(data_dir, Settings()).warnings) == (1, ())
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, [2])
    assert status(data_dir, Settings()).warnings == (
        "2 of 8 rows of the matrix are dead: kb compact gives their room back",
    )


def test_ids_are_not_given_again_after_it(data_dir, make_store):
    make_store(document("a", "red fox"))
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, [1])
    run(data_dir, vacuum=True)
    assert small_store.add(data_dir, document("b", "green dog")) == [2]
    assert small_store.by_words(data_dir, "dog") == [2]
