"""`kb search --fresh`: what changed in the sources is looked for first, for as long as the search may wait."""

from __future__ import annotations

import os
import shutil
from functools import partial
from time import monotonic, sleep

import pytest
import running
from unprivileged import permissions_hold

from kb import __version__
from kb.daemon.answering import DECLINE, Request, reply

PROSE = "Heat flows from the warm body to the cold one until both are equally warm. "
LONG = 60
"""Seconds: a sync starts a process, and this machine may be busy."""


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder, KB_FRESH_TIMEOUT_S=LONG)


@pytest.fixture
def docs(tmp_path, kb):
    folder = running.write(tmp_path / "docs", {f"{name}.md": f"{PROSE} {name}" for name in "abc"})
    kb("source", "add", "docs", "--describe", "What I read", "--tag", "x")
    kb("sync")
    return folder


def search(kb, *arguments, **variables):
    return kb("search", "-j", "--mode", "keyword", *arguments, **variables).json


def test_new_and_changed_files_are_in_the_answer(docs, kb):
    (docs / "new.md").write_text("a walrus")
    (docs / "a.md").write_text("a penguin")
    assert search(kb, "walrus")["results"] == []

    answer = search(kb, "walrus", "--fresh")

    assert ([hit["text"] for hit in answer["results"]], answer["warnings"]) == (["a walrus"], [])
    assert [hit["text"] for hit in search(kb, "penguin")["results"]] == ["a penguin"]


def test_a_setting_makes_every_search_look_first(docs, kb):
    (docs / "new.md").write_text("a walrus")

    assert search(kb, "walrus", "--no-fresh", KB_FRESH="true")["results"] == []
    assert len(search(kb, "walrus", KB_FRESH="true")["results"]) == 1


def test_out_of_time_it_answers_with_a_warning_and_the_sync_goes_on(docs, kb):
    (docs / "new.md").write_text("a walrus")

    answer = search(kb, "heat", "--fresh", KB_FRESH_TIMEOUT_S=0.05)

    assert answer["results"]
    [warning] = answer["warnings"]
    assert "longer than 0.05 s" in warning
    until = monotonic() + LONG
    while "took longer" not in warning and not search(kb, "walrus")["results"]:
        assert monotonic() < until
        sleep(0.1)


def test_a_source_that_is_not_there_is_said_and_nothing_is_removed(docs, kb):
    shutil.rmtree(docs)

    answer = search(kb, "heat", "--fresh")

    assert answer["warnings"] == [f"{docs} is not there: the answer has what was in it"]
    assert len(answer["results"]) == 3


def test_a_source_that_is_emptied_is_said_and_nothing_is_removed(docs, kb):
    for path in docs.iterdir():
        path.unlink()

    answer = search(kb, "heat", "--fresh")

    assert answer["warnings"] == ["more than half of a source is gone and stays in the answers: kb sync says which"]
    assert len(answer["results"]) == 3


def test_what_cannot_be_read_starts_no_sync(docs, kb, tmp_path):
    (docs / "a.md").write_text("changed")
    (docs / "a.md").chmod(0)
    with permissions_hold():
        kb("sync")
        before = (tmp_path / "store/run/sync.lock").read_text()
        assert search(kb, "heat", "--fresh", KB_FRESH_TIMEOUT_S=0.5)["warnings"] == []

    assert (tmp_path / "store/run/sync.lock").read_text() == before


def test_several_questions_are_asked_after_one_look(docs, kb):
    (docs / "new.md").write_text("a walrus")

    assert len(search(kb, "walrus", "--also", "heat", "--fresh")["answers"][0]["results"]) == 1


def test_a_hit_says_which_source_it_is_of(docs, kb):
    kb("add", "--note", "heat of the moment")

    hits = search(kb, "heat")["results"]

    assert {
        hit["source"]["title"]: hit["source_context"]
        for hit in hits
        if hit["source"]["title"] in "a heat of the moment"
    } == {
        "a": {"name": "docs", "description": "What I read"},
        "heat of the moment": None,
    }
    assert hits[0]["source"]["tags"] in (["x"], [])
    assert "in docs" in kb("search", "--format", "human", "--mode", "keyword", "heat").stdout


@pytest.mark.parametrize(("arguments", "variables"), [(("--fresh",), {}), ((), {"KB_FRESH": "true"})])
def test_the_daemon_which_does_not_write_declines(docs, tmp_path, arguments, variables):
    environ = {"HOME": os.environ.get("HOME", ""), "KB_MODEL": "", **variables}
    request = Request(__version__, "run", False, str(tmp_path), ("search", "-j", "heat", *arguments), environ)

    assert reply(request, tmp_path / "store") == DECLINE
