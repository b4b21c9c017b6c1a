"""Who can read a store, what its logs hold, and that nothing here leaves the machine."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from functools import partial

import no_network
import pytest
from hurting import network
from hurting.syscalls import why_not
from running import environment

SECRET_WORD = "zqcanaryq"


def readable_by_others(folder):
    """Files below that somebody else can come to and read, or folders that they can list or change."""
    if not folder.stat().st_mode & stat.S_IXOTH:
        return []
    found = []
    for entry in folder.iterdir():
        mode = entry.lstat().st_mode
        if mode & stat.S_IRWXO & ~(stat.S_IXOTH if entry.is_dir() else 0):
            found.append(entry.name)
        if entry.is_dir() and not entry.is_symlink():
            found += readable_by_others(entry)
    return found


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("is_there", [False, True], ids=["a folder that kb makes", "a folder that everybody may enter"])
@pytest.mark.usefixtures("no_umask")
def test_nobody_else_can_read_a_store_whatever_the_umask(tmp_path, data_dir, tiny_folder, kb, is_there):
    """Nor what failed, what waits to be added, backups and exports."""
    (tmp_path / "a.md").write_text("# One\n\nred\n")
    (tmp_path / "b.pdf").write_text("no pdf")
    if is_there:
        data_dir.mkdir()
        data_dir.chmod(0o755)

    kb = partial(kb, KB_MODEL=tiny_folder)
    for words in (
        ("add", "a.md", "b.pdf", "--keep-original"), ("tag", "add", "1", "new"), ("backup", "saved"), ("export", "out"), ("init",),
        ("restore", "saved", "--yes"), ("search", "red", "--mode", "keyword"), ("doctor",), ("compact",),
    ):  # fmt: skip
        kb(*words)
    kb("add", "-", "--background", stdin=b"# Two\n\ngreen\n")
    assert {"kb.db", "ingest-errors.log", "uploads", "run", "matrix", "lexical"} <= {
        entry.name for entry in data_dir.iterdir()
    }
    assert readable_by_others(data_dir) == []
    assert not (tmp_path / "saved").stat().st_mode & stat.S_IRWXO
    assert not (tmp_path / "out").stat().st_mode & stat.S_IRWXO


def test_no_log_holds_what_a_document_says_or_what_was_asked(tmp_path, data_dir, tiny_folder, kb):
    """Documents that can be read, those of which no sense can be made, and what was searched for."""
    documents = tmp_path / "documents"
    documents.mkdir()
    for name, text in {
        "a.md": "# One\n\nred {}\n", "b.json": '{{"{}": [1, {}', "c.yaml": "a: [{}\nb: {}: {}", "d.toml": "a = {}\n{}", "e.ipynb": '{{"{}"',
        "f.html": "<p>{}<table {}>", "g.docx": "PK\3\4{}", "h.pdf": "%PDF-1.4 {}", "i.vtt": "WEBVTT\n{} --> {}", "j.csv": '"{}', "k.epub": "{}",
    }.items():  # fmt: skip
        (documents / name).write_text(text.replace("{}", SECRET_WORD).replace("{{", "{"))
    kb("add", "documents", "-r", "-j", KB_MODEL=tiny_folder)
    kb("add", "documents", "-r", "--retry", "--background", "-j", KB_MODEL=tiny_folder)
    kb("jobs", "run", "--until-empty", "-j", KB_MODEL=tiny_folder)
    kb("daemon", "start", KB_MODEL=tiny_folder, KB_DAEMON="on")
    before = kb("daemon", "status", "-j").json["requests"]
    asked = [sys.executable, "-m", "kb.launch", "search", SECRET_WORD, "-j", "--mode", "keyword"]
    subprocess.run(
        asked, env=environment(data_dir, KB_MODEL=tiny_folder, KB_DAEMON="on"), check=True, capture_output=True
    )
    assert kb("daemon", "status", "-j").json["requests"] - before == 2  # the search, and this
    kb("daemon", "stop")
    logs = [*data_dir.glob("*.log"), *(data_dir / "run").glob("*")]
    assert data_dir / "ingest-errors.log" in logs
    assert [path.name for path in logs if path.is_file() and SECRET_WORD.encode() in path.read_bytes()] == []


def test_a_test_that_would_leave_the_machine_fails():
    """Not by the network's answer: before it is asked."""
    with socket.socket() as asking, pytest.raises(no_network.LeavesTheMachine):
        asking.connect(("192.0.2.1", 80))
    with pytest.raises(no_network.LeavesTheMachine):
        socket.getaddrinfo("example.org", 80)


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_process_that_would_leave_the_machine_is_found(tmp_path):
    """Whoever starts it, with whatever variables, and whatever it does with the refusal; loopback and names that stand for nowhere pass."""
    tries = "import socket\nfor host in ('192.0.2.1', 'example.org', 'nowhere.invalid', '127.0.0.1'):\n    try: socket.create_connection((host, 9))\n    except OSError: pass"
    inner = f"import os, subprocess, sys; subprocess.run([sys.executable, '-c', {tries!r}], env={{'LD_PRELOAD': os.environ['LD_PRELOAD']}})"
    code, found = network.watched([sys.executable, "-c", inner], tmp_path)
    assert code == 0
    assert [line.partition(":")[0] for line in found] == ["connect 192.0.2.1", "getaddrinfo example.org"]


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_adding_and_searching_ask_nobody(tmp_path, data_dir, tiny_folder):
    (tmp_path / "a.md").write_text("# One\n\nred\n")
    (tmp_path / "b.html").write_text("<p>green<img src='http://192.0.2.1/x.png'>")
    words = "; ".join(
        f"import kb.cli.door; kb.cli.door.run({line!r})"
        for line in (["add", "a.md", "b.html"], ["search", "red"], ["doctor"])
    )
    script = f"import os; os.environ |= {environment(data_dir, KB_MODEL=tiny_folder)!r}; os.chdir({str(tmp_path)!r}); {words}"
    _, found = network.watched([sys.executable, "-c", script], tmp_path)
    assert found == []
