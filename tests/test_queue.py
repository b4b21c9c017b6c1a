"""The queue of what is to be added in the background: what a job keeps, what becomes of it, and who may do it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep, time

import msgspec
import pytest
import running

from index import jobs as rows
from index import store
from index.errors import StoreLocked
from index.lock import writer_lock
from kb import browse, jobanswers, preferences, queue, uploads, worker
from kb.add import Silent, add_note, add_paths, add_stream
from kb.candidates import Request
from kb.errors import BadRequest, NoText, NotFound, UnsupportedType
from kb.uploads import Receiving

PROSE = "Heat flows from the warm body to the cold one until both are equally warm."
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
BINARY = bytes(range(32)) * 8
"""Which no reader of texts takes."""
WITHIN_S = 60.0


@pytest.fixture
def wanted(tmp_path, roomy_folder):
    """Settings with the tiny model."""
    return preferences.load(tmp_path / "store", {"KB_MODEL": str(roomy_folder)}).settings


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def docs(tmp_path):
    return running.write(tmp_path / "docs", {f"{name}.md": f"{PROSE} {name}" for name in ("a", "b", "c")})


@pytest.fixture
def submit(data_dir, wanted):
    return partial(queue.submit, data_dir, wanted)


@pytest.fixture
def work(data_dir, wanted):
    """Work the queue off; returns the jobs that ended."""

    def run(**options):
        ended = []
        worker.run(data_dir, wanted, until="empty", tell=ended.append, **options)
        return ended

    return run


def sent(data_dir: Path, name: str, content: bytes) -> uploads.Upload:
    with Receiving(data_dir, name) as receiving:
        receiving.write(content)
        return receiving.keep()


def documents(data_dir: Path) -> dict[str, tuple]:
    """What is stored of each document, by its title."""
    with closing(sqlite3.connect(data_dir / "kb.db")) as connection:
        found = connection.execute(
            "SELECT title, source_path, content_hash, doc_type, size, metadata, stated_tags,"
            " (SELECT group_concat(t.name) FROM document_tags dt JOIN tags t ON t.id = dt.tag_id WHERE dt.document_id = d.id),"
            " (SELECT group_concat(c.text) FROM chunks c WHERE c.document_id = d.id) FROM documents d"
        ).fetchall()
    return {row[0]: row[1:] for row in found}


def statuses(data_dir: Path, job_id: int = 1) -> dict[str, str]:
    return {file.path.rpartition("/")[2]: file.status for file in queue.job(data_dir, job_id).files}


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def wait_until(true) -> None:
    until = monotonic() + WITHIN_S
    while not true():
        assert monotonic() < until, "waited in vain"
        sleep(0.01)


# Submitting


def test_a_submitted_job_waits_and_says_what_it_is_to_do(data_dir, docs, submit):
    job = submit(Request(paths=(docs,), recursive=True)).job

    assert (job.job_id, job.kind, job.state, job.what) == (1, "paths", "waiting", (str(docs),))
    assert (job.total, job.finished, job.counts) == (None, 0, {})
    assert queue.jobs(data_dir).by_state == {"waiting": 1, "running": 0, "done": 0, "failed": 0, "cancelled": 0}


def test_all_that_kb_add_was_asked_is_kept(tmp_path):
    request = Request(
        paths=(tmp_path / "a", tmp_path / "b"), recursive=True, doc_type="text", language="c", tags=("x",), title="T",
        excludes=("*.log",), replace=True, retry=True, follow_symlinks=True, pdf_engine="pymupdf", keep_original=True,
        scrub=False, meta={"k": "v"},
    )  # fmt: skip
    said = {name for name in Request.__struct_fields__ if getattr(request, name) != getattr(Request(), name)}
    assert said == set(Request.__struct_fields__) - {"password", "dry_run"}

    assert jobanswers.decoded(jobanswers.encoded(request)) == request


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Request(paths=(Path("no-such-file"),)), NotFound),
        (Request(paths=(Path("docs"),)), BadRequest),  # a directory without recursive
        (Request(), BadRequest),
        (Request(paths=(Path("docs/a.md"),), password="x"), BadRequest),
        (Request(paths=(Path("docs/a.md"),), dry_run=True), BadRequest),
        (Request(paths=(Path("docs/a.md"),), doc_type="nonsense"), UnsupportedType),
    ],
)
def test_what_cannot_be_done_is_refused_at_once_and_leaves_nothing(
    tmp_path, data_dir, docs, submit, request_, error, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        submit(request_)
    assert not data_dir.exists()


def test_paths_are_kept_from_the_root(tmp_path, docs, submit, work, monkeypatch):
    monkeypatch.chdir(tmp_path)
    submit(Request(paths=(Path("docs/a.md"),)))
    monkeypatch.chdir("/")
    assert [job.state for job in work()] == ["done"]


# What becomes of a job


def test_a_job_adds_as_kb_add_does(tmp_path, data_dir, wanted, docs, submit, work):
    request = Request(paths=(docs,), recursive=True, tags=("x", "y"), meta={"k": "v"}, excludes=("c.md",))
    add_paths(tmp_path / "other", wanted, request, Silent())

    submit(request)
    [job] = work()

    assert documents(data_dir) == documents(tmp_path / "other")
    assert (job.state, job.total, job.finished, job.counts) == ("done", 2, 2, {"added": 2})
    assert job.warnings == ("1 are left out by ignore rules",)
    assert statuses(data_dir) == {"a.md": "added", "b.md": "added"}


def test_what_is_in_the_store_already_is_skipped(data_dir, docs, submit, work):
    submit(Request(paths=(docs,), recursive=True))
    submit(Request(paths=(docs / "a.md",), tags=("more",)))

    assert [job.counts for job in work()] == [{"added": 3}, {"skipped": 1}]
    assert documents(data_dir)["a"][6] == "more"


def test_a_file_that_fails_fails_its_job_and_the_others_are_in(data_dir, docs, submit, work):
    (docs / "bad.md").write_bytes(BINARY)

    submit(Request(paths=(docs,), recursive=True))
    [job] = work()

    assert (job.state, job.counts) == ("failed", {"added": 3, "failed": 1})
    [bad] = queue.job(data_dir, 1, statuses=("failed",)).files
    assert bad.path == str(docs / "bad.md")
    assert "bad.md" in bad.reason


def test_a_retry_does_what_failed_and_nothing_else(data_dir, docs, submit, work):
    (docs / "bad.md").write_bytes(BINARY)
    submit(Request(paths=(docs,), recursive=True))
    work()
    before = documents(data_dir)
    (docs / "bad.md").write_text("now it is well")
    (docs / "a.md").write_text("changed since, and not asked for again")

    job = queue.retry(data_dir, 1).job
    assert (job.state, job.finished, job.total) == ("waiting", 3, 4)
    [job] = work()

    assert (job.state, job.counts) == ("done", {"added": 4})
    assert {title: row for title, row in documents(data_dir).items() if title != "bad"} == before


def test_a_retry_tries_a_file_that_has_not_changed(data_dir, docs, submit, work):
    (docs / "bad.md").write_bytes(BINARY)
    submit(Request(paths=(docs / "bad.md",)))
    work()

    queue.retry(data_dir, 1)
    work()

    [file] = queue.job(data_dir, 1).files
    assert (file.status, "failed before" in file.reason) == ("failed", False)


def test_a_file_that_vanished_meanwhile_has_failed_and_the_others_are_in(data_dir, docs, submit, work):
    (docs / "bad.md").write_bytes(BINARY)
    submit(Request(paths=(docs,), recursive=True))
    work()
    (docs / "bad.md").unlink()

    queue.retry(data_dir, 1)
    work()

    [file] = queue.job(data_dir, 1, statuses=("failed",)).files
    assert "No such file" in file.reason


def test_a_path_that_vanished_before_the_job_began_fails_it_and_says_so(docs, submit, work):
    submit(Request(paths=(docs / "a.md",)))
    submit(Request(paths=(docs / "b.md",)))
    (docs / "a.md").unlink()

    first, second = work()

    assert (first.state, first.total) == ("failed", 0)
    assert "no such file" in first.error
    assert second.state == "done"


def test_a_name_that_is_not_utf_8_fails_alone(data_dir, docs, submit, work):
    Path(os.fsdecode(bytes(docs) + b"/\xff.md")).write_text("x")

    submit(Request(paths=(docs,), recursive=True))
    work()

    assert statuses(data_dir) == {"a.md": "added", "b.md": "added", "c.md": "added", "\ufffd.md": "failed"}
    assert "not UTF-8" in queue.job(data_dir, 1, statuses=("failed",)).files[0].reason


def test_a_waiting_job_is_cancelled_at_once_and_may_be_done_after_all(data_dir, docs, submit, work):
    submit(Request(paths=(docs,), recursive=True))

    assert queue.cancel(data_dir, 1).job.state == "cancelled"
    assert work() == []
    queue.retry(data_dir, 1)
    assert [job.counts for job in work()] == [{"added": 3}]


def test_what_has_ended_cannot_be_cancelled_and_what_is_done_cannot_be_tried_again(data_dir, docs, submit, work):
    submit(Request(paths=(docs / "a.md",)))
    with pytest.raises(BadRequest, match="job 1 is waiting"):
        queue.retry(data_dir, 1)
    work()
    with pytest.raises(BadRequest, match="it is done"):
        queue.cancel(data_dir, 1)
    with pytest.raises(BadRequest, match="job 1 is done"):
        queue.retry(data_dir, 1)
    for job_id in (0, 2, -1, 2**70):
        with pytest.raises(NotFound, match="no job"):
            queue.cancel(data_dir, job_id)


@pytest.fixture
def many(tmp_path):
    return running.write(tmp_path / "many", {f"{number:03}.md": f"{PROSE} {number}" for number in range(40)})


@pytest.fixture
def working(data_dir, wanted):
    """A worker in a thread, a document a batch, which ends with the test at the latest."""
    ending = Event()
    one_by_one = msgspec.structs.replace(wanted, ingestion=msgspec.structs.replace(wanted.ingestion, batch_size=1))
    thread = Thread(target=partial(worker.run, data_dir, one_by_one, until="told", ending=ending))
    yield thread, ending
    ending.set()
    if thread.ident:
        thread.join(WITHIN_S)


def test_a_running_job_is_cancelled_at_the_next_file_and_what_is_added_stays(data_dir, many, submit, working):
    submit(Request(paths=(many,), recursive=True))
    working[0].start()
    wait_until(lambda: queue.job(data_dir, 1, limit=0).job.finished > 3)

    queue.cancel(data_dir, 1)
    wait_until(lambda: queue.job(data_dir, 1, limit=0).job.state == "cancelled")

    job = queue.job(data_dir, 1, limit=0).job
    assert (job.is_cancelling, job.counts["added"] + job.counts["waiting"]) == (False, 40)
    assert 3 < job.counts["added"] == len(documents(data_dir)) < 40


def test_a_worker_that_is_told_to_end_leaves_its_job_waiting_and_the_next_goes_on(
    data_dir, many, submit, working, work
):
    thread, ending = working
    submit(Request(paths=(many,), recursive=True))
    thread.start()
    wait_until(lambda: queue.job(data_dir, 1, limit=0).job.finished > 3)
    assert jobanswers.worker(data_dir) == os.getpid()

    ending.set()
    thread.join(WITHIN_S)

    job = queue.job(data_dir, 1, limit=0).job
    assert (job.state, jobanswers.worker(data_dir)) == ("waiting", None)
    assert 3 < job.finished < 40
    assert [job.counts for job in work()] == [{"added": 40}]


def test_a_job_submitted_to_a_worker_that_waits_is_done(data_dir, docs, submit, working):
    working[0].start()  # there is not even a store yet
    submit(Request(paths=(docs,), recursive=True))
    wait_until(lambda: queue.job(data_dir, 1).job.state == "done")


# Who works


def test_one_worker_at_a_time(data_dir, docs, submit, work):
    submit(Request(paths=(docs,), recursive=True))
    with worker.alone(data_dir), pytest.raises(StoreLocked, match=f"process {os.getpid()} works the queue off already"):
        work()
    assert len(work()) == 1


def test_a_patient_worker_waits_for_the_other_to_end(data_dir, wanted, docs, submit):
    submit(Request(paths=(docs,), recursive=True))
    ended = []
    thread = Thread(target=partial(worker.run, data_dir, wanted, until="empty", patient=True, tell=ended.append))
    with worker.alone(data_dir):
        thread.start()
        sleep(0.1)
        assert ended == []
    thread.join(WITHIN_S)
    assert [job.state for job in ended] == ["done"]


def test_a_job_whose_worker_died_is_the_next_to_be_done(data_dir, docs, submit, work):
    submit(Request(paths=(docs / "a.md",)))
    submit(Request(paths=(docs / "b.md",)))
    with rows.changing(data_dir) as connection:
        connection.execute("UPDATE jobs SET state = 'running' WHERE id = 2")
    [warning] = queue.job(data_dir, 2).warnings
    assert "died" in warning

    assert [job.job_id for job in work()] == [2, 1]


def test_a_job_of_which_workers_die_is_given_up(data_dir, docs, submit, work):
    submit(Request(paths=(docs,), recursive=True))
    submit(Request(paths=(docs / "a.md",)))
    for _ in range(worker.MOST_DEATHS):
        with rows.changing(data_dir) as connection:  # and its process is killed here
            assert rows.claim(connection, "now").id == 1

    first, second = work()

    assert (first.job_id, first.state) == (1, "failed")
    assert "workers died of it" in first.error
    assert second.state == "done"
    queue.retry(data_dir, 1)
    assert [job.state for job in work()] == ["done"]


def test_a_job_whose_worker_died_can_be_cancelled(data_dir, docs, submit, work):
    submit(Request(paths=(docs,), recursive=True))
    with rows.changing(data_dir) as connection:
        rows.claim(connection, "now")

    assert queue.cancel(data_dir, 1).job.state == "cancelled"
    assert work() == []


def test_the_queue_takes_jobs_while_somebody_writes_documents(data_dir, docs, submit, work):
    submit(Request(paths=(docs / "a.md",)))
    with store.writing(data_dir):
        assert submit(Request(paths=(docs / "b.md",))).job.job_id == 2
        assert queue.cancel(data_dir, 2).job.state == "cancelled"


def test_a_job_waits_for_a_store_that_is_locked(data_dir, wanted, docs, submit, monkeypatch, capsys):
    """It does not fail for it."""
    monkeypatch.setattr(worker, "RETRY_S", 0.05)
    impatient = msgspec.structs.replace(wanted, storage=msgspec.structs.replace(wanted.storage, lock_timeout_s=0.1))
    submit(Request(paths=(docs,), recursive=True))
    ended = []
    thread = Thread(target=partial(worker.run, data_dir, impatient, until="empty", tell=ended.append))
    with writer_lock(data_dir / "write.lock", 5.0):
        thread.start()
        sleep(0.5)
    thread.join(WITHIN_S)
    assert [job.counts for job in ended] == [{"added": 3}]
    assert "the store is being written" in capsys.readouterr().err


def test_jobs_that_are_done_are_forgotten_in_the_end(data_dir, docs, submit, work, monkeypatch):
    monkeypatch.setattr(worker, "KEPT_DONE", 2)
    for _ in range(4):
        submit(Request(paths=(docs / "a.md",)))
    work()
    assert [job.job_id for job in queue.jobs(data_dir).jobs] == [4, 3]


def test_a_job_that_has_ended_can_be_removed_and_its_documents_stay(data_dir, docs, submit, work):
    submit(Request(paths=(docs,), recursive=True))
    with pytest.raises(BadRequest, match="job 1 is waiting"):
        queue.remove(data_dir, [1])
    work()
    assert queue.remove(data_dir, [1]).removed == (1,)
    assert queue.jobs(data_dir).total == 0
    assert len(documents(data_dir)) == 3


# Notes and standard input


def test_a_note_becomes_what_it_would_have_become_at_once(tmp_path, data_dir, wanted, work):
    request = Request(tags=("t",), meta={"k": "v"})
    text = f"Remember: {PROSE}\n\nThe token is {SECRET}, keep it."
    add_note(tmp_path / "other", wanted, request, text)

    queue.submit_note(data_dir, wanted, request, text)
    assert SECRET.encode() not in everything_in(data_dir)
    [job] = work()

    assert documents(data_dir) == documents(tmp_path / "other")
    assert (job.state, job.counts, job.redacted) == ("done", {"added": 1}, 1)
    assert SECRET.encode() not in everything_in(data_dir)
    with rows.changing(data_dir) as connection:
        assert rows.by_id(connection, 1).note is None


def test_a_note_that_is_there_under_another_title_is_skipped(data_dir, wanted, work):
    for title in ("one", "other"):
        queue.submit_note(data_dir, wanted, Request(title=title), PROSE)
    assert [(job.state, job.counts) for job in work()] == [("done", {"added": 1}), ("done", {"skipped": 1})]


def test_an_empty_note_is_refused_at_once(data_dir, wanted):
    with pytest.raises(NoText):
        queue.submit_note(data_dir, wanted, Request(), "  ")


def test_title_and_meta_are_scrubbed_before_they_are_kept(data_dir, wanted, docs, submit):
    submit(Request(paths=(docs / "a.md",), title=f"of {SECRET}", meta={"api_key": SECRET}))
    assert SECRET.encode() not in everything_in(data_dir)


def test_standard_input_becomes_what_it_would_have_become_at_once(tmp_path, data_dir, wanted, work):
    content = f"# A title\n\n{PROSE} The token is {SECRET}.".encode()
    add_stream(tmp_path / "other", wanted, Request(tags=("t",)), content)

    queue.submit_stream(data_dir, wanted, Request(tags=("t",), paths=(Path("-"),)), content)
    assert SECRET.encode() not in (data_dir / "kb.db").read_bytes()
    [job] = work()

    assert documents(data_dir) == documents(tmp_path / "other")
    assert (job.what, job.counts) == (("standard input",), {"added": 1})
    assert SECRET.encode() not in everything_in(data_dir)


def test_standard_input_that_cannot_be_read_fails_its_job(data_dir, wanted, work):
    queue.submit_stream(data_dir, wanted, Request(), BINARY)
    [job] = work()
    assert (job.state, job.counts) == ("failed", {"failed": 1})
    assert str(data_dir) not in queue.job(data_dir, 1).files[0].reason


# Files that were sent


def test_what_is_sent_is_a_document_called_as_its_sender_calls_it(data_dir, wanted, work):
    files = [
        sent(data_dir, "C:\\docs\\report.md", f"# Own title\n\n{PROSE}".encode()),
        sent(data_dir, "b.py", b"def f(): pass"),
    ]
    assert (data_dir / "uploads").stat().st_mode & 0o777 == 0o700

    job = queue.submit_uploads(data_dir, wanted, Request(tags=("t",)), files).job
    assert (job.kind, job.what, job.total) == ("uploads", ("report.md", "b.py"), 2)
    [job] = work()

    assert (job.state, job.counts) == ("done", {"added": 2})
    found = {one.title: one for one in browse.list_documents(data_dir, browse.Filter(), limit=None, offset=0).documents}
    assert {title: (one.path, one.type, one.tags, one.stale) for title, one in found.items()} == {
        "report.md": (None, "markdown", ("t",), False), "b.py": (None, "code", ("t",), False),
    }  # fmt: skip
    metadata = browse.show(data_dir, str(found["report.md"].document_id)).metadata
    assert (metadata["uploaded_as"], metadata["title"]) == ("report.md", "Own title")
    assert list((data_dir / "uploads").iterdir()) == []


def test_files_of_one_name_are_told_apart(data_dir, wanted, work):
    files = [sent(data_dir, "a.md", f"{PROSE} {number}".encode()) for number in range(3)]
    queue.submit_uploads(data_dir, wanted, Request(), files)
    work()
    assert set(documents(data_dir)) == {"a.md", "a (2).md", "a (3).md"}


def test_the_same_content_sent_twice_is_one_document_that_gets_the_tags_of_both(data_dir, wanted, work):
    for name in ("a.md", "b.md"):
        queue.submit_uploads(data_dir, wanted, Request(tags=(name,)), [sent(data_dir, name, PROSE.encode())])
    assert [job.counts for job in work()] == [{"added": 1}, {"skipped": 1}]
    assert documents(data_dir)["a.md"][6] == "a.md,b.md"
    assert list((data_dir / "uploads").iterdir()) == []


def test_replace_takes_away_what_was_sent_under_the_name_before(data_dir, wanted, work):
    for replace, text in ((False, "old"), (True, "new")):
        files = [sent(data_dir, "a.md", f"{PROSE} {text}".encode())]
        queue.submit_uploads(data_dir, wanted, Request(replace=replace), files)
    assert [job.counts for job in work()] == [{"added": 1}, {"replaced": 1}]
    assert len(documents(data_dir)) == 1
    assert documents(data_dir)["a.md"][7].endswith("new")


def test_an_original_is_kept_only_when_it_is_asked_for_and_holds_no_secret(data_dir, wanted, work):
    texts = {"plain.md": PROSE, "secret.md": f"{PROSE} {SECRET}", "unasked.md": f"{PROSE} 2"}
    for name, text in texts.items():
        request = Request(keep_original=name != "unasked.md")
        queue.submit_uploads(data_dir, wanted, request, [sent(data_dir, name, text.encode())])
    work()
    with closing(sqlite3.connect(data_dir / "kb.db")) as connection:
        assert connection.execute("SELECT name FROM originals").fetchall() == [("plain.md",)]
    assert SECRET.encode() not in everything_in(data_dir)
    assert "not kept: it holds secrets" in queue.job(data_dir, 2).job.warnings[0]


def test_what_is_sent_and_cannot_be_read_waits_for_a_retry_until_its_job_is_removed(data_dir, wanted, work):
    queue.submit_uploads(
        data_dir, wanted, Request(), [sent(data_dir, "bad.md", BINARY), sent(data_dir, "good.md", b"good")]
    )
    [job] = work()
    assert job.counts == {"added": 1, "failed": 1}
    [bad] = queue.job(data_dir, 1, statuses=("failed",)).files
    assert bad.path == "bad.md"
    assert str(data_dir) not in bad.reason
    assert [path.name for path in (data_dir / "uploads").glob("*/*")] == ["bad.md"]
    assert "bad.md" in (data_dir / "ingest-errors.log").read_text()

    queue.retry(data_dir, 1)
    assert [job.counts for job in work()] == [{"added": 1, "failed": 1}]
    queue.remove(data_dir, [1])
    assert list((data_dir / "uploads").iterdir()) == []


def test_what_was_sent_for_a_cancelled_job_is_gone(data_dir, wanted):
    queue.submit_uploads(data_dir, wanted, Request(), [sent(data_dir, "a.md", b"text")])
    queue.cancel(data_dir, 1)
    assert list((data_dir / "uploads").iterdir()) == []
    with pytest.raises(BadRequest, match="not kept any more"):
        queue.retry(data_dir, 1)


def receive_half(data_dir: Path) -> None:
    with Receiving(data_dir, "b.md") as receiving:
        receiving.write(b"half")
        raise ValueError("line is cut")


def test_what_is_refused_or_breaks_off_leaves_nothing(data_dir, wanted):
    with pytest.raises(UnsupportedType):
        queue.submit_uploads(data_dir, wanted, Request(doc_type="nonsense"), [sent(data_dir, "a.md", b"text")])
    with pytest.raises(ValueError, match="line is cut"):
        receive_half(data_dir)
    assert list((data_dir / "uploads").iterdir()) == []


def test_bytes_that_are_not_what_was_sent_are_not_added(data_dir, wanted, work):
    upload = sent(data_dir, "a.md", b"text")
    queue.submit_uploads(data_dir, wanted, Request(), [upload])
    uploads.path_of(data_dir, upload.place).write_bytes(b"")  # a power loss
    work()
    assert "damaged" in queue.job(data_dir, 1).files[0].reason


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("../../etc/passwd", "passwd"), ("/a/b.pdf", "b.pdf"), ("c:\\x\\y.txt", "y.txt"), ("", "upload"), ("..", ".."),
        ("a\x00\x1b[31m.md", "a[31m.md"), ("x" * 300 + ".md", "x" * 197 + ".md"), ("\udcff.md", "?.md"),
    ],
)  # fmt: skip
def test_a_name_leads_nowhere_and_holds_nothing_that_is_no_text(data_dir, said, shown):
    upload = sent(data_dir, said, b"text")
    assert upload.name == shown
    assert uploads.path_of(data_dir, upload.place).resolve().parent.parent == (data_dir / "uploads").resolve()


# What other commands know of it


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


def test_status_says_how_many_jobs_wait_run_and_failed(data_dir, docs, submit, work, kb):
    (docs / "bad.md").write_bytes(BINARY)
    submit(Request(paths=(docs,), recursive=True))
    work()
    submit(Request(paths=(docs,), recursive=True))
    assert kb("status", "-j").json["jobs"] == {"waiting": 1, "running": 0, "failed": 1, "worker": None}
    with rows.changing(data_dir) as connection:
        rows.claim(connection, "now")
    assert any("the worker of a job died" in warning for warning in kb("status", "-j").json["warnings"])


def test_doctor_finds_what_was_sent_for_no_job_and_removes_it(data_dir, wanted, docs, submit, work, kb):
    submit(Request(paths=(docs,), recursive=True))
    work()
    queue.submit_uploads(data_dir, wanted, Request(), [sent(data_dir, "awaited.md", b"text")])
    orphan, fresh = sent(data_dir, "orphan.md", b"text"), sent(data_dir, "fresh.md", b"text")
    folder = uploads.path_of(data_dir, orphan.place).parent
    for path in (data_dir / "uploads").iterdir():
        if path.name != fresh.place.partition("/")[0]:
            os.utime(path, (time() - 7200, time() - 7200))

    def checked(*arguments):
        return next(one for one in kb("doctor", "-j", *arguments).json["checks"] if one["name"] == "uploads")

    assert checked() == {
        "name": "uploads", "ok": False, "problems": [f"uploads/{folder.name} belongs to no job"], "mended": False,
    }  # fmt: skip
    assert checked("--fix")["mended"]
    assert checked() == {"name": "uploads", "ok": True, "problems": [], "mended": False}
    assert not folder.exists()
    assert uploads.path_of(data_dir, fresh.place).is_file()
    assert [job.state for job in work()] == ["done"]


def test_doctor_misses_what_was_sent_for_a_job_that_waits(data_dir, wanted, kb):
    upload = sent(data_dir, "a.md", b"text")
    queue.submit_uploads(data_dir, wanted, Request(), [upload])
    uploads.remove(data_dir, [upload.place])
    ran = kb("doctor", "-j")
    assert ran.code == 7
    assert any("its job will fail" in problem for check in ran.json["checks"] for problem in check["problems"])


def test_a_job_that_waited_when_the_backup_was_made_is_not_done_because_it_is_restored(
    data_dir, docs, submit, work, kb
):
    submit(Request(paths=(docs / "a.md",)))
    work()
    submit(Request(paths=(docs,), recursive=True))
    kb("backup", "saved")
    work()

    assert kb("restore", "saved", "--yes").code == 0

    assert [(job.state, job.error) for job in queue.jobs(data_dir).jobs] == [
        ("cancelled", "it waited when the backup was made"), ("done", ""),
    ]  # fmt: skip
    assert work() == []
    queue.retry(data_dir, 2)
    assert [job.counts for job in work()] == [{"added": 2, "skipped": 1}]


def test_scrub_takes_secrets_out_of_what_jobs_say(data_dir, wanted, docs, submit, work, kb):
    """Which were kept because somebody said --no-scrub."""
    request = Request(paths=(docs / "a.md",), title=f"of {SECRET}", meta={"token": SECRET}, scrub=False)
    submit(request)
    queue.submit_note(data_dir, wanted, Request(scrub=False), f"the token is {SECRET}")
    work()
    assert SECRET.encode() in everything_in(data_dir)

    assert kb("scrub").code == 0

    assert SECRET.encode() not in everything_in(data_dir)
    assert queue.job(data_dir, 1).job.state == "done"


def test_a_walk_does_not_come_to_what_was_sent(tmp_path, data_dir, wanted, docs, submit, work):
    queue.submit_uploads(data_dir, wanted, Request(), [sent(data_dir, "sent.md", b"text")])
    add_paths(data_dir, wanted, Request(paths=(tmp_path,), recursive=True), Silent())
    assert set(documents(data_dir)) == {"a", "b", "c"}
