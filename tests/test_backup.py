"""`kb backup` and `kb restore`: one file that is whole or refused, and a store that is the old one or the new one."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import sqlite3
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest
import small_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import environment, here, process, write
from small_store import document
from test_daemon import Daemon, plain

from index import backup as copying
from index import builtwith, documents, originals, store
from index.errors import StoreLocked, StoreTooNew
from kb import backupfile, restore, standby
from kb.backup import backup
from kb.errors import BadRequest, NotFound, UnreadableFile

LOCK_S = 5.0
QUERIES = ("red", "red house", "green tree", "what is huge")


@pytest.fixture
def filled(data_dir, make_store):
    make_store(document("a", "red fox", "blue fox", tags=("animal",)), document("b", "green dog"))
    return data_dir


@pytest.fixture
def made(filled, tmp_path):
    """A backup of `filled`, which is emptied of document 1 and given another one afterwards."""
    target = tmp_path / "made.backup"
    backup(filled, target, force=False)
    with store.writing(filled) as writer, writer.transaction():
        documents.delete(writer.connection, [1])
    small_store.add(filled, document("later", "yellow bird"))
    return target


def contents(folder: Path):
    """Every row of every table of the truth."""
    with store.reading(folder) as reader:
        names = [row[0] for row in reader.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(map(repr, reader.connection.execute(f"SELECT * FROM {name}"))) for name in names}


def titles(folder: Path):
    with store.reading(folder) as reader:
        return [row.title for row in documents.page_of(reader.connection, None, limit=None, offset=0)]


def files_of(folder: Path):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "kb.db-shm"}


# The file


def test_it_holds_what_any_tar_takes_out(filled, tmp_path):
    """manifest.json, kb.db, config.yaml; the system's own tar and gzip are content with it."""
    (filled / "config.yaml").write_text("search: {default_top: 7}\n")
    answer = backup(filled, tmp_path / "b.tar.gz", force=False)
    subprocess.run(["gzip", "-t", tmp_path / "b.tar.gz"], check=True, capture_output=True)
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "-xzf", tmp_path / "b.tar.gz", "-C", tmp_path / "out"], check=True, capture_output=True)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"manifest.json", "kb.db", "config.yaml"}
    assert (tmp_path / "out/config.yaml").read_text() == "search: {default_top: 7}\n"
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    database_file = (tmp_path / "out/kb.db").read_bytes()
    assert manifest["database"]["sha256"] == hashlib.sha256(database_file).hexdigest() == answer.sha256
    assert (manifest["documents"], manifest["chunks"], manifest["vectors"]) == (2, 3, 3)
    opened = sqlite3.connect(f"file:{tmp_path}/out/kb.db?mode=ro&immutable=1", uri=True)
    assert opened.execute("SELECT count(*) FROM documents").fetchone() == (2,)
    opened.close()


def test_only_the_user_can_read_it_and_nothing_else_stays(filled, tmp_path):
    backup(filled, tmp_path / "b", force=False)
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"b", filled.name}


def test_a_file_that_is_there_is_replaced_only_when_that_was_said(filled, tmp_path):
    (tmp_path / "b").write_text("precious")
    with pytest.raises(BadRequest, match="is there already"):
        backup(filled, tmp_path / "b", force=False)
    assert (tmp_path / "b").read_text() == "precious"
    backup(filled, tmp_path / "b", force=True)
    assert restore.manifest_of(tmp_path / "b").documents == 2


@pytest.mark.parametrize(
    ("name", "said"), [("no/such/folder/b", "no folder"), ("", "is a folder"), ("kb-data/kb.db", "store's own folder")]
)
def test_a_target_that_cannot_be_meant_is_refused_even_by_force(filled, tmp_path, name, said):
    before = files_of(tmp_path)
    with pytest.raises(BadRequest, match=said):
        backup(filled, tmp_path / name, force=True)
    assert files_of(tmp_path) == before


def test_no_store_no_backup(kb, tmp_path):
    done = kb("backup", tmp_path / "b")
    assert (done.code, "no store" in done.stderr, (tmp_path / "b").exists()) == (3, True, False)


def test_a_damaged_store_is_not_backed_up(filled, tmp_path):
    """Since it could not be restored."""
    small_store.add(filled, *(document(f"more {n}", "green " * 400) for n in range(20)))
    size = (filled / "kb.db").stat().st_size
    with (filled / "kb.db").open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * 4096)
    done = here_in(filled, "backup", tmp_path / "b", "-j")
    assert (done.code, done.json["error"]["code"]) == (5, "StoreDamaged")
    assert not (tmp_path / "b").exists()


def here_in(folder: Path, *arguments: object, **variables: object):
    return here(folder.parent, *arguments, KB_DATA_DIR=folder, **variables)


# Beside a writer


def test_a_writer_going_on_neither_stops_it_nor_is_stopped(data_dir, tmp_path):
    """Each transaction adds two documents: a copy of one moment has an even number, and more come meanwhile."""
    small_store.create(data_dir, *(document(f"first {n}", "red fox " * 300) for n in range(100)))
    added, ending = [0], threading.Event()

    def go_on():
        with store.writing(data_dir) as writer:
            while not ending.is_set():
                with writer.transaction() as seq:
                    for half in range(2):
                        each = document(f"{added[0]} {half}", f"green {added[0]} {half}")
                        writer.insert(each, {}, small_store.BUILT.model_key, seq=seq)
                added[0] += 1

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        while not added[0]:
            thread.join(0.01)
        begun = added[0]
        for number in range(100):
            before = added[0]
            answer = backup(data_dir, tmp_path / f"b{number}", force=False)
            assert answer.documents % 2 == 0
            assert answer.documents >= 100 + 2 * before
            if number >= 4 and added[0] > begun:
                break
        assert added[0] > begun
    finally:
        ending.set()
        thread.join()


def test_it_does_not_wait_for_the_writer_lock(filled, tmp_path):
    with store.writing(filled):
        assert backup(filled, tmp_path / "b", force=False).documents == 2


# Restored


def test_a_store_restored_elsewhere_gives_the_same_answers_with_the_same_scores(tmp_path, roomy_folder):
    """By words, by meaning and by both, through `kb search -j`; the vectors are the same bits."""
    write(
        tmp_path,
        {"red.md": "# Red\n\nThe red house.\n\n# Huge\n\nA huge tree", "green.md": "# Green\n\nThe green tree."},
    )
    model = {"KB_MODEL": roomy_folder}
    assert here(tmp_path, "add", "red.md", "green.md", "-t", "colour", **model).code == 0
    assert here(tmp_path, "backup", "saved", **model).code == 0
    elsewhere = {"KB_DATA_DIR": tmp_path / "elsewhere", **model}
    done = here(tmp_path, "restore", "saved", "-j", **elsewhere)
    assert (done.code, done.json["replaced"], done.json["documents"]) == (0, False, 2)
    for mode in ("keyword", "semantic", "hybrid"):
        for query in QUERIES:
            asked = ("search", "-j", "--mode", mode, query)
            expected, got = (here(tmp_path, *asked, **where).json for where in (model, elsewhere))
            assert {**got, "took_ms": 0} == {**expected, "took_ms": 0}
    assert vectors_of(tmp_path / "elsewhere") == vectors_of(tmp_path / "store")
    assert here(tmp_path, "doctor", **elsewhere).code == 0


def vectors_of(folder: Path):
    """In kb.db, and in the matrix by chunk."""
    with store.reading(folder) as reader:
        stored = set(reader.connection.execute("SELECT text_hash, model, vector FROM vectors"))
        matrix = reader.matrix()
        rows = {int(chunk): bytes(row) for chunk, row in zip(matrix.ids, matrix.vectors, strict=True) if chunk}
    return stored, rows


def test_it_replaces_the_store_that_is_there_with_all_that_is_found_in_it(filled, made):
    assert titles(filled) == ["b", "later"]
    answer = restore.restore(filled, made, LOCK_S)
    assert (answer.replaced, titles(filled)) == (True, ["a", "b"])
    assert small_store.by_words(filled, "fox") == [1, 2]
    assert small_store.by_words(filled, "bird") == []
    assert small_store.by_vector(filled, "red fox")[0] == 1
    with store.reading(filled) as reader:
        assert reader.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_is_written_afterwards_is_found(filled, made):
    restore.restore(filled, made, LOCK_S)
    small_store.add(filled, document("new", "purple whale"))
    assert titles(filled) == ["a", "b", "new"]
    assert len(small_store.by_words(filled, "whale")) == 1


def test_who_reads_meanwhile_keeps_what_he_sees(filled, made):
    with store.reading(filled) as reader:
        with reader.moment():
            before = documents.count(reader.connection)
            small_store.add(filled, document("still", "grey mouse"))
            restore.restore(filled, made, LOCK_S)
            assert documents.count(reader.connection) == before
        with reader.moment():
            rows = documents.page_of(reader.connection, None, limit=None, offset=0)
            assert [row.title for row in rows] == ["a", "b"]


def test_the_daemon_gives_the_restored_answers_from_then_on(tmp_path, roomy_folder):
    """Every mode, as a process of its own would give them; the daemon that was there goes on."""
    write(tmp_path, {"red.md": "# Red\n\nThe red house.", "green.md": "# Green\n\nThe green house."})
    daemon = Daemon(tmp_path, roomy_folder)
    daemon.add("red.md", "green.md")
    daemon.start()
    try:
        pid = daemon.pid()
        for word in ("backup", "remove"):
            assert daemon.direct(word, "saved" if word == "backup" else "red.md").code == 0
        asked = [("search", "-j", "--mode", mode, "red house") for mode in ("hybrid", "keyword", "semantic")]
        for each in asked:
            assert b"The red house" not in daemon.kb(*each).stdout
        assert daemon.direct("restore", "saved", "--yes").code == 0
        before = daemon.asked()
        for each in asked:
            through_daemon = daemon.kb(*each)
            assert b"The red house" in through_daemon.stdout
            assert plain(through_daemon) == plain(daemon.direct(*each))
        assert (daemon.asked() - before, daemon.pid()) == (len(asked) + 1, pid)
    finally:
        standby.stop(daemon.data_dir)


def test_it_waits_for_the_writer_and_says_who_that_is(filled, made):
    before = contents(filled)
    with store.writing(filled), pytest.raises(StoreLocked, match=str(os.getpid())):
        restore.restore(filled, made, 0)
    assert contents(filled) == before


def test_a_log_that_was_left_by_the_old_store_is_not_taken_for_the_new_ones(filled, made, tmp_path):
    """The old kb.db is gone, its write-ahead log is still there: beside the new one that would be damage."""
    copied = tmp_path / "copied"
    copied.mkdir()
    with store.reading(filled) as reader, reader.moment():  # a reader keeps the log from being folded in
        small_store.add(filled, *(document(f"more {n}", "green " * 300) for n in range(5)))
        for name in ("kb.db-wal", "kb.db-shm"):
            (copied / name).write_bytes((filled / name).read_bytes())
    assert (copied / "kb.db-wal").stat().st_size > 0
    restore.restore(copied, made, LOCK_S)
    assert titles(copied) == ["a", "b"]
    with store.reading(copied) as reader:
        assert copying.problems(reader.connection) == []


def test_a_store_that_cannot_be_opened_any_more_is_replaced_too(filled, made, kb):
    (filled / "kb.db").write_bytes(b"\xff" * 8192)
    (filled / "config.yaml").write_text("embedding: {model: all-MiniLM-L6-v2}\n")
    assert kb("list").code == 5
    assert kb("restore", made).code == 2
    assert kb("restore", made, "--yes").code == 0
    assert titles(filled) == ["a", "b"]


def test_a_backup_of_an_older_schema_is_brought_up_to_date(filled, tmp_path):
    """As `kb` did for a store of that age that was never backed up."""
    old = tmp_path / "old"
    old.mkdir()
    from index import schema

    connection = sqlite3.connect(old / "kb.db", isolation_level=None)
    schema.migrate(connection, schema.MIGRATIONS[:1])
    with connection:
        builtwith.set_built_with(connection, small_store.BUILT)
    connection.close()
    answer = backup(old, tmp_path / "b", force=False)
    assert answer.schema_version == 1
    restore.restore(filled, tmp_path / "b", LOCK_S)
    assert titles(filled) == []
    with store.reading(filled) as reader:
        assert schema.version(reader.connection) == schema.SCHEMA_VERSION


def test_config_yaml_comes_along_where_there_is_none_and_is_kept_where_there_is(filled, tmp_path):
    (filled / "config.yaml").write_text("search: {default_top: 7}\n")
    backup(filled, tmp_path / "b", force=False)
    fresh = restore.restore(tmp_path / "fresh", tmp_path / "b", LOCK_S)
    assert (fresh.config, fresh.warnings) == ("restored", ())
    assert (tmp_path / "fresh/config.yaml").read_text() == "search: {default_top: 7}\n"
    (filled / "config.yaml").write_text("search: {default_top: 8}\n")
    kept = restore.restore(filled, tmp_path / "b", LOCK_S)
    assert kept.config == "kept"
    assert "config.yaml stays as it is" in kept.warnings[0]
    assert (filled / "config.yaml").read_text() == "search: {default_top: 8}\n"


def test_a_fault_in_a_row_is_said_and_does_not_stop_it(filled, tmp_path):
    with store.writing(filled) as writer, writer.transaction():
        writer.connection.execute("UPDATE vectors SET vector = zeroblob(32) WHERE id = 1")
    backup(filled, tmp_path / "b", force=False)
    answer = restore.restore(tmp_path / "fresh", tmp_path / "b", LOCK_S)
    assert "vector 1 is not a unit vector" in answer.warnings[0]
    assert titles(tmp_path / "fresh") == ["a", "b"]


# Refused


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """A store and a backup of it, for tests that must leave the store as it is."""
    folder = tmp_path_factory.mktemp("refused")
    small_store.create(folder / "store", document("a", "red fox"), document("b", "green dog"))
    (folder / "store/config.yaml").write_text("search: {default_top: 7}\n")
    backup(folder / "store", folder / "backup", force=False)
    small_store.add(folder / "store", document("later", "yellow bird"))
    return folder


def refused(folder: Path, content: bytes) -> str:
    """What is said of a backup of these bytes; the store is as it was, and nothing is left behind in either place."""
    before = files_of(folder / "store")
    (folder / "changed").write_bytes(content)
    for data_dir in (folder / "store", folder / "fresh"):
        with pytest.raises(UnreadableFile) as error:
            restore.restore(data_dir, folder / "changed", LOCK_S)
    assert files_of(folder / "store") == before
    assert not (folder / "fresh").exists()
    return f"{error.value.message} ({error.value.hint})"


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_cut_short_anywhere_is_refused_and_the_store_untouched(target, data):
    whole = (target / "backup").read_bytes()
    length = data.draw(st.integers(0, len(whole) - 1), "length")
    assert "\n" not in refused(target, whole[:length])


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_with_any_byte_changed_is_refused_and_the_store_untouched(target, data):
    whole = bytearray((target / "backup").read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1), "place")
    whole[place] ^= data.draw(st.integers(1, 255), "flip")
    assert "\n" not in refused(target, bytes(whole))


def test_every_byte_of_its_ends_counts(target):
    """Where gzip itself does not look: its header, the padding before its checksum, and what is behind the last member."""
    whole = (target / "backup").read_bytes()
    for place in [*range(40), *range(len(whole) - backupfile.SEAL_BYTES - 40, len(whole))]:
        for bit in (0, 7):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            (target / "changed").write_bytes(changed)
            with pytest.raises(UnreadableFile):
                restore.manifest_of(target / "changed")
    for more in (b"\0", whole, b"more"):
        refused(target, whole + more)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", b"SQLite format 3\0", random.Random(0).randbytes(5000), gzip.compress(b"x" * 999, mtime=0)],
    ids=["nothing", "two bytes", "a database", "noise", "another gzip"],
)
def test_what_never_was_one_is_refused(target, content):
    assert "backup" in refused(target, content)


def test_none_at_all_is_not_found(target):
    with pytest.raises(NotFound):
        restore.restore(target / "store", target / "no such file", LOCK_S)


def sealed(folder: Path, change) -> Path:
    """A backup with right checksums whose database `change` made something else of."""
    with backupfile.unpacking(folder / "backup") as members:
        manifest = members.manifest()
        members.database(manifest.database, folder / "kb.db")
    change(folder / "kb.db")
    import msgspec

    manifest = msgspec.structs.replace(manifest, database=backupfile.measure(folder / "kb.db"), config=None)
    with (folder / "forged").open("wb") as file:
        backupfile.write(file, manifest, folder / "kb.db", b"")
    return folder / "forged"


def statement(text: str):
    def change(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(text)
        connection.commit()
        connection.close()

    return change


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (statement("UPDATE config SET value = '99' WHERE key = 'schema_version'"), StoreTooNew, "schema version 99"),
        (statement("DROP TABLE config"), UnreadableFile, "no store of kb"),
        (statement("DELETE FROM config WHERE key = 'model_name'"), UnreadableFile, "no store of kb"),
        (lambda path: path.write_bytes(b"no database at all" * 500), UnreadableFile, "no store of kb"),
        (lambda path: path.write_bytes(path.read_bytes()[:-4096]), UnreadableFile, "damaged"),
        (lambda path: path.write_bytes(b""), UnreadableFile, "no store of kb"),
    ],
)
def test_a_database_that_cannot_be_a_store_here_is_refused_though_its_checksums_are_right(target, change, error, said):
    forged = sealed(target, change)
    before = files_of(target / "store")
    with pytest.raises(error, match=said):
        restore.restore(target / "store", forged, LOCK_S)
    assert files_of(target / "store") == before


def test_other_members_than_its_own_are_never_unpacked(target, tmp_path):
    """A path out of the folder, as an archive from elsewhere may hold."""
    with gzip.open(tmp_path / "inner", "wb") as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        entry = tarfile.TarInfo("../manifest.json")
        entry.size = 2
        tar.addfile(entry, io.BytesIO(b"{}"))
    content = (tmp_path / "inner").read_bytes()
    seal = backupfile._seal(hashlib.sha256(content).hexdigest())
    refused(target, content + seal)


def test_one_of_a_newer_format_says_so(target, tmp_path):
    with gzip.open(tmp_path / "inner", "wb") as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(b'{"format": 2}')
        tar.addfile(entry, io.BytesIO(b'{"format": 2}'))
    content = (tmp_path / "inner").read_bytes()
    assert "newer kb" in refused(target, content + backupfile._seal(hashlib.sha256(content).hexdigest()))


# Asked first


def test_a_store_that_is_there_is_replaced_only_after_a_yes(filled, made, kb):
    done = kb("restore", made, "-j")
    assert (done.code, done.json["error"]["hint"]) == (2, "--yes replaces it")
    assert titles(filled) == ["b", "later"]
    assert kb("restore", made, "-j", "--yes").json["replaced"] is True
    assert titles(filled) == ["a", "b"]


@pytest.mark.parametrize(
    ("said", "code", "expected"), [("y", 0, ["a", "b"]), ("n", 2, ["b", "later"]), ("", 2, ["b", "later"])]
)
def test_a_person_at_a_terminal_is_asked(filled, made, said, code, expected):
    import pty

    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "kb", "restore", made], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(filled), text=True,
    )  # fmt: skip
    os.write(ours, f"{said}\n".encode())
    _, errors = done.communicate()
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, titles(filled)) == (code, expected)
    assert "2 documents? [y/N]" in errors


# Killed


def test_a_restore_killed_at_any_moment_leaves_the_old_store_or_the_new_one(tmp_path):
    """And given once more it completes; in between a daemon's kind of reader has the store open."""
    small_store.create(tmp_path / "new", *(document(f"new {n}", "red " * 200, f"fox {n}") for n in range(12)))
    backup(tmp_path / "new", tmp_path / "backup", force=False)
    small_store.create(tmp_path / "old", *(document(f"old {n}", "green " * 200, f"dog {n}") for n in range(20)))
    old, new = titles(tmp_path / "old"), titles(tmp_path / "new")
    chances, seen = random.Random(6), set()
    program = (
        "import sys; from pathlib import Path; from kb.restore import restore; print('begins', flush=True);"
        " restore(Path(sys.argv[1]), Path(sys.argv[2]), 5.0)"
    )
    for number in range(6):
        trial = tmp_path / f"trial{number}"
        subprocess.run(["cp", "-r", tmp_path / "old", trial], check=True)
        with store.reading(trial) as reader, reader.moment():
            documents.count(reader.connection)
            running = subprocess.Popen(
                [sys.executable, "-c", program, trial, tmp_path / "backup"],
                stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[1],
            )
            assert running.stdout is not None
            running.stdout.readline()
            try:
                running.wait(chances.uniform(0.0, 0.25))
            except subprocess.TimeoutExpired:
                running.kill()
            running.communicate()
        found = titles(trial)
        assert found in (old, new)
        seen.add(found == new)
        with store.reading(trial) as reader:
            assert copying.problems(reader.connection) == []
        words = small_store.by_words(trial, "fox" if found == new else "dog")
        assert len(words) == len(found)
        assert small_store.by_words(trial, "dog" if found == new else "fox") == []
        restore.restore(trial, tmp_path / "backup", LOCK_S)
        assert titles(trial) == new
        assert {path.name for path in trial.iterdir()} - {"kb.db-wal", "kb.db-shm"} == {
            "kb.db", "lexical", "matrix", "write.lock"
        }  # fmt: skip
    assert False in seen


def test_a_backup_killed_leaves_no_file_under_its_name(filled, tmp_path):
    with store.writing(filled) as writer, writer.transaction():
        originals.keep(writer.connection, originals.pack(io.BytesIO(random.Random(1).randbytes(20_000_000)), "random"))
    done = subprocess.Popen([sys.executable, "-m", "kb", "backup", tmp_path / "b"], env=environment(filled))
    while done.poll() is None and not any(path.name.startswith(".kb-backup-") for path in tmp_path.iterdir()):
        pass
    done.kill()
    done.wait()
    assert not (tmp_path / "b").exists() or restore.manifest_of(tmp_path / "b").documents == 2


def test_the_commands_say_what_they_did(tmp_path, roomy_folder):
    write(tmp_path, {"a.md": "# A\n\nred"})
    here(tmp_path, "add", "a.md", KB_MODEL=roomy_folder)
    done = process(tmp_path, "backup", "saved.tar.gz", "-j")
    assert done.json["path"] == str(tmp_path / "saved.tar.gz")
    assert done.json["bytes"] == (tmp_path / "saved.tar.gz").stat().st_size
    assert done.json["model"] == str(roomy_folder)
    people = process(tmp_path, "restore", "saved.tar.gz", "--yes")
    assert (people.code, people.stderr) == (0, "")
    assert "documents          1" in people.stdout


def test_what_a_killed_restore_left_is_cleared_away_by_the_next(filled, made):
    (filled / copying.STAGED).write_bytes(b"half")
    (filled / f"{copying.STAGED}-wal").write_bytes(b"half")
    restore.restore(filled, made, LOCK_S)
    assert not list(filled.glob(f"{copying.STAGED}*"))
    assert titles(filled) == ["a", "b"]
