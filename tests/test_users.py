"""What users of such tools complain about most, one test each, named after the complaint.

Elsewhere: "one hit a file" and the filters in test_search; a closed pipe, unknown flags and logs in JSON in test_cli;
moved files, symbolic links, broken files and interruptions in test_add; locks in the tests of the store.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import running

HEAVY = ("onnxruntime", "pymupdf", "docling", "huggingface_hub")


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def docs(kb, tmp_path):
    """Write files and add them; the folder."""

    def added(**texts: str):
        folder = running.write(tmp_path / "docs", {f"{name}.md": text for name, text in texts.items()})
        kb("add", folder, "-r")
        return folder

    return added


def keyword(kb, *arguments: object) -> dict:
    return kb("search", "-j", "--mode", "keyword", *arguments).json


def test_one_hit_a_file_makes_big_files_useless(kb, docs):
    docs(big="\n\n".join(f"# Part {number}\n\n{'red lamp words ' * 40}" for number in range(6)))

    hits = keyword(kb, "lamp")["results"]

    assert len({hit["source"]["chunk_index"] for hit in hits}) == len(hits) == 6
    assert len(keyword(kb, "--group", "lamp")["results"]) == 1


def test_edited_and_deleted_files_are_served_silently(kb, docs):
    folder = docs(edited="red lamp", deleted="red door")
    (folder / "edited.md").write_text("blue")
    (folder / "deleted.md").unlink()

    assert [hit["source"]["stale"] for hit in keyword(kb, "red")["results"]] == [True, True]
    assert kb("search", "--format", "human", "--mode", "keyword", "red").stdout.count("STALE") == 2


def test_the_top_score_is_high_even_for_nonsense(tmp_path):
    """With the default model: a hit that is not about the query is said to be none."""
    running.write(
        tmp_path / "docs", {"a.md": "Bake the bread for an hour.", "b.md": "The password is reset in the settings."}
    )
    running.here(tmp_path, "add", "docs", "-r")

    def warned(query: str) -> bool:
        answer = running.here(tmp_path, "search", "-j", query).json
        return any(warning.startswith("no good match") for warning in answer["warnings"])

    assert warned("orbital mechanics of binary asteroids")
    assert not warned("how do I bake bread")
    assert not warned("forgotten credentials")


def test_a_question_in_plain_words_finds_nothing(kb, docs):
    docs(heat="Warm bodies lose heat to cold ones.", other="Nothing of the kind.")

    [best, *_] = keyword(kb, "what is it that makes a warm body lose its heat to the environment?")["results"]

    assert best["source"]["title"] == "heat"


def test_a_keyword_search_loads_a_model(docs, tmp_path, roomy_folder):
    docs(a="red lamp")

    assert loaded_by(tmp_path, roomy_folder, "search", "--mode", "keyword", "red") == set()
    assert loaded_by(tmp_path, roomy_folder, "--help") == set()
    assert loaded_by(tmp_path, roomy_folder, "list") == set()
    assert loaded_by(tmp_path, roomy_folder, "search", "red") == {"onnxruntime"}


def loaded_by(folder, model, *arguments: str) -> set[str]:
    """Which of the heavy packages a command imports."""
    program = (
        "import sys; from kb.cli.door import run; run(sys.argv[1:]);"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=running.environment(folder / "store", KB_MODEL=model),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("データベースは検索できます。", "検索"),
        ("数据库支持全文检索功能", "全文检索"),
        ("데이터베이스는 검색할 수 있다", "데이터베이스"),
        ("ฐานข้อมูลค้นหาได้", "ค้นหา"),
        ("Поиск по базе данных", "данных"),
        ("Die Größe der Straße", "strasse groesse Größe"),
        ("café crème", "cafe creme"),
    ],
)
def test_text_in_other_scripts_finds_nothing(kb, docs, text, query):
    docs(a=text, b="something else")

    assert [hit["source"]["title"] for hit in keyword(kb, query)["results"]][:1] == ["a"]


def test_an_empty_result_and_a_failure_look_the_same(kb, docs):
    docs(a="red lamp")

    nothing, filtered, failed = (
        kb("search", "-j", "--mode", "keyword", *arguments)
        for arguments in (["zzzz"], ["--tag", "none", "red"], ["--since", "never", "red"])
    )

    assert (nothing.code, nothing.json["results"]) == (0, [])
    assert nothing.json["warnings"] == ['no document has "zzzz"; similar words were searched where there are any']
    assert (filtered.code, filtered.json["warnings"]) == (0, ["no document passes the filters"])
    assert (failed.code, "error" in failed.json) == (2, True)


def test_changing_the_model_wipes_the_index(kb, docs, tmp_path, tiny_folder, roomy_folder):
    docs(a="red lamp", b="green door")
    other = {"KB_MODEL": tiny_folder}

    refused = kb("search", "-j", "red", **other)
    switched = kb("reindex", "-j", "--model", tiny_folder)
    found = kb("search", "-j", "--mode", "semantic", "green", **other).json

    assert (refused.code, refused.json["error"]["code"]) == (5, "ModelMismatch")
    assert switched.json["embedded"] == 2
    assert switched.json["warnings"] == [f"KB_MODEL still says {roomy_folder}: unset it, or set it to {tiny_folder}"]
    assert found["results"][0]["source"]["title"] == "b"


def test_the_hub_is_contacted_or_hangs_offline(tmp_path):
    """A missing model is an error at once that names the command; nothing is asked of the network."""
    running.write(tmp_path / "docs", {"a.md": "red"})
    missing = {"KB_MODEL": "intfloat/e5-small-v2", "HF_HUB_CACHE": tmp_path, "HF_ENDPOINT": "http://127.0.0.1:9"}
    running.here(tmp_path, "add", "docs", "-r", **missing)

    ran = running.here(tmp_path, "search", "-j", "--mode", "semantic", "red", **missing)

    assert (ran.code, ran.json["error"]["code"]) == (6, "ModelMissing")
    assert "kb init --model intfloat/e5-small-v2" in ran.json["error"]["hint"]


def test_paths_are_rewritten_so_that_an_agent_cannot_open_them(kb, tmp_path):
    name = "Ünïcode & spaces (1).md"
    running.write(tmp_path / "My Docs", {name: "red"})
    kb("add", "My Docs", "-r")

    [hit] = keyword(kb, "red")["results"]

    assert hit["source"]["path"] == f"{tmp_path}/My Docs/{name}"
    assert Path(hit["source"]["path"]).read_text() == "red"


def test_node_modules_and_ignored_files_are_indexed(kb, tmp_path):
    running.write(
        tmp_path / "docs", {".gitignore": "node_modules/\n", "node_modules/x/README.md": "red", "a.md": "red"}
    )

    assert kb("add", "docs", "-r", "-j").json["added"] == 1


@pytest.mark.parametrize(
    "query", ["C++", "rm -rf", "foo-bar", "a.b.c", "x/y", '"unbalanced', "it's", "user@host", "#hash", "$PATH", "&&"]
)
def test_hyphens_dots_and_quotes_break_the_search(kb, docs, query):
    docs(a=f"before {query} after", b="before after")

    ran = kb("search", "-j", "--mode", "keyword", "--", query)

    assert ran.code == 0
    if any(character.isalnum() for character in query):
        assert ran.json["results"][0]["source"]["title"] == "a"


def test_typos_find_nothing(kb, docs):
    docs(a="the thermodynamics of lamps", b="something else")

    assert [hit["source"]["title"] for hit in keyword(kb, "thermodynamcis")["results"]] == ["a"]


def test_a_hit_has_no_page_line_or_heading_to_cite(kb, docs):
    folder = docs(a=f"# Top\n\n{'intro ' * 60}\n\n## Lamps\n\nThe red lamp.\n{'more ' * 60}")

    hit = keyword(kb, "lamp")["results"][0]
    first, last = hit["source"]["lines"]

    assert hit["source"]["heading"] == "Top > Lamps"
    assert "The red lamp." in (folder / "a.md").read_text().splitlines()[first - 1 : last]
    assert "The red lamp." in kb("get", hit["source"]["path"], "--lines", f"{first}:{last}").stdout
    assert "The red lamp." in kb("get", hit["chunk_id"], "--around", 0).stdout


def test_json_is_accepted_and_ignored(kb, docs):
    docs(a="red")

    for arguments in (
        ["list"],
        ["show", "1"],
        ["get", "1"],
        ["tag", "list"],
        ["status"],
        ["doctor"],
        ["config"],
        ["compact"],
    ):
        json.loads(kb(*arguments, "--json").stdout)


def test_logs_and_bars_are_mixed_into_json(tmp_path, roomy_folder):
    """A file with a warning, one that fails, and a link: all of it is in the answer."""
    folder = running.write(tmp_path / "docs", {"a.md": "---\nx: [\n---\nred", "bad.pdf": "no pdf"})
    (folder / "link.md").symlink_to(folder / "a.md")

    ran = running.process(tmp_path, "add", "docs", "-r", "-j", KB_MODEL=roomy_folder)

    assert (ran.code, ran.stderr) == (7, "")
    assert len(ran.json["warnings"]) == 2
    assert ran.json["documents"][1]["status"] == "failed"


def test_a_broken_file_is_tried_for_ever(kb, tmp_path):
    running.write(tmp_path / "docs", {"bad.pdf": "no pdf"})
    kb("add", "docs", "-r")

    [again] = kb("add", "docs", "-r", "-j").json["documents"]

    assert "failed before and has not changed" in again["reason"]
