"""Tags in SQLite."""

from __future__ import annotations

import pytest
from small_store import document

from index import documents, store, tags
from index.tags import TagRow


@pytest.fixture
def connection(data_dir, make_store):
    make_store(document("a", "one", tags=("red", "big")), document("b", "two", tags=("red",)))
    with store.writing(data_dir) as writer, writer.transaction():
        yield writer.connection


def test_every_tag_comes_with_how_many_documents_have_it(connection):
    assert tags.every(connection) == [TagRow("big", "", 1), TagRow("red", "", 2)]


def test_a_tag_given_twice_is_there_once(connection):
    tags.attach(connection, 1, ["red", "red"])
    assert documents.by_id(connection, 1).tags == ("big", "red")


def test_a_tag_that_nothing_has_and_nobody_described_is_forgotten(connection):
    tags.describe(connection, "red", "of the colour red")
    tags.detach(connection, 1, ["big", "red"])
    tags.detach(connection, 2, ["red"])
    assert tags.every(connection) == [TagRow("red", "of the colour red", 0)]


def test_a_tag_may_be_described_before_it_is_used_and_anew(connection):
    tags.describe(connection, "new", "first")
    tags.describe(connection, "new", "second")
    assert TagRow("new", "second", 0) in tags.every(connection)


def test_taking_a_tag_that_is_not_there_changes_nothing(connection):
    tags.detach(connection, 1, ["no such tag"])
    assert documents.by_id(connection, 1).tags == ("big", "red")


def test_tags_of_a_removed_document_do_not_count(connection):
    documents.delete(connection, [1])
    tags.forget_unused(connection)
    assert tags.every(connection) == [TagRow("red", "", 1)]
