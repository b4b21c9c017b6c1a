"""Connections and transactions of `kb.db`."""

from __future__ import annotations

import sqlite3
import sys
import threading
from itertools import count

import pytest
import small_store
from hurting.interrupts import Steps

from index import builtwith, database, schema, store
from index.errors import StoreDamaged
from index.watermark import Watermark


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kb.db"


@pytest.fixture
def writer(path):
    connection = database.connect_writer(path)
    schema.migrate(connection)
    yield connection
    connection.close()


def write_and_fail(connection):
    connection.execute("INSERT INTO tags (name) VALUES ('x')")
    raise RuntimeError


def test_a_transaction_gets_the_next_number_and_is_logged_with_a_token(writer):
    with database.transaction(writer) as first:
        pass
    with database.transaction(writer) as second:
        pass
    assert (first, second) == (1, 2)
    assert database.head(writer).seq == second
    assert database.head(writer).token != 0


def test_an_error_in_a_transaction_undoes_it_and_its_number(writer):
    before = database.head(writer)
    with pytest.raises(RuntimeError), database.transaction(writer):
        write_and_fail(writer)
    assert database.head(writer) == before
    assert writer.execute("SELECT count(*) FROM tags").fetchone() == (0,)


@pytest.mark.parametrize("begin", [database.snapshot, database.immediate, database.transaction])
def test_ctrl_c_at_any_step_of_a_transaction_leaves_none_open_and_says_nothing(begin, path, writer, monkeypatch):
    """Also where its exception lives longer than the connection: the `with` that it left unfinished ends after both."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    for at in count(1):
        steps, connection, caught = Steps(at), database.connect_writer(path), None
        try:
            steps.watch()
            with begin(connection):
                pass
        except KeyboardInterrupt as interrupt:
            caught = interrupt
        finally:
            sys.setprofile(None)
        if caught is None:
            break
        connection.close()
        del caught
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("ROLLBACK")
    assert at > 5
    assert said == []


def test_a_transaction_that_ctrl_c_left_open_is_undone_before_the_store_is_closed(make_store, data_dir):
    make_store()
    before = small_store.by_words(data_dir, "red")
    with pytest.raises(KeyboardInterrupt), store.writing(data_dir) as writer:  # noqa: PT012
        left_open = writer.transaction()
        left_open.__enter__()
        writer.connection.execute("DELETE FROM documents")
        raise KeyboardInterrupt
    assert small_store.by_words(data_dir, "red") == before


def test_a_full_disk_is_reported_as_such_and_the_next_transaction_works(writer):
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"), database.transaction(writer):
        writer.execute("INSERT INTO tags (name, description) VALUES ('x', ?)", ("y" * 100_000,))
    writer.execute("PRAGMA max_page_count = 100000")
    with database.transaction(writer) as seq:
        assert seq == 1


def test_foreign_keys_hold_for_a_writer(writer):
    with pytest.raises(sqlite3.IntegrityError), database.transaction(writer):
        writer.execute("INSERT INTO document_tags VALUES (1, 1)")


def test_a_watermark_is_remembered_only_with_its_own_token(writer):
    with database.transaction(writer):
        pass
    head = database.head(writer)
    assert database.remembers(writer, head)
    assert not database.remembers(writer, Watermark(head.seq, head.token ^ 1))
    assert not database.remembers(writer, Watermark(head.seq + 1, head.token))


def test_a_pruned_log_remembers_the_head_alone(writer):
    with database.transaction(writer):
        pass
    old = database.head(writer)
    with database.transaction(writer):
        pass
    database.prune_log(writer)
    assert database.remembers(writer, database.head(writer))
    assert not database.remembers(writer, old)


@pytest.mark.parametrize("statement", ["CREATE TABLE x (y)", "DELETE FROM documents", "VACUUM"])
def test_a_reader_can_change_nothing_and_create_nothing(writer, path, statement):
    reader = database.connect_reader(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute(statement)
    reader.close()


def test_a_reader_sees_the_last_commit_and_does_not_wait_while_a_transaction_is_open(make_store, data_dir):
    """The reader runs in the middle of the writer's transaction, under its lock, and comes back before it ends."""
    make_store(small_store.document("a", "red fox"))
    answers = []

    def look():
        answers.append((small_store.by_words(data_dir, "fox"), small_store.by_vector(data_dir, "red fox")))

    with store.writing(data_dir) as writer, writer.transaction() as seq:
        writer.insert(small_store.document("b", "blue fox"), {}, "made-up", seq=seq)
        reader = threading.Thread(target=look)
        reader.start()
        reader.join(store.DEFAULT_LOCK_TIMEOUT_S / 2)
        assert answers == [([1], [1])]


def test_a_reader_runs_no_statement_that_writes(make_store, data_dir):
    """SQLite is asked what each statement does: opening and searching a store that is up to date only reads."""
    make_store(small_store.document("a", "red fox"))
    asked = set()

    def allow(action, *_details):
        asked.add(action)
        return sqlite3.SQLITE_OK

    with store.reading(data_dir) as reader:
        reader.connection.set_authorizer(allow)
        reader.lexical()
        reader.matrix()
        builtwith.built_with(reader.connection)
    assert asked <= {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}
    assert asked


def test_a_snapshot_does_not_see_what_is_committed_meanwhile(writer, path):
    reader = database.connect_reader(path)
    with database.snapshot(reader):
        before = database.head(reader)
        with database.transaction(writer):
            pass
        assert database.head(reader) == before
    assert database.head(reader) == database.head(writer) != before
    reader.close()


@pytest.mark.parametrize("connect", [database.connect_reader, database.connect_writer])
def test_a_file_that_is_no_database_is_named_with_what_to_do(path, connect):
    path.write_bytes(b"not a database, but long enough to be looked at as one" * 20)
    with pytest.raises(StoreDamaged, match=r"kb\.db cannot be read") as caught:
        connect(path)
    assert "backup" in caught.value.hint


def test_a_path_with_marks_that_mean_something_in_a_uri_is_opened_as_it_is(tmp_path):
    folder = tmp_path / "50% off? #1"
    small_store.create(folder, small_store.document("a", "red fox"))
    assert small_store.by_words(folder, "fox") == [1]
