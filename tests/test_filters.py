"""Which documents a filter admits."""

from __future__ import annotations

import pytest
from small_store import document

from index import filters, store
from index.filters import Filter


@pytest.fixture
def connection(data_dir, make_store):
    make_store(
        document(
            "src/a.py", "one", "two", tags=("red", "big"), doc_type="code", modified_at="2026-01-31T23:59:59+00:00"
        ),
        document("notes/b.md", "three", tags=("red",), doc_type="markdown", modified_at="2026-02-01T00:00:00+00:00"),
        document("c", "four", source_path=None, doc_type="note", modified_at="2026-03-01T00:00:00+00:00"),
    )
    with store.reading(data_dir) as reader:
        yield reader.connection


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(tags=("red",)), {1, 2}),
        (Filter(tags=("red", "big")), {1}),
        (Filter(tags=("RED",)), set()),
        (Filter(types=("code",)), {1}),
        (Filter(types=("code", "note")), {1, 3}),
        (Filter(path_glob="*.md"), {2}),
        (Filter(path_glob="/made/up/*"), {1, 2}),
        (Filter(path_glob="/made/*.py"), {1}),
        (Filter(since="2026-02-01T00:00:00+00:00"), {2, 3}),
        (Filter(before="2026-02-01T00:00:00+00:00"), {1}),
        (Filter(since="2026-02-01T00:00:00+00:00", before="2026-03-01T00:00:00+00:00"), {2}),
        (Filter(tags=("red",), types=("code", "note")), {1}),
        (Filter(tags=("no such tag",)), set()),
    ],
)
def test_all_conditions_hold_together(connection, wanted, expected):
    """Every tag, one of the types, the path (a note has none), from `since` on, before `before`."""
    assert filters.document_ids(connection, wanted) == expected


def test_no_condition_admits_all_without_asking(connection):
    assert filters.document_ids(connection, Filter()) is None


def test_the_chunks_of_the_admitted_come_ascending(connection):
    assert filters.chunk_ids(connection, frozenset({3, 1})).tolist() == [1, 2, 4]
    assert filters.chunk_ids(connection, frozenset()).tolist() == []


def test_values_are_never_read_as_sql(connection):
    assert filters.document_ids(connection, Filter(types=("x') OR 1 --",), tags=("' OR 1 --",))) == set()


def test_more_documents_than_sqlite_binds_are_no_error(connection):
    """32,766 variables a statement is the default of SQLite 3.32 and later."""
    assert filters.chunk_ids(connection, frozenset(range(3, 50_000))).tolist() == [4]
