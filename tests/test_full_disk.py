"""A disk that is full, or a file that may not grow: the command says so, nothing is lost, and it goes on afterwards."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from functools import partial

import pytest
import running
import tiny_model

from kb import worker
from kb.errors import Exit

FREE_KB = (0, 16, 100, 400)
"""From too little for SQLite to open its files to enough for its commits, but not for what comes after them."""
LARGEST_KB = (16, 150)
COMMANDS = (
    ("add", "more", "-r", "-j"), ("add", "--note", "red " * 2000, "-j"), ("remove", "1", "2", "3", "-j"),
    ("tag", "add", "1", "new", "-j"), ("compact", "-j"), ("reindex", "--model", "./other-model", "-j"),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """Documents in `first/` and `more/`, whose store takes more than a megabyte."""
    for name in ("first", "more"):
        running.write(tmp_path / name, {f"{name}{number}.md": document(f"{name}{number}") for number in range(8)})
    tiny_model.write_model(tmp_path / "other-model", dim=64)
    return tmp_path


def document(name: str) -> str:
    return "\n\n".join(f"# {name} {part}\n\nred {name} " + f"green{part} word{part} " * 30 for part in range(20))


@pytest.fixture
def leave(folder):
    """Mount `store/` as a disk of 4 MB and fill it up to so many free KB; None empties it again."""
    (folder / "store").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder / "store"]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    filling = folder / "store" / "filling"

    def leave_free(free_kb: int | None) -> None:
        filling.unlink(missing_ok=True)
        if free_kb is not None:
            filling.write_bytes(bytes(max(0, shutil.disk_usage(folder / "store").free - free_kb * 1024)))

    yield leave_free
    subprocess.run(["umount", "--lazy", folder / "store"], check=True)


@pytest.fixture
def kb(folder, roomy_folder):
    """A command in this process."""
    return partial(running.here, folder, KB_MODEL=roomy_folder, KB_INGESTION_BATCH_SIZE=2)


@pytest.fixture
def limited(folder, roomy_folder):
    """A command as a process that may write no file larger than so many KB."""

    def run(largest_kb: int, *arguments: str) -> running.Ran:
        done = subprocess.run(
            [sys.executable, "-m", "kb", *arguments],
            env=running.environment(folder / "store", KB_MODEL=roomy_folder, KB_INGESTION_BATCH_SIZE=2),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest_kb * 1024, -1)),
        )
        return running.Ran(done.returncode, done.stdout, done.stderr)

    return run


def texts(kb) -> dict[str, str]:
    """The text of each document, by its title."""
    documents = kb("list", "-j", "--all").json["documents"]
    return {row["title"]: kb("get", row["document_id"], "-j").json["text"] for row in documents}


def assert_said_so(ran: running.Ran) -> None:
    """Either it fitted, or the answer is that of a full disk, and nothing else is printed."""
    if ran.code:
        assert (ran.code, ran.json["error"]["code"]) == (Exit.STORE, "DiskFault"), ran
        assert "free space" in ran.json["error"]["hint"]
    assert ran.stderr == ""


@pytest.mark.parametrize("free_kb", FREE_KB)
def test_a_disk_that_fills_up_during_an_add_costs_nothing_that_was_committed(kb, leave, free_kb):
    kb("add", "first", "-r")
    before = texts(kb)
    leave(free_kb)
    ran = kb("add", "more", "-r", "-j")
    assert ran.code == Exit.STORE
    assert_said_so(ran)
    leave(None)
    assert kb("doctor", "-j").code == Exit.OK
    kept = texts(kb)
    assert kept | before == kept
    assert kb("add", "more", "-r", "-j").json["added"] == 16 - len(kept)
    assert {title: text for title, text in texts(kb).items() if title in kept} == kept
    assert kb("doctor", "-j").code == Exit.OK


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command[:2]))
def test_any_command_on_a_full_disk_says_so_and_does_it_when_there_is_room(kb, leave, command, folder):
    kb("add", "first", "-r")
    before = texts(kb)
    leave(0)
    assert_said_so(kb(*command))
    leave(None)
    assert kb("doctor", "-j").code == Exit.OK
    assert texts(kb) == before
    assert kb(*command).code == Exit.OK
    model = folder / "other-model" if "reindex" in command else None
    assert kb("doctor", "-j", **({"KB_MODEL": model} if model else {})).code == Exit.OK


@pytest.mark.parametrize("largest_kb", LARGEST_KB)
def test_a_file_that_may_not_grow_is_as_a_full_disk(kb, limited, largest_kb):
    kb("add", "first", "-r")
    before = texts(kb)
    ran = limited(largest_kb, "add", "more", "-r", "-j")
    assert ran.code == Exit.STORE
    assert_said_so(ran)
    assert kb("doctor", "-j").code == Exit.OK
    kept = texts(kb)
    assert kept | before == kept
    assert kb("add", "more", "-r", "-j").json["added"] == 16 - len(kept)
    assert kb("doctor", "-j").code == Exit.OK


def test_a_first_add_on_a_full_disk_leaves_what_the_next_one_can_use(kb, leave):
    leave(64)
    assert_said_so(kb("add", "first", "-r", "-j"))
    leave(None)
    assert kb("add", "first", "-r", "-j").json["added"] == 8
    assert kb("doctor", "-j").code == Exit.OK


@pytest.mark.parametrize("free_kb", [*FREE_KB, 1600])
def test_a_restore_onto_a_full_disk_leaves_the_old_store_or_the_new_one(kb, leave, free_kb):
    kb("add", "first", "-r")
    kb("backup", "saved")
    whole = texts(kb)
    kb("remove", "1")
    before = texts(kb)
    leave(free_kb)
    assert_said_so(kb("restore", "saved", "--yes", "-j"))
    leave(None)
    assert kb("doctor", "-j").code == Exit.OK
    assert texts(kb) in (before, whole)
    assert kb("restore", "saved", "--yes", "-j").code == Exit.OK
    assert texts(kb) == whole
    assert kb("doctor", "-j").code == Exit.OK


def test_a_job_that_finds_no_room_waits_and_is_done_when_there_is(kb, leave, folder):
    kb("add", "first", "-r")
    with worker.alone(folder / "store"):
        kb("add", "more", "-r", "--background")
    leave(0)
    assert_said_so(kb("jobs", "run", "--until-empty", "-j"))
    leave(None)
    [job] = kb("jobs", "run", "--until-empty", "-j").json["jobs"]
    assert (job["state"], job["finished"], len(texts(kb))) == ("done", 8, 16)
    assert kb("doctor", "-j").code == Exit.OK


@pytest.mark.parametrize("largest_kb", LARGEST_KB)
def test_a_backup_that_finds_no_room_leaves_nothing(kb, limited, folder, largest_kb):
    kb("add", "first", "-r")
    there = set(folder.iterdir())
    ran = limited(largest_kb, "backup", "saved", "-j")
    assert ran.code == Exit.STORE
    assert_said_so(ran)
    assert set(folder.iterdir()) == there


@pytest.fixture
def read_only(folder, kb):
    """The store of `folder`, on a disk that cannot be written."""
    kb("add", "first", "-r")
    kb("jobs", "run", "--until-empty")  # which leaves the file of its lock
    (folder / "elsewhere").mkdir()
    kept = folder / "elsewhere" / "store"
    (folder / "store").rename(kept)
    (folder / "store").mkdir()
    for options in (["--bind", kept], ["-o", "remount,bind,ro"]):
        mounted = subprocess.run(["mount", *options, folder / "store"], capture_output=True, text=True, check=False)
        if mounted.returncode:
            pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield
    subprocess.run(["umount", "--lazy", folder / "store"], check=True)


@pytest.mark.usefixtures("read_only")
def test_a_store_on_a_read_only_disk_is_searched_and_not_written(kb):
    """Without a daemon, which needs a socket there."""
    found = kb("search", "-j", "red first3")
    assert found.code == Exit.OK, found
    assert found.json["results"][0]["source"]["title"][:6] == "first3"
    assert kb("list", "-j").json["total"] == 8
    assert kb("jobs", "list", "-j").json["worker"] is None
    refused = kb("add", "--note", "more", "-j")
    assert (refused.code, refused.json["error"]["code"]) == (Exit.STORE, "DiskFault")
    no_daemon = kb("daemon", "start", KB_DAEMON="")
    assert no_daemon.code != Exit.OK
    assert "the daemon cannot live in" in no_daemon.stderr
