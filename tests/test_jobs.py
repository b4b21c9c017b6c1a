"""`kb add --background` and `kb jobs` as real processes: killed, two at once, told to end, left behind."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest
import running

from index.lock import writer_lock
from kb import background, jobanswers
from kb.errors import Exit

PROSE = "Heat flows from the warm body to the cold one until both are equally warm."
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FILES = 24
WITHIN_S = 60.0


@pytest.fixture
def kb(tmp_path, roomy_folder):
    """A command in this process."""
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def process(tmp_path, roomy_folder):
    """A command as a process that is over when this returns."""
    return partial(running.process, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def start_worker(tmp_path, roomy_folder):
    """Start `kb jobs run` as a process; those that a test leaves are ended."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **variables: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "kb", "jobs", "run", *arguments]
        wanted = running.environment(tmp_path / "store", KB_MODEL=roomy_folder, **variables)
        started.append(
            subprocess.Popen(command, env=wanted, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


@pytest.fixture(autouse=True)
def nobody_left_behind(tmp_path):
    """Whatever a test left to work in the background has ended before its folder goes."""
    yield
    with_worker = tmp_path / "store"
    if with_worker.exists():
        wait_until(lambda: jobanswers.worker(with_worker) is None)


@pytest.fixture
def docs(tmp_path):
    return running.write(tmp_path / "docs", {f"{number:02}.md": f"{PROSE} {number}" for number in range(FILES)})


@pytest.fixture
def submit(tmp_path, kb, docs):
    """A job that waits, and no worker."""

    def put(*arguments: object) -> int:
        with held(tmp_path / "store"):
            return kb("add", *(arguments or ("docs", "-r")), "--background", "-j").json["job"]["job_id"]

    return put


@contextmanager
def held(store: Path) -> Iterator[None]:
    """Nobody else may work the queue off, so that `kb add --background` leaves no worker behind."""
    path = store / "run" / jobanswers.LOCK
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with writer_lock(path, 5.0):
        yield


def wait_until(true) -> None:
    until = monotonic() + WITHIN_S
    while not true():
        assert monotonic() < until, "waited in vain"
        sleep(0.02)


def rows(folder: Path, query: str) -> list[tuple]:
    try:
        with closing(sqlite3.connect(folder / "store/kb.db")) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.OperationalError:  # there is no store yet
        return []


def finished(folder: Path) -> dict[str, tuple]:
    found = rows(folder, "SELECT path, status, document_id, chunks FROM job_files WHERE status != 'waiting'")
    return {path: rest for path, *rest in found}


def test_a_worker_that_is_killed_loses_nothing_and_the_next_goes_on(tmp_path, docs, submit, start_worker, kb):
    """Killed with -9 again and again: each file is a document once, and what was done is not done twice."""
    submit()
    noted: dict[str, tuple] = {}
    for at_least in (3, 9):
        worker = start_worker("--until-empty", KB_INGESTION_BATCH_SIZE=1)
        wait_until(lambda at_least=at_least: len(finished(tmp_path)) >= at_least)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        now = finished(tmp_path)
        assert len(now) < FILES
        assert now | noted == now
        noted = now
        assert rows(tmp_path, "SELECT state FROM jobs") == [("running",)]
    listed = kb("jobs", "list", "-j").json
    assert (listed["worker"], "worker of job 1 died" in listed["warnings"][0]) == (None, True)

    last = start_worker("--until-empty", "-j")
    out, err = last.communicate(timeout=WITHIN_S)

    assert (last.returncode, err) == (Exit.OK, b"")
    assert b'"state":"done"' in out
    now = finished(tmp_path)
    assert now | noted == now
    statuses = Counter(status for status, *_ in now.values())
    assert statuses["added"] + statuses["skipped"] == FILES
    assert statuses["skipped"] <= 3  # written, and killed before it was noted
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT source_path) FROM documents") == [(FILES, FILES)]
    assert kb("doctor").code == Exit.OK


def test_two_workers_at_once_do_each_job_once(tmp_path, docs, submit, start_worker, kb):
    for number in range(4):
        submit(f"docs/0{number}.md")
    workers = [start_worker("--until-empty", "-j") for _ in range(3)]
    ends = [(worker.communicate(timeout=WITHIN_S), worker.returncode) for worker in workers]

    assert {code for _, code in ends} <= {Exit.OK, Exit.STORE}
    done = [number for (out, _), _ in ends for number in range(1, 5) if f'"job_id":{number},'.encode() in out]
    assert sorted(done) == [1, 2, 3, 4]
    assert rows(tmp_path, "SELECT state, count(*) FROM jobs GROUP BY 1") == [("done", 4)]
    assert rows(tmp_path, "SELECT count(*) FROM documents") == [(4,)]


def test_a_second_worker_says_who_works(tmp_path, docs, submit, start_worker, kb):
    first = start_worker()
    wait_until(lambda: kb("jobs", "list", "-j").code != 0 or jobanswers.worker(tmp_path / "store") == first.pid)
    wait_until(lambda: jobanswers.worker(tmp_path / "store") == first.pid)

    refused = kb("jobs", "run", "--until-empty", "-j")

    assert (refused.code, refused.json["error"]["code"]) == (Exit.STORE, "StoreLocked")
    assert f"process {first.pid} works the queue off already" in refused.json["error"]["message"]


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_told_to_end_does_at_once_and_its_job_waits(tmp_path, docs, submit, start_worker, kb, which):
    submit()
    worker = start_worker("-j", KB_INGESTION_BATCH_SIZE=1)
    wait_until(lambda: len(finished(tmp_path)) >= 3)

    worker.send_signal(which)
    out, err = worker.communicate(timeout=WITHIN_S)

    assert (worker.returncode, out, err) == (Exit.OK, b"", b"")
    assert rows(tmp_path, "SELECT state, deaths FROM jobs") == [("waiting", 0)]
    ran = kb("jobs", "run", "--until-empty", "-j")
    assert (ran.code, ran.json["jobs"][0]["state"], ran.json["jobs"][0]["finished"]) == (Exit.OK, "done", FILES)


def test_a_running_job_is_cancelled_from_the_command_line(tmp_path, docs, submit, start_worker, kb):
    submit()
    submit("docs/23.md")
    worker = start_worker("--until-empty", KB_INGESTION_BATCH_SIZE=1)
    wait_until(lambda: len(finished(tmp_path)) >= 3)

    assert kb("jobs", "cancel", 1, "-j").json["job"]["is_cancelling"]
    worker.communicate(timeout=WITHIN_S)

    assert rows(tmp_path, "SELECT id, state FROM jobs") == [(1, "cancelled"), (2, "done")]
    added = kb("jobs", "show", 1, "--status", "added", "-j").json
    assert 3 <= added["total_files"] == len(added["files"]) < FILES
    assert rows(tmp_path, "SELECT count(*) FROM documents") == [(added["total_files"] + 1,)]


def test_an_add_in_the_background_is_done_without_any_other_command(tmp_path, docs, process, kb):
    """From the command line to the store: it answers with a job, a worker is there, and ends when nothing is left."""
    added = process("add", "docs", "-r", "--tag", "x", "--meta", "k=v", "--exclude", "0*.md", "--background", "-j")

    assert (added.code, added.stderr) == (Exit.OK, "")
    job = added.json["job"]
    assert (job["job_id"], job["kind"], job["what"]) == (1, "paths", [str(docs)])
    waited = kb("jobs", "wait", 1, "-j")
    assert (waited.code, waited.json["job"]["state"]) == (Exit.OK, "done")
    assert waited.json["job"]["counts"] == {"added": FILES - 10}
    documents = kb("list", "-j", "--all").json["documents"]
    assert {(one["path"][:-4], *one["tags"], one["meta"]["k"]) for one in documents} == {
        (f"{docs}/{tens}", "x", "v") for tens in (1, 2)
    }
    wait_until(lambda: jobanswers.worker(tmp_path / "store") is None)
    log = tmp_path / "store" / "run" / background.LOG
    assert log.stat().st_mode & 0o777 == 0o600
    assert f"{FILES - 10} added" in log.read_text()


def test_an_add_beside_a_worker_starts_no_other(tmp_path, docs, process, start_worker, kb):
    worker = start_worker()
    wait_until(lambda: jobanswers.worker(tmp_path / "store") == worker.pid)

    process("add", "docs/00.md", "--background")

    wait_until(lambda: finished(tmp_path))
    assert not (tmp_path / "store" / "run" / background.LOG).exists()
    assert worker.poll() is None


def test_notes_and_standard_input_wait_without_their_secrets(tmp_path, docs, kb):
    with held(tmp_path / "store"):
        kb("add", "--note", f"the token is {SECRET}", "--background")
        kb("add", "-", "--background", "--type", "text", stdin=f"{PROSE} {SECRET}".encode())
        assert SECRET.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "store").glob("kb.db*"))

    ran = kb("jobs", "run", "--until-empty", "-j")

    assert [(job["kind"], job["counts"], job["redacted"]) for job in ran.json["jobs"]] == [
        ("note", {"added": 1}, 1), ("stream", {"added": 1}, 1),
    ]  # fmt: skip
    everything = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert SECRET.encode() not in everything
    assert kb("search", "-j", "token", "--mode", "keyword").json["results"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("docs", "-r", "--password", "x"), Exit.USAGE), (("docs", "-r", "--dry-run"), Exit.USAGE), (("docs",), Exit.USAGE),
        (("no-such-file",), Exit.NOT_FOUND), (("--note", "x", "docs"), Exit.USAGE), (("--note", " "), Exit.UNREADABLE),
        (("docs/00.md", "--type", "nonsense"), Exit.UNREADABLE), ((), Exit.USAGE), (("--reread",), Exit.USAGE),
    ],
)  # fmt: skip
def test_what_cannot_wait_is_refused_at_once(tmp_path, docs, kb, arguments, code):
    ran = kb("add", *arguments, "--background", "-j")
    assert (ran.code, ran.json["error"]["exit_code"]) == (code, code)
    assert rows(tmp_path, "SELECT count(*) FROM jobs") in ([], [(0,)])


def test_jobs_are_listed_shown_tried_again_and_forgotten(tmp_path, docs, submit, kb):
    (docs / "bad.md").write_bytes(bytes(range(32)) * 8)
    submit()
    submit("docs/00.md")
    assert kb("jobs", "list").stdout.splitlines() == [
        f"     2  waiting     0 files  {docs}/00.md", f"     1  waiting     0 files  {docs}", "2 waiting",
        "Nobody works them off: kb jobs run does.",
    ]  # fmt: skip
    assert kb("jobs", "cancel", 2).stdout.split()[:2] == ["2", "cancelled"]

    ran = kb("jobs", "run", "--until-empty")
    assert (ran.code, ran.stdout.splitlines()[-1]) == (Exit.PARTIAL, "1 jobs have ended.")

    listed = kb("jobs", "list", "--state", "failed", "--state", "cancelled", "-n", "1", "-j").json
    assert ([job["job_id"] for job in listed["jobs"]], listed["total"]) == ([2], 2)
    shown = kb("jobs", "show", 1, "--status", "failed").stdout.splitlines()
    assert f"{FILES + 1} of {FILES + 1} files" in shown[0]
    assert "Failed: " in shown[-1]
    assert "bad.md" in shown[-1]
    page = kb("jobs", "show", 1, "-n", "2", "--offset", "1", "-j").json
    assert ([file["path"][-5:] for file in page["files"]], page["total_files"]) == (["01.md", "02.md"], FILES + 1)

    (docs / "bad.md").write_text("it is well now")
    with held(tmp_path / "store"):
        assert kb("jobs", "retry", 1, "-j").json["job"]["state"] == "waiting"
        assert kb("jobs", "wait", 1, "--timeout", "0", "-j").code == Exit.PARTIAL
    assert kb("jobs", "run", "--until-empty").code == Exit.OK
    assert kb("jobs", "wait", 1).code == Exit.OK
    assert kb("jobs", "remove", "--ended", "-j").json["removed"] == [2, 1]
    assert kb("jobs", "list").stdout == "There are no jobs. kb add --background makes one.\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("show", 9), Exit.NOT_FOUND), (("cancel", 9), Exit.NOT_FOUND), (("retry", 9), Exit.NOT_FOUND),
        (("wait", 9), Exit.NOT_FOUND), (("remove", 9), Exit.NOT_FOUND), (("remove",), Exit.USAGE),
        (("list", "--state", "nonsense"), Exit.USAGE), (("show", 0), Exit.USAGE), (("show", "x"), Exit.USAGE),
        (("retry", 1), Exit.USAGE), (("remove", 1), Exit.USAGE),
    ],
)  # fmt: skip
def test_what_is_no_job_is_said_to_be_none(docs, submit, kb, arguments, code):
    submit("docs/00.md")
    ran = kb("jobs", *arguments, "-j")
    assert (ran.code, ran.json["error"]["exit_code"]) == (code, code)


def test_without_a_store_there_are_no_jobs(kb):
    assert kb("jobs", "list", "-j").code == Exit.NOT_FOUND
    assert kb("jobs", "run", "--until-empty", "-j").json["jobs"] == []


def test_a_retry_leaves_a_worker_behind_too(tmp_path, docs, submit, kb):
    submit("docs/00.md")
    kb("jobs", "cancel", 1)
    kb("jobs", "retry", 1)
    wait_until(lambda: rows(tmp_path, "SELECT state FROM jobs") == [("done",)])


def test_a_store_that_cannot_hold_a_log_still_takes_the_job_and_says_so(tmp_path, docs, kb):
    kb("add", "docs/00.md")
    (tmp_path / "store" / "run" / background.LOG).mkdir(parents=True)
    ran = kb("add", "docs/01.md", "--background", "-j")
    assert (ran.code, ran.json["job"]["state"]) == (Exit.OK, "waiting")
    assert "no worker could be started" in ran.json["warnings"][0]
