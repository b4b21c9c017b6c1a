"""Several stores: which one is meant, and a search over more than one."""

from __future__ import annotations

import json
import os

import pytest
from running import here, process, write

from kb.whichstore import named, nearest, run_folder


@pytest.fixture
def project(tmp_path, tiny_folder):
    """A project with a store of its own, and the user's home beside it."""
    write(tmp_path / "project", {"red.md": "# Red\n\nThe red house.", "src/deep/code.py": "pass"})
    write(tmp_path / "home", {"green.md": "# Green\n\nThe green house."})
    (tmp_path / "project" / ".kb").mkdir()

    def kb(folder, *arguments, **variables):
        wanted = {"KB_MODEL": tiny_folder, "HOME": tmp_path / "home", "KB_DATA_DIR": "", **variables}
        return here(folder, *arguments, **wanted)

    assert kb(tmp_path / "project" / "src", "add", "../red.md").code == 0
    assert kb(tmp_path / "home", "add", "green.md").code == 0
    return kb


def titles(done):
    assert done.code == 0, done
    return [hit["source"]["title"] for hit in json.loads(done.stdout)["results"]]


def test_a_projects_own_store_is_found_from_below_and_the_users_elsewhere(project, tmp_path):
    assert titles(project(tmp_path / "project/src/deep", "search", "-j", "house")) == ["Red"]
    assert titles(project(tmp_path, "search", "-j", "house")) == ["Green"]
    assert (tmp_path / "home/.kb/kb.db").exists()


def test_the_variable_outweighs_what_is_found_and_the_option_both(project, tmp_path):
    home = tmp_path / "home/.kb"
    assert titles(project(tmp_path / "project", "search", "-j", "house", KB_DATA_DIR=home)) == ["Green"]
    own = project(tmp_path / "project", "search", "-j", "house", "--store", ".kb", KB_DATA_DIR=home)
    assert titles(own) == ["Red"]


def test_a_name_is_a_folder_below_the_users_store(project, tmp_path):
    assert project(tmp_path, "add", "--note", "the blue house", "--store", "work").code == 0
    assert (tmp_path / "home/.kb/stores/work/kb.db").exists()
    assert project(tmp_path, "list", "-j", "--store", "work").json["total"] == 1
    assert project(tmp_path, "tag", "list", "-j", "--store", "work").code == 0


def test_two_stores_are_searched_as_one(project, tmp_path):
    """Best first, each hit with its store; so many as were asked for."""
    stores = [str(tmp_path / "home/.kb"), str(tmp_path / "project/.kb")]
    both = project(tmp_path, "search", "-j", "house", *(word for store in stores for word in ("--store", store)))
    answer = both.json
    assert sorted(titles(both)) == ["Green", "Red"]
    assert {hit["store"] for hit in answer["results"]} == set(stores)
    scores = [hit["score"] for hit in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert (answer["returned"], answer["total_matches"]) == (2, 2)
    one = project(tmp_path, "search", "-j", "house", "-n", "1", "--store", stores[0], "--store", stores[1])
    assert titles(one) == titles(both)[:1]


def test_two_stores_answer_several_queries(project, tmp_path):
    stores = [str(tmp_path / "home/.kb"), str(tmp_path / "project/.kb")]
    asked = ["search", "-j", "red", "--also", "keyword:green"]
    answer = project(tmp_path, *asked, "--store", stores[0], "--store", stores[1]).json
    assert [each["query"] for each in answer["answers"]] == ["red", "green"]
    assert {hit["store"] for hit in answer["fused"]} == set(stores)


def test_a_name_that_no_store_has_is_answered_with_the_names_there_are(project, tmp_path):
    missing = project(tmp_path, "search", "-j", "house", "--store", "wrok")
    assert missing.code == 3
    assert missing.json["error"]["hint"] == "stores called by name: none; kb add PATH --store wrok makes it"
    project(tmp_path, "add", "--note", "the blue house", "--store", "work")
    (tmp_path / "home/.kb/stores/empty").mkdir()

    asked = {name: project(tmp_path, "list", "-j", "--store", name).json["error"] for name in ("wrok", "./wrok")}

    assert asked["wrok"]["hint"] == "stores called by name: work; kb add PATH --store wrok makes it"
    assert asked["./wrok"]["hint"] == "kb add PATH --store ./wrok makes it"
    assert {error["code"] for error in asked.values()} == {"StoreMissing"}


def test_a_warning_says_which_store_it_is_about(project, tmp_path):
    stores = [str(tmp_path / "home/.kb"), str(tmp_path / "project/.kb")]
    answer = project(tmp_path, "search", "-j", "--store", stores[0], "--store", stores[1], "--", "-house").json
    assert [warning.partition(": ")[0] for warning in answer["warnings"]] == stores


def test_a_store_that_is_not_there_is_told_by_its_path(project, tmp_path):
    done = project(tmp_path, "search", "-j", "house", "--store", "none")
    assert done.code == 3
    assert str(tmp_path / "home/.kb/stores/none") in done.json["error"]["message"]
    assert project(tmp_path, "search", "house", "--store", " ").code == 2


def test_a_process_finds_the_projects_store_too(project, tmp_path, tiny_folder):
    variables = {"KB_MODEL": tiny_folder, "HOME": tmp_path / "home", "KB_DATA_DIR": ""}
    done = process(tmp_path / "project/src/deep", "search", "-j", "house", **variables)
    assert titles(done) == ["Red"]


def test_the_nearest_folder_wins_and_a_file_is_none(tmp_path):
    for folder in ("a/.kb", "a/b/c"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a/b/.kb").write_text("")
    assert nearest(str(tmp_path / "a/b/c")) == str(tmp_path / "a/.kb")
    (tmp_path / "a/b/c/.kb").mkdir()
    assert nearest(str(tmp_path / "a/b/c")) == str(tmp_path / "a/b/c/.kb")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_store_that_belongs_to_somebody_else_is_passed_over(tmp_path):
    (tmp_path / ".kb").mkdir()
    os.chown(tmp_path / ".kb", 65534, 65534)
    assert nearest(str(tmp_path)) != str(tmp_path / ".kb")


@pytest.mark.parametrize(
    ("name", "folder"),
    [("work", "~/.kb/stores/work"), ("./work", "./work"), ("a/b", "a/b"), (".kb", ".kb"), ("~/w", "~/w"), ("/w", "/w")],
)
def test_what_looks_like_a_path_is_one(name, folder):
    assert named(name) == folder


def test_the_daemon_is_looked_for_in_the_store_that_is_meant(tmp_path):
    (tmp_path / ".kb").mkdir()
    assert run_folder({"HOME": "/home/a"}, str(tmp_path)) == f"{tmp_path}/.kb/run"
    assert run_folder({"HOME": "/home/a", "KB_DATA_DIR": "~/x"}, str(tmp_path)) == "/home/a/x/run"
