"""Short runs of `scripts/hurt crashes|interrupts|disk|shrinking|corruption`, and single ways to hurt a store that they do not draw."""

from __future__ import annotations

import base64
import errno
import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
import running
import small_store
from hurting import power
from hurting.syscalls import why_not
from small_store import document

from index import checksums, projections, schema, store
from index.check import every
from index.errors import DiskFault, StoreDamaged, StoreLocked
from index.lock import is_locked
from kb import standby, sync, worker
from kb.errors import Exit
from kb.settings import Settings

HURT = Path(__file__).parents[1] / "scripts" / "hurt"
needs_killer = pytest.mark.skipif(bool(why_not()), reason=why_not())


def hurt(*words: object) -> None:
    done = subprocess.run(
        [sys.executable, HURT, *map(str, words)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # no threads in the process that forks
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_killer
@pytest.mark.parametrize("scenario", ["add", "sync", "scrub"])
def test_a_command_killed_at_any_system_call_with_or_without_the_power_leaves_a_whole_store(scenario):
    """Seeds of their own each day would be no test; the long run draws others."""
    hurt("crashes", "--scenario", scenario, "--kills", 3, "--seed", "short")


@needs_killer
@pytest.mark.parametrize("scenario", ["add", "remove"])
def test_a_disk_that_fails_at_any_system_call_is_told_in_a_line_and_nothing_is_lost(scenario):
    hurt("disk", "--scenario", scenario, "--faults", 3, "--seed", "short")


@needs_killer
@pytest.mark.parametrize("scenario", ["append", "sync"])
def test_a_command_interrupted_at_any_step_says_so_in_a_line_and_leaves_a_whole_store(scenario):
    hurt("interrupts", "--scenario", scenario, "--interrupts", 3, "--seed", "short")


@needs_killer
def test_a_file_that_is_cut_short_while_it_is_read_leaves_no_document_that_is_in_no_file():
    hurt("shrinking", "--faults", 2, "--seed", "short")


def test_a_byte_that_flips_anywhere_in_a_store_or_a_backup_is_noticed():
    hurt("corruption", "--flips", 10, "--seed", "short")


# The harness itself


def test_after_a_power_loss_what_was_synced_is_there_and_the_rest_may_be(tmp_path):
    """A file renamed into place without a sync of it is there and empty in some of the worlds; one that was synced in none."""
    folder, journal = tmp_path / "store", tmp_path / "journal"
    worlds = set()
    for seed in range(40):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(journal, ignore_errors=True)
        folder.mkdir()
        journal.mkdir()
        before = power.names_of(folder)
        (folder / "safe").write_text("new")
        (folder / "hasty").write_text("new")
        (journal / "0").write_text("new")
        lines = [
            ("C", "safe.new", ""), ("S", "safe.new", "0"), ("R", "safe.new", "safe"), ("C", "hasty.new", ""),
            ("R", "hasty.new", "hasty"), ("D", "", ""),
        ]  # fmt: skip
        said = [f"{what}\t{folder / name}\t{folder / to if what == 'R' else to}\n" for what, name, to in lines]
        (journal / "journal").write_text("".join(said))
        power.cut(folder, before, journal, power.Random(seed))
        worlds.add(((folder / "safe").read_text(), (folder / "hasty").read_text().strip("\0")))
    assert worlds == {("new", ""), ("new", "new")}


# Checksums


@pytest.fixture
def folder(data_dir, make_store):
    make_store(document("a", "red fox", "blue fox", tags=("tame",)), document("b", "green dog"))
    return data_dir


def at_rest(folder: Path, old: bytes, new: bytes) -> None:
    """Bytes of the closed database changed in place, the first time they occur."""
    path = store.database_path(folder)
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def problems(folder: Path) -> list[str]:
    with store.reading(folder) as reader:
        return [problem for check in every(reader.connection, folder) for problem in check.problems]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"2026-01-01T00", b"2027-01-01T00"),  # a date
        (b"made-up", b"made-op"),  # the model
        (b"red fox", b"red fax"),
        (small_store.vector("red fox").tobytes()[:4], bytes([small_store.vector("red fox").tobytes()[0] ^ 1])),
    ],
    ids=["date", "model", "text", "vector"],
)
def test_one_changed_byte_of_the_truth_is_found(folder, old, new):
    """Also the last bit of a number of a vector, which is still of unit length."""
    at_rest(folder, old, new + old[len(new) :])
    with suppress(StoreDamaged):  # where it keeps the store from being opened
        assert problems(folder)


def test_a_row_that_has_gone_by_itself_is_found(folder):
    """Its checksum stays: no trigger noted that it was removed."""
    with closing(sqlite3.connect(store.database_path(folder))) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE type = 'trigger'")
        connection.commit()
    with closing(sqlite3.connect(store.database_path(folder))) as connection:
        connection.execute("DELETE FROM tags")
        connection.commit()
    found = problems(folder)
    assert "tag 1 is not as it was written" in found
    assert "trigger chunk_deleted is not as this program makes it" in found


def test_every_change_leaves_right_checksums(folder):
    """Tags renamed, a document removed, settings written: `touched` is empty after each, and nothing is wrong."""
    with store.writing(folder) as writer:
        for statement in (
            "UPDATE tags SET name = 'wild'", "UPDATE documents SET title = 'other'", "DELETE FROM documents WHERE id = 2",
            "INSERT INTO failures VALUES ('/x', '', 0, 0, 'failed', 'because', '')",
        ):  # fmt: skip
            with writer.transaction():
                writer.connection.execute(statement)
            assert list(checksums.wrong(writer.connection)) == []
            assert writer.connection.execute("SELECT count(*) FROM touched").fetchone() == (0,)


def test_the_checksums_cover_every_column_of_the_tables_that_they_are_of(tmp_path):
    """A column that a later migration adds is not forgotten."""
    with closing(sqlite3.connect(tmp_path / "kb.db", isolation_level=None)) as connection:
        schema.migrate(connection)
        for table, kind, key in checksums.TRIGGERED:
            queries = [
                query for query in checksums.COVERED[kind] if f"FROM {table} " in query or table == "document_tags"
            ]
            named = " ".join(queries)
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})"):
                assert column in named or column in {"id", key, "tag_id"}, (table, column)


def test_a_document_that_is_damaged_is_put_right_as_doctor_says(kb, tmp_path, tiny_folder):
    running.write(tmp_path / "docs", {"a.md": "# A\n\nred green\n", "b.md": "# B\n\nhuge red\n"})
    kb("add", "docs", "-r", KB_MODEL=tiny_folder)
    at_rest(tmp_path / "kb-data", b"red green", b"red greed")
    said = kb("doctor", "-j", KB_MODEL=tiny_folder)
    assert said.code == Exit.PARTIAL
    assert "kb remove 1 and add it again" in said.stdout
    kb("remove", "1", KB_MODEL=tiny_folder)
    kb("add", "docs", "-r", KB_MODEL=tiny_folder)
    assert kb("doctor", "-j", KB_MODEL=tiny_folder).code == Exit.OK


def test_an_error_that_nobody_foresaw_is_damage_where_there_is_damage_and_itself_where_there_is_none(folder):
    with pytest.raises(KeyError), store.reading(folder):
        raise KeyError("a fault of the program")
    at_rest(folder, b"red fox", b"red fax")
    with pytest.raises(StoreDamaged, match="document 1"), store.reading(folder):
        raise KeyError("a fault of the program")


def test_an_index_that_cannot_be_opened_while_it_is_caught_up_is_made_anew_whole(folder):
    """One failed read is enough: else what is new alone would be in it, under a watermark that says that all is."""
    lexical = projections.lexical_folder(folder)
    with store.writing(folder) as writer:
        with writer.transaction() as seq:
            writer.insert(document("c", "green bird"), {}, "made-up", seq=seq)
        assert projections.lexical_state(writer.connection, folder) is projections.State.BEHIND
        (lexical / "meta.json").write_text("{")  # between the look at its state and its opening
        projections._catch_up_lexical(writer.connection, lexical, projections.State.BEHIND)
    assert problems(folder) == []
    assert len(small_store.by_words(folder, "red")) == 1


def test_segments_that_no_commit_names_go_with_the_next_writer_and_are_no_damage(folder):
    """A power loss leaves them half written, and tantivy's own list of files may be older than they are."""
    left = folder / "lexical" / f"{'ab' * 16}.fieldnorm"
    left.write_bytes(b"half")
    assert problems(folder) == []
    with store.writing(folder):
        assert not left.exists()


# Locks, clocks, disks


@pytest.mark.skipif(os.geteuid() != 0, reason="no disk can be made read-only here")
def test_a_lock_on_a_read_only_disk_is_held_by_nobody(tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "lock").touch()
    for options in (("--bind", tmp_path / "place"), ("-o", "remount,bind,ro")):
        if subprocess.run(["mount", *map(str, options), str(tmp_path / "place")], check=False).returncode:
            pytest.skip("no disk can be mounted here")
    assert not is_locked(tmp_path / "place" / "lock")
    subprocess.run(["umount", "--lazy", tmp_path / "place"], check=True)


def test_a_lock_that_cannot_be_made_or_taken_is_a_fault_of_the_disk(folder, monkeypatch):
    """Of the queue, of syncs and of watchers too; what holds the lock may raise as it likes."""

    def fail(*_arguments, **_options):
        raise OSError(errno.EROFS, "Read-only file system")

    with pytest.raises(FileNotFoundError), worker.alone(folder):
        (folder / "none").read_text()
    for place, name in ((os, "open"), (fcntl, "flock"), (Path, "mkdir")):
        with monkeypatch.context() as broken:
            broken.setattr(place, name, fail)
            with pytest.raises(DiskFault, match=r"jobs\.lock"), worker.alone(folder):
                pass
    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(DiskFault, match="run"):
        sync.sync(folder, Settings(), (), lambda *_: None, lambda *_: True)


def test_a_database_whose_locks_fail_after_it_was_opened_is_a_fault_of_the_disk(folder, monkeypatch):
    """As on a network file system that loses them between two looks at it."""

    def fail(_connection):
        error = sqlite3.OperationalError("locking protocol")
        error.sqlite_errorcode = sqlite3.SQLITE_PROTOCOL
        raise error

    monkeypatch.setattr(schema, "check_version", fail)
    with pytest.raises(DiskFault, match="locking protocol"), store.reading(folder):
        pass


def test_a_read_that_the_disk_fails_is_told_though_sqlite_has_given_up_the_snapshot(folder):
    """In its place a worker of the queue told that there is no transaction, and took that for a fault of the job."""

    def fail(connection):
        connection.execute("ROLLBACK")
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    with pytest.raises(DiskFault, match="disk I/O error"), store.reading(folder) as reader, reader.moment():
        fail(reader.connection)


def test_somebody_else_who_keeps_the_database_locked_is_named_as_that(folder, monkeypatch):
    monkeypatch.setattr(store.database, "BUSY_TIMEOUT_S", 0.1)
    with closing(sqlite3.connect(store.database_path(folder), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match=r"kb\.db locked"), store.writing(folder) as writer, writer.transaction():
            pass


def test_a_log_of_a_time_to_come_does_not_keep_the_daemon_away(tmp_path):
    """The clock was put back: what was written before seems to be of tomorrow."""
    log = tmp_path / "daemon.log"
    log.write_text("it ended")
    assert standby._is_younger(log, 5.0)
    os.utime(log, (time.time() + 86400,) * 2)
    assert not standby._is_younger(log, 5.0)


def test_nothing_depends_on_a_clock_that_only_moves_forward(tmp_path, tiny_folder, clock):
    """A store of another time: changed, kept in step, searched, backed up and restored after the clock was put back."""
    running.write(tmp_path / "docs", {"a.md": "# A\n\nred green\n", "b.md": "# B\n\nhuge red\n"})
    at = {"KB_MODEL": tiny_folder, "LD_PRELOAD": clock}
    before = (("source", "add", "docs"), ("sync",), ("add", "--note", "red", "-j"))
    assert in_one_process(tmp_path, *before, **at, HURT_CLOCK_S=0) == [Exit.OK] * 3
    (tmp_path / "docs" / "a.md").write_text("# A\n\nred changed\n")
    (tmp_path / "docs" / "b.md").unlink()
    after = (
        ("sync", "--yes", "-j"), ("search", "changed", "-j"), ("backup", "saved"), ("restore", "saved", "--yes"), ("doctor",),
    )  # fmt: skip
    assert in_one_process(tmp_path, *after, **at, HURT_CLOCK_S=A_YEAR_BACK_S) == [Exit.OK] * 5
    assert running.process(tmp_path, "list", "-j", **at, HURT_CLOCK_S=A_YEAR_BACK_S).json["total"] == 2


def in_one_process(folder: Path, *commands: tuple[str, ...], **variables: object) -> list[int]:
    """The exit code of each."""
    program = (
        "import sys; from kb.cli.door import run; print([int(run(one)) for one in eval(sys.argv[1])], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, repr(commands)],
        env=running.environment(folder / "store", **variables),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stderr.splitlines()[-1])


A_YEAR_BACK_S = -400 * 86400
CLOCK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long off(void) { const char *by = getenv("HURT_CLOCK_S"); return by ? atol(by) : 0; }
int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += off();
    return failed;
}
time_t time(time_t *out) { struct timespec at; clock_gettime(CLOCK_REALTIME, &at); if (out) *out = at.tv_sec; return at.tv_sec; }
int gettimeofday(struct timeval *out, void *zone) {
    struct timespec at; (void)zone; clock_gettime(CLOCK_REALTIME, &at);
    out->tv_sec = at.tv_sec; out->tv_usec = at.tv_nsec / 1000; return 0;
}
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    """A library that puts the clock of a process elsewhere."""
    if why_not():
        pytest.skip(why_not())
    place = tmp_path_factory.mktemp("clock")
    (place / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-fPIC", "-shared", "-o", place / "clock.so", place / "clock.c"], check=True)
    return place / "clock.so"


@pytest.fixture
def no_inodes(tmp_path):
    """A temporary folder in which nothing can be made."""
    place = tmp_path / "temporary"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "nr_inodes=1", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_temporary_folder_without_inodes_loses_nothing(tmp_path, tiny_folder, no_inodes):
    """Python looks for another one."""
    picture = base64.b64encode(os.urandom(1_500_000)).decode()  # too large to be compressed in memory
    output = {"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}}
    cell = {"cell_type": "code", "source": "red = green", "metadata": {}, "outputs": [output], "execution_count": 1}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    running.write(tmp_path / "docs", {"a.md": "# A\n\nred green\n", "b.ipynb": json.dumps(book)})
    at = {"KB_MODEL": tiny_folder, "TMPDIR": no_inodes}
    for command in (
        ("add", "docs", "-r", "--keep-original", "-j"),
        ("search", "red", "-j"),
        ("backup", "saved", "-j"),
        ("doctor", "-j"),
    ):
        ran = running.process(tmp_path, *command, **at)
        assert (ran.code, ran.stderr) == (Exit.OK, ""), ran
    assert running.process(tmp_path, "list", "-j", **at).json["total"] == 2
