"""Documents and chunks in SQLite."""

from __future__ import annotations

import sqlite3

import pytest
import small_store
from small_store import chunk, document

from index import documents, failures, store
from index.rows import FailureRow


@pytest.fixture
def writer(data_dir, make_store):
    make_store(document("a", "red fox", "blue fox", tags=("animal", "red")), document("b", "green dog"))
    with store.writing(data_dir) as writer:
        yield writer


def test_a_document_comes_back_as_it_went_in(writer):
    row = documents.by_id(writer.connection, 1)
    assert (row.title, row.source_path, row.tags, row.chunk_count) == ("a", "/made/up/a", ("animal", "red"), 2)
    assert row == documents.by_hash(writer.connection, row.content_hash)


def test_what_a_chunk_knows_comes_back_as_it_went_in(writer):
    piece = chunk(
        "def f(): pass", heading="Code > f", context="class C", page=3, start_line=7, end_line=9,
        metadata={"symbol": "C.f", "deep": [1, {"two": None}]},
    )  # fmt: skip
    with writer.transaction() as seq:
        document_id = writer.insert(document("c", chunks=(piece,)), {}, "made-up", seq=seq)
    [row] = documents.chunks_of(writer.connection, document_id)
    assert (row.text, row.heading, row.page, row.start_line, row.end_line) == ("def f(): pass", "Code > f", 3, 7, 9)
    assert row.metadata == {"symbol": "C.f", "deep": [1, {"two": None}]}


def test_the_same_content_cannot_be_there_twice(writer):
    with pytest.raises(sqlite3.IntegrityError), writer.transaction() as seq:
        writer.insert(document("b", "green dog", title="again"), {}, "made-up", seq=seq)
    assert documents.count(writer.connection) == 2


def test_chunks_and_tags_go_with_their_document(writer):
    with writer.transaction():
        documents.delete(writer.connection, [1])
    assert documents.by_id(writer.connection, 1) is None
    assert documents.chunk_count(writer.connection) == 1
    assert writer.connection.execute("SELECT count(*) FROM document_tags").fetchone() == (0,)


def test_ids_are_never_given_again(data_dir, make_store):
    """Not even the last one, not even after the database was rewritten: a stale hit must not become another chunk."""
    make_store(document("a", "red fox", "blue fox"), document("b", "green dog"))
    with store.writing(data_dir) as writer:
        with writer.transaction():
            documents.delete(writer.connection, [2])
        writer.connection.execute("VACUUM")
    assert small_store.add(data_dir, document("c", "white owl")) == [3]
    assert small_store.by_words(data_dir, "owl") == [4]


def test_versions_of_a_path_come_newest_first(writer):
    with writer.transaction() as seq:
        writer.insert(document("a", "red fox changed"), {}, "made-up", seq=seq)
    assert [row.id for row in documents.by_path(writer.connection, "/made/up/a")] == [3, 1]


def test_pages_follow_each_other_in_the_order_of_adding(writer):
    first = documents.page_of(writer.connection, None, limit=1, offset=0)
    second = documents.page_of(writer.connection, None, limit=None, offset=1)
    assert [row.id for row in (*first, *second)] == [1, 2]
    assert documents.page_of(writer.connection, [2], limit=None, offset=0) == second
    assert documents.page_of(writer.connection, [], limit=None, offset=0) == []


def test_chunks_that_are_gone_are_left_out(writer):
    assert list(documents.chunks_by_ids(writer.connection, [1, 77, 3])) == [1, 3]


def test_a_rename_keeps_chunks_and_their_ids(writer):
    with writer.transaction() as seq:
        documents.rename(writer.connection, 1, "/made/up/z", "z", seq=seq)
    assert documents.by_id(writer.connection, 1).source_path == "/made/up/z"
    assert [row.id for row in documents.chunks_of(writer.connection, 1)] == [1, 2]


def test_a_failure_is_remembered_until_it_is_forgotten(writer):
    """One a path: a later one takes the place of the earlier."""
    first = FailureRow(
        source_path="/x.pdf", content_hash="h", mtime_ns=1, size=2, kind="failed", reason="torn", failed_at="2026-01-01"
    )
    with writer.transaction():
        failures.record(writer.connection, first)
        failures.record(writer.connection, FailureRow(**{**_fields(first), "reason": "torn again"}))
    assert [row.reason for row in failures.every(writer.connection)] == ["torn again"]
    assert failures.by_path(writer.connection, "/x.pdf").content_hash == "h"
    with writer.transaction():
        failures.forget(writer.connection, "/x.pdf")
    assert failures.every(writer.connection) == []


def _fields(row):
    return {name: getattr(row, name) for name in row.__struct_fields__}


def test_a_document_that_grows_keeps_its_id_and_those_of_its_chunks_that_are_as_they_were(writer):
    """From the first chunk that is another one on, all are new; the row says what the document is now."""
    now = document(
        "a", "blue fox", "green fox", title="longer", size=99, mtime_ns=7, modified_at="2026-02-01T00:00:00+00:00",
        metadata={"turns": 3}, tags=("new",),
    )  # fmt: skip
    with writer.transaction() as seq:
        assert writer.append(1, now, {}, "made-up", first_chunk=1, seq=seq) == 1
    chunks = documents.chunks_of(writer.connection, 1)
    assert [(row.id, row.chunk_index, row.text) for row in chunks] == [
        (1, 0, "red fox"),
        (2, 1, "blue fox"),
        (4, 2, "green fox"),
    ]
    row = documents.by_id(writer.connection, 1)
    assert (row.title, row.content_hash, row.size, row.mtime_ns) == ("longer", now.content_hash, 99, 7)
    assert (row.modified_at, row.metadata, row.tags) == (now.modified_at, {"turns": 3}, ("animal", "new", "red"))
    assert row.created_at  # when it came in first


@pytest.mark.parametrize(
    "changed",
    [
        chunk("blue wolf"),
        chunk("blue fox", start_line=2),
        chunk("blue fox", metadata={"turns": 2}),
        chunk("blue fox", page=1),
    ],
)
def test_a_chunk_that_has_another_text_place_or_metadata_is_another_one(changed, writer):
    with writer.transaction() as seq:
        assert writer.append(1, document("a", chunks=(changed,), size=3), {}, "made-up", first_chunk=1, seq=seq) == 1
    assert [row.id for row in documents.chunks_of(writer.connection, 1)] == [1, 4]
    assert writer.connection.execute("SELECT id FROM deleted_chunks").fetchall() == [(2,)]


def test_what_grows_into_content_that_is_there_is_refused_as_a_whole(writer):
    there = documents.by_id(writer.connection, 2)
    now = document("a", "new fox", content_hash=there.content_hash)
    with pytest.raises(sqlite3.IntegrityError), writer.transaction() as seq:
        writer.append(1, now, {}, "made-up", first_chunk=0, seq=seq)
    assert [row.text for row in documents.chunks_of(writer.connection, 1)] == ["red fox", "blue fox"]


def test_the_tail_of_a_conversation_begins_with_its_last_exchange(writer):
    pieces = [
        chunk(f"turn {number}", start_line=10 * number, metadata={"turns": turns, **({"opens": True} if opens else {})})
        for number, (turns, opens) in enumerate([(3, True), (2, True), (0, False), (1, False)], start=1)
    ]
    with writer.transaction() as seq:
        document_id = writer.insert(document("talk", chunks=tuple(pieces)), {}, "made-up", seq=seq)
    assert documents.tail_of(writer.connection, document_id) == documents.Tail(first_chunk=1, line=20, turns=3)
    assert documents.tail_of(writer.connection, 1) is None


def test_a_page_of_hits_counts_the_chunks_of_each_document_once(tmp_path):
    """Counted for each hit, a page of a long document took time with the square of its length. SQLite's own steps are counted."""

    def steps(chunk_count):
        small_store.create(tmp_path / str(chunk_count), document("long", *map(str, range(chunk_count))))
        with store.reading(tmp_path / str(chunk_count)) as reader:
            ids = [row.id for row in documents.chunks_of(reader.connection, 1)]
            count = 0

            def step():
                nonlocal count
                count += 1

            reader.connection.set_progress_handler(step, 10)
            found = documents.cited(reader.connection, ids)
            reader.connection.set_progress_handler(None, 0)
        assert {row.chunk_count for _, row in found.values()} == {chunk_count} == {len(found)}
        return count

    assert steps(400) < 3 * steps(200)
