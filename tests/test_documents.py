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
