"""`kb scan`: what is out of step, told by size and time first, and nothing is touched."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import running
from unprivileged import permissions_hold

PROSE = "Heat flows from the warm body to the cold one until both are equally warm. "


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


def states(kb, *arguments: object) -> dict[str, str]:
    """State of each file that is not unchanged, by its name."""
    [source] = kb("scan", "-j", *arguments).json["sources"]
    return {file["path"].rpartition("/")[2]: file["state"] for file in source["files"]}


def bytes_of(folder: Path) -> dict[Path, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".db-shm", ".db-wal"}]
    # SQLite's readers take their places in the two files left out.
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_source_in_step_is_said_to_be_so_with_exit_code_0(kb, synced):
    ran = kb("scan")

    assert (ran.code, ran.stdout) == (0, "docs: 5 unchanged\nIn step.\n")


def test_what_is_out_of_step_is_said_with_exit_code_8(kb, synced):
    (synced / "new.md").write_text("new")
    (synced / "a.md").write_text("changed")
    (synced / "b.md").unlink()
    (synced / "c.md").rename(synced / "moved.md")
    os.utime(synced / "d.md", (1, 1))

    ran = kb("scan")

    assert ran.code == 8
    assert ran.stdout.splitlines() == [
        "docs: 1 unchanged, 1 new, 1 changed, 1 moved, 1 gone, 1 touched",
        f"  moved      {synced}/moved.md (was {synced}/c.md)",
        f"  new        {synced}/new.md",
        f"  changed    {synced}/a.md",
        f"  touched    {synced}/d.md",
        f"  gone       {synced}/b.md",
        "Out of step: kb sync",
    ]


def test_a_changed_file_of_the_same_size_is_seen_by_its_time(kb, synced):
    text = (synced / "a.md").read_text()
    (synced / "a.md").write_text(text.swapcase())

    assert states(kb) == {"a.md": "changed"}


def test_nothing_is_touched(kb, synced, tmp_path):
    (synced / "a.md").write_text("changed")
    os.utime(synced / "b.md", (1, 1))
    before = bytes_of(tmp_path)

    assert kb("scan").code == 8

    assert bytes_of(tmp_path) == before


def test_only_files_of_another_time_or_size_are_opened(kb, synced):
    """Those that may not be opened are as good as any while they are what they were."""
    for path in synced.iterdir():
        path.chmod(0)
    with permissions_hold():
        [source] = kb("scan", "-j").json["sources"]

    assert (source["unchanged"], source["unreadable"], source["in_step"]) == (5, 5, True)


def test_new_files_are_counted_and_the_first_20_named_unless_all_are_asked_for(kb, synced):
    for number in range(30):
        (synced / f"{number}.md").write_text(f"new {number}")

    [source] = kb("scan", "-j").json["sources"]
    assert (source["new"], len(source["files"])) == (30, 20)
    assert Counter(states(kb, "--all").values()) == {"new": 30}


def test_a_file_of_a_type_that_is_not_read_or_ignored_is_not_new(kb, synced):
    running.write(synced, {"a.xyz": "x", ".gitignore": "*.log\n", "b.log": "x", ".hidden.md": "x"})

    assert kb("scan").code == 0


def test_a_copy_is_new_once(kb, synced):
    (synced / "copy.md").write_bytes((synced / "a.md").read_bytes())
    assert states(kb) == {"copy.md": "new"}

    kb("sync")

    assert kb("scan").code == 0
    (synced / "copy.md").unlink()
    assert states(kb) == {"copy.md": "gone"}


def test_a_copy_whose_document_was_removed_is_new_again(kb, synced):
    (synced / "copy.md").write_bytes((synced / "a.md").read_bytes())
    kb("sync")

    kb("remove", synced / "a.md")

    assert states(kb) == {"a.md": "new", "copy.md": "new"}


def test_a_file_that_failed_or_holds_no_text_is_unchanged_until_it_changes(kb, synced):
    (synced / "empty.md").write_text(" \n")
    (synced / "bad.txt").write_bytes(bytes(range(32)) * 64)
    assert kb("sync").code == 7

    assert kb("scan").code == 0
    (synced / "empty.md").write_text("text")
    assert states(kb) == {"empty.md": "new"}


def test_a_folder_that_cannot_be_listed_does_not_make_its_files_gone(kb, synced):
    running.write(synced, {"sub/f.md": "f", "sub/deep/g.md": "g"})
    kb("sync")
    (synced / "sub").chmod(0)
    try:
        with permissions_hold():
            ran = kb("scan", "-j")
    finally:
        (synced / "sub").chmod(0o755)

    [source] = ran.json["sources"]
    assert (ran.code, source["gone"], [file["state"] for file in source["files"]]) == (0, 0, ["unreadable"])
    assert f"{synced}/sub: Permission denied" in ran.json["warnings"]


def test_a_name_that_is_not_utf_8_is_unreadable(kb, synced):
    (synced / os.fsdecode(b"caf\xe9.md")).write_text("text")

    ran = kb("scan", "-j")

    assert [(file["path"], file["state"]) for file in ran.json["sources"][0]["files"]] == [
        (f"{synced}/caf\ufffd.md", "unreadable")
    ]
    assert ran.code == 0


def test_a_source_that_is_not_there_is_out_of_step(kb, synced):
    synced.rename(synced.with_name("elsewhere"))

    ran = kb("scan")

    assert ran.code == 8
    assert f"docs: {synced} is not there; the store has 5 documents of it" in ran.stdout


def test_sources_are_named_or_all_are_scanned(kb, synced, tmp_path):
    running.write(tmp_path / "more", {"a.md": "a"})
    kb("source", "add", "more")

    assert (kb("scan", "docs").code, kb("scan", "more").code, kb("scan").code) == (0, 8, 8)
    ran = kb("scan", "nonsense")
    assert (ran.code, ran.stderr) == (3, "kb: no source nonsense (sources are: docs, more)\n")


def test_without_sources_it_is_said_how_to_have_one(kb):
    kb("add", "--note", "x")

    ran = kb("scan")

    assert (ran.code, ran.stdout) == (0, "")
    assert "kb source add PATH" in ran.stderr


def test_without_sources_nothing_is_said_to_be_in_step(kb, tmp_path):
    """Files that were added by hand may have changed: nobody looked."""
    (tmp_path / "by_hand.md").write_text("# Red\n\nred")
    kb("add", tmp_path / "by_hand.md")
    (tmp_path / "by_hand.md").write_text("# Green\n\ngreen")

    answer = kb("scan", "-j").json

    assert (answer["in_step"], answer["sources"]) == (None, [])
    assert "kb add --replace PATH" in answer["warnings"][0]


def test_without_a_store_there_is_nothing_to_scan(kb):
    assert [kb("scan").code, kb("sync").code, kb("source", "list").code] == [3, 3, 3]
