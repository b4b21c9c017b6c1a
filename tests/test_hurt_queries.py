"""The short version of `scripts/hurt queries`, and what it found."""

from __future__ import annotations

import msgspec
import pytest
from hurting import queries

from kb import KnowledgeBase

HALF = "red \ud800"
"""Of a surrogate pair: JSON that an agent sends can hold it."""


@pytest.fixture
def folder(tmp_path, tiny_folder, monkeypatch):
    monkeypatch.setenv("KB_MODEL", str(tiny_folder))
    texts = ("red and green", "green huge C++ utf-8 snake_case", "red --force .NET max_tokens", "日本語 red")
    with KnowledgeBase.open(tmp_path / "store") as kb:
        for text in texts:
            kb.add_note(text, tags=["new"], meta={"colour": "red"})
    return tmp_path / "store"


@pytest.mark.usefixtures("put_back")
def test_random_and_hostile_queries_are_answered(folder, capsys):
    assert queries.main(["--queries", "400", "--seed", "short", "--store", str(folder), "--any-speed"]) == 0, (
        capsys.readouterr().out
    )


def test_half_of_a_surrogate_pair_is_a_sign_in_whatever_a_program_says(folder):
    """As the command line does with bytes that are no UTF-8; nothing is raised, and every answer can be JSON."""
    with KnowledgeBase.open(folder) as kb:
        added = kb.add_note(HALF, title=HALF, tags=[HALF], meta={HALF: HALF})
        answers = [
            added,
            kb.search(HALF, also=[HALF], explain=True),
            kb.search(HALF, tags=[HALF], roles=[HALF], path=HALF, meta={HALF: HALF}),
            kb.list(tags=[HALF], meta={HALF: HALF}),
            kb.tag(added.documents[0].document_id, HALF + "x"),
            kb.untag(added.documents[0].document_id, HALF),
            kb.describe_tag(HALF, HALF),
            kb.add_content(HALF, title=HALF),
        ]
        assert kb.list(meta={HALF: HALF}).documents[0].title == "red \ufffd"
    for answer in answers:
        msgspec.json.encode(answer)


def test_a_query_is_compared_with_what_is_as_much_work():
    """A page of hundreds of hits is more than one of ten, also where each is explained; nothing found is as much as ten."""
    plain, explained = (queries.Asked("", "red", {"mode": "keyword", **more}) for more in ({}, {"explain": True}))

    assert plain.load(0) == plain.load(10) == explained.load(10) == "keyword"
    assert plain.load(1000) != explained.load(1000) != plain.load(10)
    assert queries.Asked("", "red", {"mode": "keyword", "also": ["green"]}).load(10) == "keyword, 2 queries"


def test_what_was_slow_once_is_asked_again(folder, capsys):
    """A machine that was busy elsewhere is no fault of the query; nobody is told of a time below 20 times what a search may take."""
    with KnowledgeBase.open(folder) as kb:
        asking = queries.Asking(kb)
        asked = queries.Asked("seed", "red", {"mode": "keyword"})
        asking.times["keyword"] = [(0.001, asked)] * 9 + [(60.0, asked)]
        asking.judge_times()

    assert asking.faults == 0
    assert "0 beyond 20 times" in capsys.readouterr().out


def test_what_is_slow_each_time_is_a_fault(folder, capsys, monkeypatch):
    monkeypatch.setattr(queries, "LEAST_MEDIAN_S", 1e-9)
    with KnowledgeBase.open(folder) as kb:
        asking = queries.Asking(kb)
        asked = queries.Asked("seed", "red", {"mode": "keyword"})
        asking.times["keyword"] = [(1e-8, asked)] * 9 + [(60.0, asked)]
        asking.judge_times()

    assert asking.faults == 1
    assert "seed" in capsys.readouterr().out
