"""`kb sync --watch`: follows what happens to the files, says that it lives, and ends when it is told to."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest
import running

from kb.settings import Settings
from kb.watch import Watcher

PROSE = "Heat flows from the warm body to the cold one until both are equally warm. "
WITHIN_S = 60.0
"""Far more than it takes on an idle machine: a second."""


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def docs(tmp_path, kb):
    """A source, in step."""
    folder = running.write(tmp_path / "docs", {"a.md": f"{PROSE} a", "b.md": f"{PROSE} b"})
    kb("source", "add", "docs")
    kb("sync")
    return folder


@pytest.fixture
def watcher(tmp_path, roomy_folder, kb):
    """Start a watcher as a process, and wait until it watches; ends those that a test leaves."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "kb", "sync", "--watch", *arguments],
            env=running.environment(tmp_path / "store", KB_MODEL=roomy_folder),
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        wait_until(lambda: process.poll() is not None or watches(kb, process.pid))
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def watches(kb, pid: int) -> bool:
    status = kb("status", "-j").json.get("watch")
    return bool(status and status["running"] and status["pid"] == pid and status["looked_at"])


def wait_until(true: Callable[[], object]) -> None:
    until = monotonic() + WITHIN_S
    while not true():
        assert monotonic() < until, "waited in vain"
        sleep(0.05)


def found(folder: Path) -> dict[str, int]:
    """Names of the files that are documents, and how long their texts are."""
    with sqlite3.connect(folder / "store/kb.db") as connection:
        rows = connection.execute(
            "SELECT d.source_path, sum(length(c.text)) FROM documents d JOIN chunks c ON c.document_id = d.id GROUP BY 1"
        ).fetchall()
    return {path.rpartition("/")[2]: size for path, size in rows}


def test_what_happens_to_the_files_happens_to_the_documents(docs, watcher, tmp_path):
    process = watcher("-j")

    (docs / "new.md").write_text("new")
    wait_until(lambda: "new.md" in found(tmp_path))
    (docs / "a.md").write_text("changed")
    wait_until(lambda: found(tmp_path)["a.md"] == len("changed"))
    (docs / "b.md").rename(docs / "moved.md")
    wait_until(lambda: set(found(tmp_path)) == {"a.md", "moved.md", "new.md"})
    (docs / "a.md").unlink()
    wait_until(lambda: set(found(tmp_path)) == {"moved.md", "new.md"})

    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=WITHIN_S)
    assert (process.returncode, err) == (0, b"")
    assert out.count(b"\n") in {3, 4}  # the last is seen in the store a moment before it is said
    assert all(line.startswith(b'{"sources":[') for line in out.splitlines())


def test_a_save_by_renaming_keeps_the_document_and_what_it_was_given(docs, watcher, kb, tmp_path):
    kb("tag", "add", docs / "a.md", "mine")
    watcher()

    for number in range(3):
        (docs / ".a.md.swp").write_text(f"saved {number}")
        (docs / "a.md").rename(docs / "a.md~")
        (docs / ".a.md.swp").rename(docs / "a.md")
        (docs / "a.md~").unlink()
        wait_until(lambda: found(tmp_path).get("a.md") == len("saved 0"))
        sleep(0.3)

    documents = kb("list", "-j").json["documents"]
    assert {document["path"].rpartition("/")[2]: document["tags"] for document in documents} == {
        "a.md": ["mine"], "b.md": [],
    }  # fmt: skip


def test_what_changed_before_it_began_is_found(docs, watcher, tmp_path):
    (docs / "new.md").write_text("new")

    watcher()

    wait_until(lambda: "new.md" in found(tmp_path))


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_when_it_is_told_to(docs, watcher, kb, which):
    process = watcher()
    status = kb("status", "-j").json["watch"]
    assert (status["running"], status["trouble"]) == (True, "")

    process.send_signal(which)

    out, err = process.communicate(timeout=WITHIN_S)
    assert (process.returncode, out, err) == (0, b"", b"")
    assert kb("status", "-j").json["watch"] is None


def test_one_that_died_is_missed(docs, watcher, kb):
    process = watcher()

    process.kill()
    process.wait()

    status = kb("status", "-j").json
    assert (status["watch"]["running"], status["watch"]["pid"]) == (False, process.pid)
    assert any(f"the watcher (process {process.pid}) died" in warning for warning in status["warnings"])


def test_one_watcher_a_store(docs, watcher):
    first, second = watcher(), watcher()

    out, err = second.communicate(timeout=WITHIN_S)

    assert (second.returncode, out) == (5, b"")
    assert f"process {first.pid} watches this store already".encode() in err
    assert first.poll() is None


def test_a_source_registered_meanwhile_is_watched_too(docs, watcher, kb, tmp_path):
    watcher()
    more = running.write(tmp_path / "more", {"x.md": "x"})

    kb("source", "add", "more")

    wait_until(lambda: "x.md" in found(tmp_path))
    (more / "y.md").write_text("y")
    wait_until(lambda: "y.md" in found(tmp_path))


def test_a_source_that_vanishes_is_kept_and_followed_again_when_it_is_back(docs, watcher, kb, tmp_path):
    process = watcher()
    docs.rename(tmp_path / "elsewhere")
    wait_until(lambda: "is not there" in (kb("status", "-j").json["watch"] or {})["trouble"])
    assert set(found(tmp_path)) == {"a.md", "b.md"}

    (tmp_path / "elsewhere/new.md").write_text("new")
    (tmp_path / "elsewhere").rename(docs)

    wait_until(lambda: "new.md" in found(tmp_path))
    (docs / "newer.md").write_text("newer")
    wait_until(lambda: "newer.md" in found(tmp_path))
    assert process.poll() is None


def test_it_lives_on_when_the_store_is_locked_for_too_long(docs, watcher, kb, tmp_path, monkeypatch):
    """And says so, and tries again."""
    from index.lock import writer_lock

    process = watcher()
    with writer_lock(tmp_path / "store/run/sync.lock", 5.0):
        (docs / "new.md").write_text("new")
        sleep(0.5)
    wait_until(lambda: "new.md" in found(tmp_path))
    assert process.poll() is None


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        ("/docs/a.md", True), ("/docs/sub/b.md", True), ("/docs", True), ("/docs/.gitignore", True),
        ("/docs/.git/index", False), ("/docs/.a.swp", False), ("/docs/store/kb.db", False), ("/docs2/a.md", False),
    ],
)  # fmt: skip
def test_what_a_walk_passes_over_wakes_nobody(path, concerns):
    watcher = Watcher(Path("/docs/store"), Settings(), (), None, lambda _: False, lambda _: None)

    assert watcher._concerns(path, "/docs") == concerns
