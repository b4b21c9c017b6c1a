"""Which hits fill a page: not one document's alone; neighbours together for a person; tags with what they mean."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import running
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.render_search import _runs
from kb.hits import PER_DOCUMENT
from kb.wire_search import Hit, HitSource, ScoreBreakdown

BOOK = "\n\n".join(f"# Part {number}\n\n{'red ' * 60}" for number in range(8))


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def shelf(kb, tmp_path):
    """A book of eight passages that are almost the same, and four others that hold the word once."""
    others = {f"{name}.md": f"a {name} of red and other colours, which are not told of here" for name in "abcd"}
    running.write(tmp_path / "docs", {"book.md": BOOK, **others})
    assert kb("add", "docs", "-r").code == 0
    return partial(kb, "search", "-j", "--mode", "keyword")


def titles(ran):
    return [Path(hit["source"]["path"]).stem for hit in ran.json["results"]]


def test_one_document_does_not_fill_the_page_where_others_have_hits(shelf):
    found = titles(shelf("-n", 7, "red"))

    assert found.count("book") == PER_DOCUMENT
    assert sorted(set(found)) == ["a", "b", "book", "c", "d"]


def test_a_page_is_filled_up_where_the_others_are_too_few(shelf):
    found = shelf("-n", 10, "red")

    assert titles(found).count("book") == 6
    assert len(titles(found)) == 10
    scores = [hit["score"] for hit in found.json["results"]]
    assert scores == sorted(scores, reverse=True)


def test_a_document_alone_fills_its_page(shelf):
    assert titles(shelf("--path", "book.md", "red")) == ["book"] * 8


def test_what_is_far_down_takes_no_place(kb, tmp_path):
    """Other documents are looked for among three times as many hits as are shown."""
    running.write(tmp_path / "docs", {"book.md": BOOK, "a.md": "red and more of other colours"})
    kb("add", "docs", "-r")

    assert titles(kb("search", "-j", "--mode", "keyword", "-n", 2, "red")) == ["book"] * 2


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_limit_that_is_said_holds(shelf, limit):
    found = titles(shelf("-n", 20, "--per-document", limit, "red"))

    assert found.count("book") == limit
    assert len(found) == limit + 4


def test_group_is_one_a_document(shelf, kb):
    assert titles(shelf("--group", "red")) == titles(shelf("--per-document", 1, "red"))
    assert kb("search", "--group", "--per-document", 2, "red").code == 2
    assert kb("search", "--per-document", 0, "red").code == 2


def test_the_hits_of_several_queries_are_spread_alike(shelf):
    fused = shelf("-n", 7, "--also", "red red", "red").json["fused"]

    assert [hit["source"]["title"] for hit in fused].count("Part 0") == PER_DOCUMENT


# Neighbours


def test_a_person_sees_neighbours_as_one_entry(shelf, kb):
    hits = shelf("--path", "book.md", "red").json["results"]

    shown = kb("search", "--format", "human", "--mode", "keyword", "--path", "book.md", "red").stdout

    assert [line for line in shown.splitlines() if line.startswith(("1.", "2."))] == [shown.splitlines()[0]]
    assert f"chunks {', '.join(str(hit['chunk_id']) for hit in hits)}" in shown
    assert f"lines 1-{max(hit['source']['lines'][1] for hit in hits)}" in shown


def hit(number, document, index):
    source = HitSource(
        document_id=document, title="t", path=None, type="text", page=None, lines=None, heading="", chunk_index=index,
        total_chunks=9, tags=(), stale=False,
    )  # fmt: skip
    return Hit(
        chunk_id=number, score=0.5, score_breakdown=ScoreBreakdown(fts=None, vector=None), text="", source=source
    )


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 8)), unique=True))
def test_runs_are_whole_and_apart(places):
    """Every hit is in one run, at the place of its best; a run has no gap, and none follows another."""
    hits = [hit(number, document, index) for number, (document, index) in enumerate(places)]

    runs = _runs(hits)

    assert sorted(each.chunk_id for run in runs for each in run) == [each.chunk_id for each in hits]
    assert [run[0].chunk_id for run in runs] == sorted(min(each.chunk_id for each in run) for run in runs)
    spans = []
    for run in runs:
        indices = sorted(each.source.chunk_index for each in run)
        assert indices == list(range(indices[0], indices[-1] + 1))
        assert len({each.source.document_id for each in run}) == 1
        spans.append((run[0].source.document_id, indices[0], indices[-1]))
    assert not any(a[0] == b[0] and a[2] + 1 == b[1] for a in spans for b in spans)


# Tags


def test_hits_carry_what_their_tags_mean(kb, tmp_path):
    running.write(tmp_path / "docs", {"a.md": "red one", "b.md": "red two"})
    kb("add", "docs/a.md", "--tag", "ops", "--tag", "plain")
    kb("add", "docs/b.md", "--tag", "plain")
    kb("tag", "describe", "ops", "Lab operations runbooks")

    hits = {hit["source"]["title"]: hit["tag_contexts"] for hit in kb("search", "-j", "red").json["results"]}
    fused = kb("search", "-j", "red", "--also", "one").json["fused"]
    shown = kb("search", "--format", "human", "red").stdout

    assert hits == {"a": [{"tag": "ops", "description": "Lab operations runbooks"}], "b": []}
    assert {hit["source"]["title"]: hit["tag_contexts"] for hit in fused} == hits
    assert shown.count("tag ops: Lab operations runbooks") == 1
