"""The file of questions, and how it names documents."""

from __future__ import annotations

import json

import pytest
import small_store

from index import documents
from index.store import reading
from kb import fixture
from kb.errors import BadRequest, NotFound
from kb.fixture import Library


@pytest.fixture
def load(tmp_path):
    def load(*queries):
        path = tmp_path / "fixture.json"
        path.write_text(json.dumps({"queries": queries}))
        return fixture.load(path).queries

    return load


@pytest.fixture
def library(make_store, data_dir):
    make_store(
        small_store.document("notes/Apples.md", "apples", title="On apples"),
        small_store.document("old/notes/apples.md", "old apples", title="Old"),
        small_store.document("pineapples.md", "pineapples", title="Fruit"),
        small_store.document("pears.md", "pears", title="Fruit"),
        small_store.document("note", "a note", title="Just a note", source_path=None),
    )
    with reading(data_dir) as reader:
        return Library(documents.page_of(reader.connection, None, limit=None, offset=0))


def test_a_question_needs_its_words_and_one_relevant_document_only(load):
    [question] = load({"query": "apples", "relevant": ["a.md"]})

    assert (question.name, question.type, question.cutoff, question.grades) == ("apples", "", None, {"a.md": 1})


def test_documents_may_have_grades(load):
    [question] = load({"query": "q", "relevant": [3, "a.md", {"document": "b.md", "grade": 2}]})

    assert question.grades == {"3": 1, "a.md": 1, "b.md": 2}


def test_qmd_s_fields_are_read(load):
    """`description` and other fields that are not needed are passed over."""
    [question] = load(
        {
            "id": "x",
            "query": "q",
            "type": "alias",
            "description": "-",
            "expected_files": ["a.md"],
            "expected_in_top_k": 3,
        }
    )

    assert (question.name, question.type, question.cutoff, question.grades) == ("x", "alias", 3, {"a.md": 1})


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        ([], "holds no queries"),
        ([{"query": " ", "relevant": ["a"]}], "is empty"),
        ([{"query": "q"}], "names no relevant document"),
        ([{"query": "q", "relevant": ["a"]}, {"query": "r", "id": "q", "relevant": ["a"]}], "2 queries are called 'q'"),
        ([{"query": "q", "relevant": [{"document": "a", "grade": 0}]}], "grade"),
        ([{"query": "q", "relevant": [{"document": "a", "grades": 1}]}], "grades"),
        ([{"query": "q", "relevant": ["a"], "k": 0}], "k"),
    ],
)
def test_a_fixture_that_cannot_be_measured_is_refused(load, queries, said):
    with pytest.raises(BadRequest, match=said):
        load(*queries)


def test_a_file_that_is_no_json_or_not_there_is_an_error(tmp_path):
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(BadRequest, match=r"broken\.json"):
        fixture.load(tmp_path / "broken.json")
    with pytest.raises(NotFound, match="missing"):
        fixture.load(tmp_path / "missing")


@pytest.mark.parametrize(
    ("called", "ids"),
    [
        ("5", {5}),
        ("/made/up/pears.md", {4}),
        ("pears.md", {4}),
        ("PEARS.md", {4}),
        ("apples.md", {1, 2}),
        ("old/notes/apples.md", {2}),
        ("qmd://collection/old/notes/apples.md", {2}),
        ("on apples", {1}),
        ("Fruit", {3, 4}),
        ("just a note", {5}),
        ("ears.md", set()),
        ("6", set()),
    ],
)
def test_a_document_is_named_by_id_path_end_of_path_or_title(library, called, ids):
    assert library.find(called) == ids
