"""`kb add`: what goes in, what is skipped and why, and that an interruption costs nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import running

PROSE = "Heat flows from the warm body to the cold one until both are equally warm. "


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def docs(tmp_path):
    """Write files below `docs/`."""
    return partial(running.write, tmp_path / "docs")


def listed(kb) -> list[dict]:
    return kb("list", "-j", "--all").json["documents"]


def texts(kb) -> set[str]:
    return {kb("get", document["document_id"], "-j").json["text"] for document in listed(kb)}


def stored(folder: Path) -> dict[Path, bytes]:
    """Every file of the store but those in which SQLite's readers take their places, and what `run/` remembers of models."""
    files = [path for path in (folder / "store").rglob("*") if path.is_file() and path.parent.name != "run"]
    return {path: path.read_bytes() for path in files if path.suffix != ".db-shm" and path.stat().st_size}


def rows(folder: Path, query: str) -> list[tuple]:
    with sqlite3.connect(folder / "store" / "kb.db") as connection:
        return connection.execute(query).fetchall()


# What goes in


def test_a_file_is_added_with_its_title_type_and_place(kb, docs):
    path = docs({"a.md": "# Thermal bodies\n\n" + PROSE}) / "a.md"

    ran = kb("add", path)

    assert ran.stdout == "Added: a.md (1 chunk)\nAdded 1 document. 0 failed. 0 skipped (already indexed).\n"
    [document] = listed(kb)
    assert (document["title"], document["type"], document["path"]) == ("Thermal bodies", "markdown", str(path))


def test_a_relative_path_is_stored_absolute_and_verbatim(kb, docs, tmp_path):
    docs({"real/a.md": PROSE})
    (tmp_path / "docs/link").symlink_to(tmp_path / "docs/real")

    kb("add", "docs/link/../link/a.md")

    assert [document["path"] for document in listed(kb)] == [f"{tmp_path}/docs/link/a.md"]


def test_a_directory_needs_recursive(kb, docs):
    ran = kb("add", docs({"a.md": PROSE}))

    assert (ran.code, ran.stdout) == (2, "")
    assert "is a directory (add what is in it with -r)" in ran.stderr


def test_a_directory_is_added_with_what_was_left_out_counted(kb, docs):
    folder = docs({"a.md": PROSE, "sub/b.txt": PROSE + "b", "c.xyz": "", "d.log": "", ".gitignore": "*.log\n"})
    (folder / "link.md").symlink_to(folder / "a.md")

    ran = kb("add", folder, "-r")

    assert ran.stdout.splitlines() == [
        "Added: a.md (1 chunk)",
        "Added: b.txt (1 chunk)",
        "Added 2 documents. 0 failed. 0 skipped (already indexed).",
        "1 of unsupported types.",
        "1 left out by ignore rules.",
    ]
    assert ran.stderr == f"kb: {folder}/link.md: symbolic link (--follow-symlinks follows it)\n"


def test_the_answer_in_json_has_every_file_and_the_sums(kb, docs):
    folder = docs({"a.md": PROSE, "empty.md": "", "b.xyz": ""})

    answer = kb("add", folder, "-r", "-j").json

    assert [(Path(one["path"]).name, one["status"]) for one in answer["documents"]] == [
        ("a.md", "added"),
        ("empty.md", "no_text"),
    ]
    assert {name: answer[name] for name in ("added", "failed", "skipped", "no_text", "unsupported", "ignored")} == {
        "added": 1, "failed": 0, "skipped": 0, "no_text": 1, "unsupported": 1, "ignored": 0,
    }  # fmt: skip
    assert answer["chunks"] == answer["embedded"] == 1
    assert answer["took_ms"] > 0


def test_an_unsupported_file_is_refused_with_the_supported_types(kb, docs):
    ran = kb("add", docs({"a.xyz": "text"}) / "a.xyz")

    assert (ran.code, ran.stdout) == (4, "")
    assert "unsupported type .xyz" in ran.stderr
    assert ".md" in ran.stderr
    assert ".pdf" in ran.stderr


def test_an_unsupported_file_among_others_fails_alone(kb, docs):
    folder = docs({"a.xyz": "text", "b.md": PROSE})

    ran = kb("add", folder / "a.xyz", folder / "b.md", "-j")

    assert ran.code == 7
    assert [one["status"] for one in ran.json["documents"]] == ["failed", "added"]


def test_a_type_that_is_given_is_taken(kb, docs):
    kb("add", docs({"a.xyz": "# H\n\n" + PROSE}) / "a.xyz", "--type", "markdown")

    assert [(document["type"], document["title"]) for document in listed(kb)] == [("markdown", "H")]


def test_a_missing_path_adds_nothing_of_the_others(kb, docs):
    folder = docs({"a.md": PROSE})

    ran = kb("add", folder / "a.md", folder / "gone.md")

    assert ran.code == 3
    assert kb("list", "-j").json["error"]["code"] == "StoreMissing"


def test_title_tags_and_language_are_kept(kb, docs):
    kb(
        "add",
        docs({"a.py": "def f():\n    return 1\n"}) / "a.py",
        "--title",
        "T",
        "--tag",
        "x",
        "--tag",
        " y ",
        "--language",
        "cython",
    )

    [document] = listed(kb)
    assert (document["title"], document["tags"], document["language"]) == ("T", ["x", "y"], "cython")


def test_a_title_is_for_one_document(kb, docs):
    folder = docs({"a.md": PROSE, "b.md": PROSE})

    assert kb("add", folder, "-r", "--title", "T").code == 2
    assert kb("add", folder / "a.md", folder / "b.md", "--title", "T").code == 2


def test_front_matter_gives_title_tags_and_date(kb, docs):
    kb("add", docs({"a.md": f"---\ntitle: Stated\ntags: [x, y]\ndate: 2020-05-01\n---\n{PROSE}"}), "-r", "--tag", "z")

    [document] = listed(kb)
    assert document["title"] == "Stated"
    assert document["tags"] == ["x", "y", "z"]
    assert document["modified_at"] == "2020-05-01T00:00:00+00:00"


@pytest.mark.parametrize(
    "front", ['date: "0001-01-01T00:00:00+05:00"', "date: last spring", 'title: "\\ud800"', "n: 1e999"]
)
def test_odd_front_matter_does_not_stop_the_add(kb, docs, front):
    ran = kb("add", docs({"a.md": f"---\n{front}\n---\n{PROSE}", "b.md": "# B"}), "-r")

    assert (ran.code, len(listed(kb))) == (0, 2)


def test_broken_front_matter_is_said(kb, docs):
    ran = kb("add", docs({"a.md": f"---\ntitle: [x\n---\n{PROSE}"}), "-r")

    assert ran.code == 0
    assert "kb: a: front matter is kept as text: line 3: " in ran.stderr


def test_characters_that_were_lost_are_said(kb, docs, tmp_path):
    docs({})
    (tmp_path / "docs/a.txt").write_bytes("Größe Größe Größe Größe ".encode() + b"\xff")

    assert "could not be decoded" in kb("add", "docs/a.txt").stderr


def test_a_file_longer_than_the_model_sees_is_cut_into_chunks_that_fit(kb, docs):
    kb("add", docs({"a.md": "# Long\n\n" + (PROSE * 10 + "\n\n") * 20}), "-r")

    chunks = kb("show", 1, "-j").json["chunks"]
    assert len(chunks) > 5
    assert all(chunk["token_count"] <= 254 for chunk in chunks)


# Notes and standard input


def test_a_note_is_one_chunk_with_a_title_cut_at_a_word(kb):
    text = "Remember that the red lamp must be on before the door of the chamber is opened, or the alarm sounds."

    ran = kb("add", "--note", text)

    assert ran.code == 0
    [document] = listed(kb)
    assert document["title"] == "Remember that the red lamp must be on before the door of the chamber is opened,"
    assert (document["type"], document["path"], document["chunks"]) == ("note", None, 1)


def test_a_note_has_the_title_and_tags_that_are_given(kb):
    kb("add", "--note", "text", "--title", "T", "--tag", "x")

    assert [(document["title"], document["tags"]) for document in listed(kb)] == [("T", ["x"])]


def test_the_same_note_again_is_skipped_and_gets_the_new_tags(kb):
    kb("add", "--note", "either/or")

    ran = kb("add", "--note", " either/or ", "--tag", "x", "-j")

    [skipped] = ran.json["documents"]
    assert (skipped["status"], skipped["path"], skipped["title"]) == ("skipped", None, "either/or")
    assert [document["tags"] for document in listed(kb)] == [["x"]]


def test_an_empty_note_is_refused(kb):
    assert kb("add", "--note", "  ").code == 4


def test_a_note_longer_than_the_model_sees_stays_whole_with_a_warning(kb):
    ran = kb("add", "--note", "word " * 400)

    assert "the model sees the first 254 tokens of this note" in ran.stderr
    assert listed(kb)[0]["chunks"] == 1


def test_standard_input_is_read_as_markdown(kb):
    kb("add", "-", stdin=b"# From a pipe\n\ntext\n")

    [document] = listed(kb)
    assert (document["title"], document["type"], document["path"]) == ("From a pipe", "markdown", None)


def test_standard_input_is_read_as_the_type_that_is_given(kb):
    kb("add", "-", "--type", "data", stdin=b'{"colour": "red"}')

    assert [document["type"] for document in listed(kb)] == ["data"]


def test_empty_standard_input_is_an_error_that_names_it(kb):
    ran = kb("add", "-", stdin=b"")

    assert ran.code == 4
    assert "standard input: holds no text" in ran.stderr


@pytest.mark.parametrize(
    "arguments", [["--note", "x", "a.md"], [], ["-", "a.md"], ["a.md", "--tag", " "], ["a.md", "--exclude", "!"]]
)
def test_what_cannot_be_meant_is_refused(kb, docs, arguments):
    docs({})

    ran = kb("add", *arguments)

    assert ran.code in {2, 3}
    assert ran.stderr.count("\n") == 1


# Again


def test_the_same_file_again_is_skipped(kb, docs):
    folder = docs({"a.md": PROSE})
    kb("add", folder, "-r")

    ran = kb("add", folder, "-r")

    assert ran.stdout == (
        "Skipped: a.md (already indexed)\nAdded 0 documents. 0 failed. 1 skipped (already indexed).\n"
    )


def test_the_same_content_under_two_names_is_one_document(kb, docs):
    folder = docs({"a.md": PROSE, "b.md": PROSE})

    once = kb("add", folder, "-r").stdout
    again = kb("add", folder / "b.md").stdout

    assert f"Skipped: b.md (already indexed: the same content as {folder}/a.md)" in once
    assert f"Skipped: b.md (already indexed: the same content as {folder}/a.md)" in again
    assert len(listed(kb)) == 1


def test_a_changed_file_is_a_new_document_and_the_old_one_stays(kb, docs):
    path = docs({"a.md": PROSE}) / "a.md"
    kb("add", path)
    path.write_text(PROSE + "More.")

    ran = kb("add", path)

    assert ran.stdout.splitlines()[0] == (
        "Added: a.md (1 chunk), changed: the earlier version stays as document 1 (--replace replaces it)"
    )
    assert [(document["document_id"], document["stale"]) for document in listed(kb)] == [(1, True), (2, False)]


def test_replace_takes_the_place_and_keeps_the_tags(kb, docs):
    path = docs({"a.md": PROSE}) / "a.md"
    kb("add", path, "--tag", "x")
    kb("tag", "describe", "x", "of the letter x")
    path.write_text(PROSE + "More.")

    ran = kb("add", path, "--replace", "--tag", "y")

    assert ran.stdout.splitlines()[0] == "Replaced: a.md (1 chunk)"
    assert [(document["document_id"], document["tags"]) for document in listed(kb)] == [(2, ["x", "y"])]
    assert kb("tag", "list", "-j").json["tags"][0]["description"] == "of the letter x"


def test_replace_removes_every_earlier_version(kb, docs):
    path = docs({"a.md": "one"}) / "a.md"
    for text in ("one", "two"):
        path.write_text(text)
        kb("add", path)
    path.write_text("three")

    kb("add", path, "--replace")

    assert texts(kb) == {"three"}


def test_replace_with_a_version_that_is_in_the_store_leaves_that_one(kb, docs):
    path = docs({"a.md": "one"}) / "a.md"
    for text in ("one", "two", "one"):
        path.write_text(text)
        kb("add", path)
    assert texts(kb) == {"one", "two"}

    kb("add", path, "--replace")

    assert texts(kb) == {"one"}
    assert [document["stale"] for document in listed(kb)] == [False]


def test_replace_is_one_transaction(kb, docs, tmp_path):
    path = docs({"a.md": PROSE}) / "a.md"
    kb("add", path)
    path.write_text(PROSE + "More.")
    before = rows(tmp_path, "SELECT max(seq) FROM log")[0][0]

    kb("add", path, "--replace")

    assert rows(tmp_path, "SELECT max(seq) FROM log") == [(before + 1,)]
    assert rows(tmp_path, "SELECT DISTINCT seq FROM deleted_chunks UNION SELECT seq FROM documents") == [(before + 1,)]


def test_chunks_whose_text_is_unchanged_keep_their_vectors(kb, docs):
    first, second = ("\n\n".join([f"# {name}", f"{name} " * 60]) for name in ("red", "green"))
    path = docs({"a.md": f"{first}\n\n{second}"}) / "a.md"
    assert kb("add", path, "-j").json["embedded"] == 2
    path.write_text(f"{first}\n\n{second} more")

    assert kb("add", path, "--replace", "-j").json["embedded"] == 1


def test_a_moved_file_is_a_rename_without_embedding(kb, docs):
    folder = docs({"a.txt": PROSE})
    kb("add", folder, "-r")
    (folder / "sub").mkdir()
    (folder / "a.txt").rename(folder / "sub/b.txt")

    ran = kb("add", folder, "-r", "-j")

    assert [(one["status"], one["reason"]) for one in ran.json["documents"]] == [("moved", f"was {folder}/a.txt")]
    assert ran.json["embedded"] == 0
    [document] = listed(kb)
    assert (document["document_id"], document["title"], document["stale"]) == (1, "b", False)
    assert document["path"] == f"{folder}/sub/b.txt"
    found = kb("search", "-j", "--mode", "keyword", "--path", "*/sub/*", "heat").json["results"]
    assert [hit["source"]["path"] for hit in found] == [f"{folder}/sub/b.txt"]


def test_a_touched_file_is_the_same_and_no_longer_stale(kb, docs):
    path = docs({"a.md": PROSE}) / "a.md"
    kb("add", path)
    os.utime(path, (1, 1))
    assert listed(kb)[0]["stale"] is True

    ran = kb("add", path)

    assert ran.stdout.startswith("Skipped: a.md (already indexed)")
    assert listed(kb)[0]["stale"] is False


def test_a_known_file_gets_the_tags_that_are_new(kb, docs):
    folder = docs({"a.md": PROSE})
    kb("add", folder, "-r")

    kb("add", folder, "-r", "--tag", "later")

    assert listed(kb)[0]["tags"] == ["later"]


def test_a_removed_document_can_be_added_again_without_embedding(kb, docs):
    folder = docs({"a.md": PROSE})
    kb("add", folder, "-r")
    kb("remove", folder / "a.md")

    answer = kb("add", folder, "-r", "-j").json

    assert (answer["added"], answer["embedded"]) == (1, 0)
    assert [document["document_id"] for document in listed(kb)] == [2]


@pytest.mark.parametrize(
    "arguments",
    [["gone.md"], ["docs"], ["docs/bad.xyz"], ["docs/empty.md"], ["empty", "-r"], ["--note", " "], ["-"], ["docs", "-r", "--exclude", "!"]],
)  # fmt: skip
def test_a_first_add_that_comes_to_nothing_leaves_no_store(kb, docs, tmp_path, arguments):
    """An empty file is remembered as such, so that one makes a store."""
    docs({"bad.xyz": "x", "empty.md": ""})
    (tmp_path / "empty").mkdir()

    kb("add", *arguments, stdin=b"")

    assert (tmp_path / "store" / "kb.db").exists() == (arguments == ["docs/empty.md"])
    assert kb("add", "--note", "red").code == 0


# A dry run


@pytest.mark.parametrize("arguments", [["docs", "-r"], ["--note", "text"], ["-"]])
def test_a_dry_run_makes_nothing(kb, docs, tmp_path, arguments):
    docs({"a.md": PROSE, "bad.xyz": "", "b.md": "b"})

    ran = kb("add", *arguments, "--dry-run", stdin=b"text")

    assert ran.code == 0
    assert "Would add" in ran.stdout
    assert not (tmp_path / "store").exists()


def test_a_dry_run_changes_nothing(kb, docs, tmp_path):
    folder = docs({"a.md": PROSE, "moved.md": "moved"})
    kb("add", folder, "-r")
    (folder / "a.md").write_text("changed")
    (folder / "moved.md").rename(folder / "new.md")
    before = stored(tmp_path)

    for arguments in (["docs", "-r", "--replace", "--tag", "x"], ["--note", "text"], ["-"]):
        assert kb("add", *arguments, "--dry-run", stdin=b"text").code == 0

    assert stored(tmp_path) == before


def test_a_dry_run_says_what_would_be_added(kb, docs):
    folder = docs({"a.md": PROSE, "b.md": "b", "c.md": "c"})
    kb("add", folder / "a.md")

    ran = kb("add", folder, "-r", "--exclude", "c.md", "--dry-run")

    assert ran.stdout.splitlines() == [
        "Skipped: a.md (already indexed)",
        f"Would add: {folder}/b.md",
        "Would add 1 document. 1 skipped (already indexed).",
    ]


# What fails


def failing(folder: Path) -> Path:
    """A file that its reader must refuse."""
    path = folder / "bad.txt"
    path.write_bytes(bytes(range(32)) * 64)
    return path


def test_a_failing_file_is_logged_and_the_others_are_in(kb, docs, tmp_path):
    folder = docs({"a.md": PROSE})
    bad = failing(folder)

    ran = kb("add", folder, "-r")

    assert ran.code == 7
    assert "Added 1 document. 1 failed." in ran.stdout
    assert f"Failed: {bad}: binary data, not text" in ran.stdout
    [line] = (tmp_path / "store/ingest-errors.log").read_text().splitlines()
    assert line.split("\t")[1:] == [str(bad), f"{bad}: binary data, not text"]


def test_a_failing_file_alone_is_unreadable(kb, docs):
    ran = kb("add", failing(docs({})))

    assert ran.code == 4


def test_a_failed_file_is_not_tried_again_until_it_changes_or_retry(kb, docs, tmp_path):
    bad = failing(docs({}))
    log = tmp_path / "store/ingest-errors.log"
    kb("add", bad)

    again = kb("add", bad)
    assert (again.code, "failed before and has not changed; --retry tries again" in again.stdout) == (4, True)
    assert len(log.read_text().splitlines()) == 1

    assert "failed before" not in kb("add", bad, "--retry").stdout
    assert len(log.read_text().splitlines()) == 2

    bad.write_text(PROSE)
    assert kb("add", bad).code == 0
    assert kb("status", "-j").json["failed_files"] == 0


def test_a_file_without_text_is_remembered_too(kb, docs):
    folder = docs({"empty.md": " \n"})

    first, second = kb("add", folder, "-r"), kb("add", folder, "-r")

    assert first.code == second.code == 0
    assert first.stdout.startswith("Skipped: empty.md (no text: ")
    assert second.stdout.startswith("Skipped: empty.md (no text: ")
    assert kb("status", "-j").json["no_text_files"] == 1


def test_a_name_that_is_not_utf_8_fails_alone(kb, docs):
    folder = docs({"a.md": PROSE})
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("text")

    ran = kb("add", folder, "-r", "-j")

    assert ran.code == 7
    assert [(one["status"], one["title"]) for one in ran.json["documents"]] == [
        ("failed", "caf\ufffd.md"),
        ("added", "a"),
    ]
    assert "its name is not UTF-8 (rename the file)" in ran.json["documents"][0]["reason"]


def test_lone_surrogates_in_a_document_become_replacement_characters(kb, docs):
    cell = json.dumps({"cells": [{"cell_type": "markdown", "source": "red \ud800"}], "nbformat": 4, "metadata": {}})

    assert kb("add", docs({"a.ipynb": cell}) / "a.ipynb").code == 0
    assert "red \ufffd" in kb("get", 1, "-j").json["text"]


# A large add, and an interruption


def generated(folder: Path, count: int) -> Path:
    """Markdown files that share some of their sections."""
    chosen = random.Random(5)
    words = ["red", "green", "huge", "heat", "flows", "warm", "cold", "body", "door", "lamp", "river", "stone"]
    shared = [" ".join(chosen.choices(words, k=70)) for _ in range(40)]
    for number in range(count):
        parts = [f"# Document {number}", f"token{number} {' '.join(chosen.choices(words, k=60))}"]
        parts += [f"## Part {part}\n\n{chosen.choice(shared)}" for part in range(chosen.randint(0, 3))]
        running.write(folder / f"{number % 7}", {f"{number}.md": "\n\n".join(parts)})
    return folder


def content(folder: Path) -> set[tuple]:
    """What a store holds, apart from ids and times."""
    return set(rows(folder, (
        "SELECT d.source_path, d.title, d.content_hash, c.chunk_index, c.text, c.heading, c.start_line, hex(v.vector)"
        " FROM documents d JOIN chunks c ON c.document_id = d.id JOIN vectors v ON v.text_hash = c.text_hash"
    )))  # fmt: skip


def answers(kb) -> list[list[tuple]]:
    """None of the queries leaves hundreds of chunks with one score: of those, tantivy's segments decide the first."""
    queries = ["token17", "red lamp", '"warm cold"', "huge -river", "token23 lamp"]
    found = []
    for query in queries:
        for mode in ("keyword", "semantic", "hybrid"):
            hits = kb("search", "-j", "-n", 5, "--mode", mode, "--", query).json["results"]
            found.append(sorted((hit["score"], hit["source"]["path"], hit["source"]["chunk_index"]) for hit in hits))
    return found


def document_count(folder: Path) -> int:
    try:
        return rows(folder, "SELECT count(*) FROM documents")[0][0]
    except sqlite3.OperationalError:  # there is no store yet
        return 0


def interrupted(folder: Path, model: Path, docs: Path, after: int) -> int:
    """`kb add` stopped by SIGINT once it has added to the store, which holds `after` documents, and a moment later; its exit code."""
    after = max(after, document_count(folder) + 1)
    process = subprocess.Popen(
        [sys.executable, "-m", "kb", "add", str(docs), "-r"],
        env=running.environment(folder / "store", KB_MODEL=model, KB_INGESTION_BATCH_SIZE=20),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and document_count(folder) < after:
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.2))
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=60)


@pytest.mark.parametrize("count", [80, pytest.param(2000, marks=pytest.mark.heavy)])
def test_an_interrupted_add_goes_on_and_ends_as_one_that_was_not(tmp_path, roomy_folder, count):
    """Same chunks, same vectors, same answers."""
    docs = generated(tmp_path / "docs", count)
    once, twice = tmp_path / "once", tmp_path / "twice"
    once.mkdir()
    twice.mkdir()
    assert running.process(once, "add", docs, "-r", KB_MODEL=roomy_folder).code == 0

    codes = {interrupted(twice, roomy_folder, docs, after) for after in (1, random.randint(2, count - 1))}
    ran = running.process(twice, "add", docs, "-r", "-j", KB_MODEL=roomy_folder)

    assert codes <= {0, 130}
    assert ran.code == 0
    assert ran.json["added"] + ran.json["skipped"] == count
    missing, unexpected = content(once) - content(twice), content(twice) - content(once)
    assert (missing, unexpected) == (set(), set())
    assert running.here(twice, "doctor", "-j", KB_MODEL=roomy_folder).json["ok"]
    ask = [partial(running.here, folder, KB_MODEL=roomy_folder) for folder in (once, twice)]
    assert answers(ask[1]) == answers(ask[0])
