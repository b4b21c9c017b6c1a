"""Which documents a filter admits."""

from __future__ import annotations

import pytest
from small_store import chunk, document

from index import filters, store
from index.filters import Admitted, Filter


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
    assert filters.admitted(connection, Filter()) is None


@pytest.mark.parametrize(
    "wanted", [Filter(path_glob="*"), Filter(since="2026"), Filter(types=("code", "note", "markdown"))]
)
def test_what_is_true_of_all_documents_is_no_condition(connection, wanted):
    """A note has no path."""
    admitted = filters.admitted(connection, wanted)
    assert admitted == (Admitted(documents=frozenset({1, 2})) if wanted.path_glob else None)


def test_what_is_true_of_documents_admits_documents(connection):
    """Without times in them and without --role there are no single chunks to look for."""
    assert filters.admitted(connection, Filter(tags=("red",), since="2026-02-01T00:00:00+00:00")) == Admitted(
        documents=frozenset({2})
    )


def test_the_chunks_of_the_admitted_come_ascending(connection):
    assert filters.chunk_ids(connection, frozenset({3, 1})).tolist() == [1, 2, 4]
    assert filters.chunk_ids(connection, frozenset()).tolist() == []


def test_single_chunks_come_with_those_of_the_documents(connection):
    assert filters.chunk_ids(connection, frozenset({2}), frozenset({1, 4})).tolist() == [1, 3, 4]


@pytest.fixture
def talks(data_dir, make_store):
    """A text of February, a talk of January and February, one of February, and one that says no times."""

    def turn(text, roles, begun=None, ended=None, **others):
        times = {"from": begun, "to": ended} if begun else {}
        return chunk(text, metadata={"roles": list(roles), **times, **others})

    def at(day):
        return f"{day}T10:00:00+00:00"

    january, february = at("2026-01-20"), at("2026-02-10")
    make_store(
        document("a.md", "one", doc_type="markdown", modified_at=at("2026-02-20"), metadata={"started": "long ago", "ended": "x"}),
        document("b", doc_type="transcript", modified_at=at("2026-03-01"), metadata={"started": january, "ended": february},
            chunks=(turn("two", ["user"], january, january), turn("three", ["assistant"], january, at("2026-01-31")),
                turn("four", ["user", "tool"], february, february), turn("five", [], speakers=["Anna Meier"]))),
        document("c", doc_type="transcript", modified_at=at("2026-01-01"), metadata={"started": february, "ended": february},
            chunks=(turn("six", ["user"], february, february),)),
        document("d", doc_type="transcript", modified_at=at("2026-02-05"), chunks=(turn("seven", ["assistant"]),)),
    )  # fmt: skip
    with store.reading(data_dir) as reader:
        yield reader.connection


FEBRUARY, MARCH = "2026-02-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("wanted", "documents", "chunks"),
    [
        (Filter(since=FEBRUARY, before=MARCH), {1, 3, 4}, {4}),
        (Filter(since=FEBRUARY), {1, 3, 4}, {4, 5}),  # a chunk that says no time is as old as its document
        (Filter(before=FEBRUARY), set(), {2, 3}),
        (Filter(before=FEBRUARY, types=("markdown",)), set(), set()),
        (Filter(types=("transcript",)), {2, 3, 4}, set()),
        (Filter(roles=("user",)), set(), {2, 4, 6}),
        (Filter(roles=("USER", "anna meier")), set(), {2, 4, 5, 6}),
        (Filter(roles=("user",), since=FEBRUARY), set(), {4, 6}),
        (Filter(roles=("assistant",), since=FEBRUARY), set(), {7}),
        (Filter(roles=("tool",), types=("markdown",)), set(), set()),
        (Filter(roles=("nobody",)), set(), set()),
    ],
)
def test_who_speaks_and_when_is_asked_of_each_chunk(talks, wanted, documents, chunks):
    """A talk that lies in the period as a whole is admitted as a document; of one that crosses its ends single chunks are."""
    admitted = filters.admitted(talks, wanted)
    assert (admitted.documents, admitted.chunks) == (documents, chunks)
    assert bool(admitted) is bool(documents or chunks)


def test_a_list_names_a_talk_of_which_any_part_is_in_the_period(talks):
    assert filters.document_ids(talks, Filter(since=FEBRUARY)) == {1, 2, 3, 4}
    assert filters.document_ids(talks, Filter(before=FEBRUARY)) == {2}


def test_values_are_never_read_as_sql(connection):
    assert filters.document_ids(connection, Filter(types=("x') OR 1 --",), tags=("' OR 1 --",))) == set()
    assert not filters.admitted(connection, Filter(roles=("' OR 1 --",), since="' OR 1 --"))


def test_more_documents_than_sqlite_binds_are_no_error(connection):
    """32,766 variables a statement is the default of SQLite 3.32 and later."""
    assert filters.chunk_ids(connection, frozenset(range(3, 50_000))).tolist() == [4]
