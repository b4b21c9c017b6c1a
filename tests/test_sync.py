"""`kb sync`: after it, the store is what the files are, and only what is new was read and embedded."""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import running
from changing_tree import ChangingTree
from unprivileged import permissions_hold

from index.lock import writer_lock
from kb import sources
from kb.add import Silent
from kb.settings import Embedding, Settings
from kb.sources import Declared
from kb.sync import sync

PROSE = "Heat flows from the warm body to the cold one until both are equally warm. "


def rows(data_dir: Path, query: str) -> list[tuple]:
    with sqlite3.connect(data_dir / "kb.db") as connection:
        return connection.execute(query).fetchall()


def content(data_dir: Path) -> dict[str, list[tuple]]:
    """What a store holds of its sources, apart from ids and the times at which it was written."""
    return {
        "documents": rows(data_dir, (
            "SELECT source_path, content_hash, doc_type, title, language, modified_at, mtime_ns, size, extractor, metadata,"
            " source_id, stated_tags, title_is_name, outdated, (SELECT json_group_array(name) FROM (SELECT name FROM document_tags dt"
            " JOIN tags t ON t.id = dt.tag_id WHERE dt.document_id = d.id ORDER BY name)) FROM documents d ORDER BY 1, 2"
        )),
        "chunks": rows(data_dir, (
            "SELECT d.source_path, c.chunk_index, c.text, c.heading, c.context, c.start_line, c.end_line, c.metadata, hex(v.vector)"
            " FROM documents d JOIN chunks c ON c.document_id = d.id LEFT JOIN vectors v ON v.text_hash = c.text_hash ORDER BY 1, 2"
        )),
        "copies": rows(data_dir, "SELECT * FROM copies ORDER BY 1"),
        "failures": rows(data_dir, (
            "SELECT source_path, content_hash, mtime_ns, size, kind FROM failures WHERE content_hash != '' ORDER BY 1"
        )),
        "tags": rows(data_dir, "SELECT name FROM tags ORDER BY 1"),
    }  # fmt: skip


def texts(data_dir: Path) -> set[bytes]:
    return {text_hash for (text_hash,) in rows(data_dir, "SELECT DISTINCT text_hash FROM chunks")}


def made_anew(data_dir: Path, settings: Settings, roots: list[Path]) -> dict[str, list[tuple]]:
    for root in roots:
        sources.add(data_dir, settings, Declared(path=str(root)))
    sync(data_dir, settings, (), Silent(), lambda _: True)
    return content(data_dir)


def made_anew_with_all_open(data_dir: Path, settings: Settings, trees: list[ChangingTree]) -> dict[str, list[tuple]]:
    closed = [path for tree in trees for path in tree.closed]
    for path in closed:
        path.chmod(0o644)
    try:
        return made_anew(data_dir, settings, [tree.root for tree in trees])
    finally:
        for path in closed:
            path.chmod(0)


@pytest.mark.parametrize(
    ("file_count", "rounds", "changes"), [(40, 10, 12), pytest.param(5000, 50, 100, marks=pytest.mark.heavy)]
)
@pytest.mark.parametrize("seed", [6])
def test_after_any_changes_the_store_equals_one_made_anew_and_only_new_texts_were_embedded(
    tmp_path, roomy_folder, in_this_process, file_count, rounds, changes, seed
):
    """Two sources, so that copies and moves go between them too. What may not be opened counts as what it was."""
    settings = Settings(embedding=Embedding(model=str(roomy_folder)))
    trees = [ChangingTree(tmp_path / name, seed + number) for number, name in enumerate(("first", "second"))]
    roots = [tree.root for tree in trees]
    for tree in trees:
        tree.fill(file_count // 2)
    store = tmp_path / "store"
    made_anew(store, settings, roots)
    ever = texts(store)
    for number in range(rounds):
        for tree in trees:
            tree.change(changes // 2, {Path(path) for (path,) in rows(store, "SELECT source_path FROM documents")})
        if number % 3 == 2:  # a move from one source to the other
            path = trees[1].files()[0]
            path.rename(trees[0]._free_place(path.suffix))

        with permissions_hold():
            answer = sync(store, settings, (), Silent(), lambda _: True)

        anew = made_anew_with_all_open(tmp_path / f"fresh{number}", settings, trees)
        kept = content(store)
        assert {name: set(kept[name]) ^ set(anew[name]) for name in kept} == {name: set() for name in kept}
        assert kept == anew
        assert answer.embedded == len(texts(store) - ever)
        ever |= texts(store)
        with permissions_hold():
            assert sync(store, settings, (), Silent(), lambda _: False).chunks == 0


# One thing at a time


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def docs(tmp_path):
    return partial(running.write, tmp_path / "docs")


@pytest.fixture
def synced(kb, docs):
    """A source of five files, in step; returns its folder."""
    folder = docs({f"{name}.md": f"{PROSE} {name}" for name in "abcde"})
    kb("source", "add", "docs")
    assert kb("sync").code == 0
    return folder


def listed(kb) -> dict[str, dict]:
    return {document["path"].rpartition("/")[2]: document for document in kb("list", "-j", "--all").json["documents"]}


def became(kb, *arguments: object) -> dict[str, str]:
    """What became of each file that was not unchanged, by its name."""
    return {file["path"].rpartition("/")[2]: file["status"] for file in kb("sync", "-j", *arguments).json["files"]}


def test_each_file_is_said_and_the_sums_at_the_end(kb, synced):
    (synced / "new.md").write_text("new")
    (synced / "a.md").write_text("changed")
    (synced / "b.md").unlink()
    (synced / "c.md").rename(synced / "moved.md")

    ran = kb("sync")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        f"Moved: moved.md (was {synced}/c.md)",
        "Removed: b.md (the file is gone)",
        "Replaced: a.md (1 chunk)",
        "Added: new.md (1 chunk)",
        "docs: 2 unchanged, 1 added, 1 replaced, 1 moved, 1 removed",
    ]


def test_a_moved_file_keeps_its_document_and_is_not_read(kb, synced):
    before = listed(kb)["c.md"]["document_id"]
    kb("tag", "add", synced / "c.md", "mine")
    (synced / "c.md").rename(synced / "moved.md")

    answer = kb("sync", "-j").json

    assert (answer["sources"][0]["moved"], answer["embedded"], answer["chunks"]) == (1, 0, 0)
    document = listed(kb)["moved.md"]
    assert (document["document_id"], document["title"], document["tags"]) == (before, "moved", ["mine"])


def test_a_moved_file_that_is_read_otherwise_by_its_new_name_is_read_again_but_not_embedded(kb, synced):
    (synced / "c.md").rename(synced / "c.txt")

    answer = kb("sync", "-j").json

    assert ([file["status"] for file in answer["files"]], answer["embedded"]) == (["replaced"], 0)
    assert listed(kb)["c.txt"]["type"] == "text"


def test_a_changed_file_replaces_its_document_and_keeps_the_tags_that_were_given(kb, docs):
    """Those that the file itself states are the file's."""
    folder = docs({"a.md": f"---\ntags: [stated, other]\n---\n{PROSE}", "b.md": "b"})
    kb("source", "add", "docs", "--tag", "all")
    kb("sync")
    kb("tag", "add", folder / "a.md", "mine")
    (folder / "a.md").write_text(f"---\ntags: [other]\n---\n{PROSE} more")

    assert became(kb) == {"a.md": "replaced"}

    assert listed(kb)["a.md"]["tags"] == ["all", "mine", "other"]
    assert [tag["name"] for tag in kb("tag", "list", "-j").json["tags"]] == ["all", "mine", "other"]


def test_every_earlier_version_goes(kb, synced):
    (synced / "a.md").write_text("second")
    kb("add", synced / "a.md")
    (synced / "a.md").write_text("third")

    assert became(kb) == {"a.md": "replaced"}
    assert len(kb("list", "-j", "--path", synced / "a.md").json["documents"]) == 1


def test_unchanged_parts_of_a_changed_file_keep_their_vectors(kb, docs):
    first, second = ("\n\n".join([f"# {name}", f"{name} " * 60]) for name in ("red", "green"))
    folder = docs({"a.md": f"{first}\n\n{second}"})
    kb("source", "add", "docs")
    assert kb("sync", "-j").json["embedded"] == 2
    (folder / "a.md").write_text(f"{first}\n\n{second} more")

    answer = kb("sync", "-j").json

    assert (answer["embedded"], answer["chunks"]) == (1, 2)
    assert kb("doctor").code == 0


def test_a_touched_file_is_no_longer_stale(kb, synced):
    os.utime(synced / "a.md", (1, 1))
    assert listed(kb)["a.md"]["stale"]

    assert became(kb) == {"a.md": "touched"}

    document = listed(kb)["a.md"]
    assert (document["stale"], document["modified_at"]) == (False, "1970-01-01T00:00:01+00:00")


def test_what_is_left_out_from_now_on_goes(kb, synced):
    (synced / ".kbignore").write_text("a.md\n")

    assert became(kb) == {"a.md": "removed"}


def test_a_document_removed_by_hand_comes_back_with_the_next_sync(kb, synced):
    kb("remove", synced / "a.md")

    assert became(kb) == {"a.md": "added"}


# Copies


def test_of_files_with_the_same_content_the_first_is_the_document_whichever_came_first(kb, synced):
    (synced / "0.md").write_bytes((synced / "c.md").read_bytes())

    assert became(kb) == {"0.md": "moved"}
    assert set(listed(kb)) == {"0.md", "a.md", "b.md", "d.md", "e.md"}


def test_a_copy_takes_the_place_of_a_document_whose_file_is_gone(kb, synced):
    (synced / "z.md").write_bytes((synced / "a.md").read_bytes())
    assert became(kb) == {"z.md": "copy"}
    before = listed(kb)["a.md"]["document_id"]
    (synced / "a.md").unlink()

    assert became(kb) == {"z.md": "moved"}
    assert listed(kb)["z.md"]["document_id"] == before


def test_files_that_exchange_their_contents_exchange_their_documents(kb, synced):
    first, second = (synced / "a.md").read_bytes(), (synced / "b.md").read_bytes()
    (synced / "a.md").write_bytes(second)
    (synced / "b.md").write_bytes(first)

    answer = kb("sync", "-j").json

    assert ([file["status"] for file in answer["files"]], answer["embedded"]) == (["moved", "moved"], 0)
    assert kb("scan").code == 0


def test_a_copy_of_a_document_outside_of_every_source_stays_a_copy_until_that_file_is_gone(kb, synced, tmp_path):
    (tmp_path / "own.md").write_text("of my own")
    kb("add", tmp_path / "own.md")
    (synced / "copy.md").write_text("of my own")
    assert became(kb) == {"copy.md": "copy"}
    assert "own.md" in listed(kb)

    (tmp_path / "own.md").unlink()

    assert became(kb) == {"copy.md": "moved"}
    assert "own.md" not in listed(kb)


def test_a_copy_that_goes_takes_no_document_outside_of_the_sources_with_it(kb, synced, tmp_path):
    (tmp_path / "own.md").write_text("of my own")
    kb("add", tmp_path / "own.md")
    (synced / "copy.md").write_text("of my own")
    kb("sync")
    (synced / "copy.md").unlink()
    (tmp_path / "own.md").unlink()

    kb("sync")

    assert "own.md" in listed(kb)


def test_a_file_that_moves_to_another_source_takes_its_document_along(kb, synced, tmp_path):
    running.write(tmp_path / "more", {"x.md": "x"})
    kb("source", "add", "more", "--tag", "more")
    kb("sync")
    before = listed(kb)["a.md"]["document_id"]
    (synced / "a.md").rename(tmp_path / "more/a.md")

    assert became(kb) == {"a.md": "moved"}

    document = listed(kb)["a.md"]
    assert (document["document_id"], document["tags"]) == (before, ["more"])
    assert [source["documents"] for source in kb("source", "list", "-j").json["sources"]] == [4, 2]


# What must not be lost


@pytest.mark.parametrize("is_there", [True, False])
def test_more_than_half_of_a_source_is_not_removed_without_being_told_to(kb, synced, is_there):
    """A disk that is not mounted leaves an empty folder, or none."""
    synced.rename(synced.with_name("elsewhere"))
    if is_there:
        synced.mkdir()

    ran = kb("sync")

    why = "their files are gone" if is_there else f"{synced} is not there"
    assert ran.code == 8
    assert ran.stderr == (
        f"kb: docs: 5 of 5 documents would be removed, since {why}: nothing was done; kb sync --yes removes them\n"
    )
    assert len(listed(kb)) == 5
    assert kb("sync", "-j").json["sources"][0]["refused"].startswith("docs: 5 of 5")

    assert kb("sync", "--yes").code == 0
    assert listed(kb) == {}


def test_half_of_a_source_may_go(kb, synced):
    (synced / "f.md").write_text("f")
    kb("sync")
    for name in "abc":
        (synced / f"{name}.md").unlink()

    assert kb("sync").code == 0
    assert len(listed(kb)) == 3


def test_moved_files_have_not_vanished(kb, synced):
    running.write(synced, {"sub/x.md": "x"})
    for name in "abcde":
        (synced / f"{name}.md").rename(synced / f"sub/{name}.md")

    assert Counter(became(kb).values()) == {"moved": 5, "added": 1}


def test_a_source_that_is_left_alone_does_not_keep_the_others_from_being_synced(kb, synced, tmp_path):
    running.write(tmp_path / "more", {"x.md": "x"})
    kb("source", "add", "more")
    synced.rename(synced.with_name("elsewhere"))

    assert kb("sync").code == 8
    assert len(listed(kb)) == 6


def test_on_a_terminal_it_is_asked_for(synced, tmp_path, roomy_folder):
    for path in synced.iterdir():
        path.unlink()

    for said, left in (("n", 5), ("y", 0)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "kb", "sync"],
            env=running.environment(tmp_path / "store", KB_MODEL=roomy_folder, TERM="xterm"),
            stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        shown = b""
        while b"Remove them?" not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, said.encode() + b"\n")
        os.close(theirs)
        with suppress(OSError):  # the terminal closes with its process
            while chunk := os.read(ours, 1000):
                shown += chunk
        assert process.wait(timeout=60) == (0 if said == "y" else 8)
        os.close(ours)
        assert rows(tmp_path / "store", "SELECT count(*) FROM documents") == [(left,)]


def test_a_folder_that_cannot_be_listed_keeps_its_documents(kb, synced):
    running.write(synced, {"sub/f.md": "f", "sub/g.md": "g"})
    kb("sync")
    (synced / "sub").chmod(0)
    try:
        with permissions_hold():
            ran = kb("sync", "-j")
    finally:
        (synced / "sub").chmod(0o755)

    assert (ran.code, [file["status"] for file in ran.json["files"]]) == (7, ["unreadable"])
    assert len(listed(kb)) == 7


def test_a_changed_file_that_may_not_be_opened_keeps_its_document_and_is_tried_again(kb, synced, tmp_path):
    (synced / "a.md").write_text("changed")
    (synced / "a.md").chmod(0)
    with permissions_hold():
        ran = kb("sync", "-j")
        kb("sync")

    assert (ran.code, [(file["status"], file["reason"]) for file in ran.json["files"]]) == (
        7, [("unreadable", "Permission denied")],
    )  # fmt: skip
    assert kb("status", "-j").json["failed_files"] == 1
    assert len((tmp_path / "store/ingest-errors.log").read_text().splitlines()) == 1
    assert listed(kb)["a.md"]["stale"]

    (synced / "a.md").chmod(0o644)
    assert became(kb) == {"a.md": "replaced"}
    assert kb("status", "-j").json["failed_files"] == 0


def test_the_earlier_version_of_what_cannot_be_read_any_more_goes(kb, synced):
    """What it says is in no file."""
    (synced / "a.md").write_text(" \n")
    (synced / "b.md").write_bytes(bytes(range(32)) * 64)

    ran = kb("sync", "-j")

    assert (ran.code, [file["status"] for file in ran.json["files"]]) == (7, ["no_text", "failed"])
    assert set(listed(kb)) == {"c.md", "d.md", "e.md"}


def test_a_file_that_becomes_a_folder_is_what_is_in_it(kb, synced):
    (synced / "a.md").unlink()
    running.write(synced, {"a.md/inside.md": "inside"})

    assert became(kb) == {"a.md": "removed", "inside.md": "added"}


def test_only_the_sources_that_are_named_are_synced(kb, synced, tmp_path):
    running.write(tmp_path / "more", {"x.md": "x"})
    kb("source", "add", "more")
    (synced / "a.md").unlink()

    assert became(kb, "more") == {"x.md": "added"}
    assert kb("sync", "nonsense").code == 3


def test_the_rules_of_a_source_hold_for_its_files(kb, docs):
    docs({"a.log": f"# Heading\n\n{PROSE}", "b.log": "b", "c.md": "c", "old/d.log": "d"})
    kb("source", "add", "docs", "--glob", "*.log", "--exclude", "old/", "--type", "markdown")

    kb("sync")

    assert {name: document["type"] for name, document in listed(kb).items()} == {
        "a.log": "markdown",
        "b.log": "markdown",
    }


def test_the_chunker_of_a_source_cuts_its_documents(kb, docs):
    text = "\n\n".join(f"# Part {number}\n\n" + "red green " * 80 for number in range(4))
    docs({"a.md": text})
    kb("source", "add", "docs", "--chunker", "fixed")
    kb("sync")
    fixed = [chunk["heading"] for chunk in kb("show", 1, "-j").json["chunks"]]
    kb("source", "remove", "docs", "--documents")
    kb("source", "add", "docs")
    kb("sync")

    parts = [chunk["heading"] for chunk in kb("show", 2, "-j").json["chunks"]]

    assert parts == ["Part 0", "Part 1", "Part 2", "Part 3"]
    assert fixed != parts


def test_one_sync_at_a_time(kb, synced, tmp_path):
    with writer_lock(tmp_path / "store/run/sync.lock", 0):
        ran = kb("sync", KB_LOCK_TIMEOUT_S=0.1)

    assert ran.code == 5
    assert f"process {os.getpid()}" in ran.stderr


def test_a_grown_transcript_is_appended_to(kb, docs):
    line = '{"type": "user", "message": {"role": "user", "content": "red {}"}, "timestamp": "2026-01-01T00:00:0{}Z"}\n'
    talk = [line.replace("{}", str(number)) for number in range(4)]
    folder = docs({"log.jsonl": "".join(talk[:2])})
    kb("source", "add", "docs", "--type", "transcript")
    kb("sync")
    with (folder / "log.jsonl").open("a") as file:
        file.write("".join(talk[2:]))

    assert became(kb) == {"log.jsonl": "appended"}
    assert kb("scan").code == 0
