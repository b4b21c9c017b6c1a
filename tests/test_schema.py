"""Migrations: each once, each whole, and none of a newer program's store."""

from __future__ import annotations

import sqlite3

import pytest
import small_store

from index import checksums, schema, store
from index.errors import StoreTooNew


@pytest.fixture
def connection(tmp_path):
    connection = sqlite3.connect(tmp_path / "kb.db", isolation_level=None)
    yield connection
    connection.close()


def add_table(connection):
    connection.execute("CREATE TABLE later (id INTEGER)")


def fail_half_way(connection):
    connection.execute("CREATE TABLE half (id INTEGER)")
    raise ValueError("half way")


def tables(connection):
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_an_empty_file_has_version_0(connection):
    assert schema.version(connection) == 0


def test_migrations_run_in_order_and_only_once(connection):
    """Creating the same table twice would be an error."""
    schema.migrate(connection)
    schema.migrate(connection, (*schema.MIGRATIONS, add_table))
    schema.migrate(connection, (*schema.MIGRATIONS, add_table))
    assert schema.version(connection) == schema.SCHEMA_VERSION + 1
    assert "later" in tables(connection)


def test_a_failing_migration_leaves_the_version_before_it_whole(connection):
    """The migration before it stays, and nothing of its own does."""
    with pytest.raises(ValueError, match="half way"):
        schema.migrate(connection, (*schema.MIGRATIONS, add_table, fail_half_way))
    assert schema.version(connection) == schema.SCHEMA_VERSION + 1
    assert "half" not in tables(connection)
    assert not connection.in_transaction


def test_ctrl_c_while_vectors_are_given_checksums_is_no_error_of_the_database(connection, monkeypatch):
    schema.migrate(connection, schema.MIGRATIONS[:1])
    connection.execute("INSERT INTO vectors VALUES (1, x'00', 'made-up', x'0000803f', 1)")

    def interrupted(vector):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(checksums, "of_vector", interrupted)
        with pytest.raises(KeyboardInterrupt):
            schema.migrate(connection)
    schema.migrate(connection)

    assert connection.execute("SELECT crc FROM vectors").fetchone() == (checksums.of_vector(b"\0\0\x80\x3f"),)


def test_an_older_schema_is_to_be_migrated_and_the_own_one_is_not(connection):
    assert not schema.check_version(connection)
    schema.migrate(connection)
    assert schema.check_version(connection)


@pytest.mark.parametrize("opened", [store.reading, store.writing])
def test_a_newer_schema_is_an_error_that_names_both_versions_and_changes_nothing(make_store, data_dir, opened):
    make_store(small_store.document("a", "red fox"))
    change = sqlite3.connect(data_dir / "kb.db")
    change.execute("UPDATE config SET value = '99' WHERE key = 'schema_version'")
    change.commit()
    change.close()
    before = (data_dir / "kb.db").read_bytes()
    with (
        pytest.raises(StoreTooNew, match=f"schema version 99, this kb knows up to {schema.SCHEMA_VERSION}"),
        opened(data_dir),
    ):
        pass
    assert (data_dir / "kb.db").read_bytes() == before


def test_a_newer_schema_is_one_line_and_exit_code_5_at_the_command_line(make_store, data_dir, kb):
    make_store(small_store.document("a", "red fox"))
    change = sqlite3.connect(data_dir / "kb.db")
    change.execute("UPDATE config SET value = '99' WHERE key = 'schema_version'")
    change.commit()
    change.close()
    ran = kb("list", "-j")
    assert (ran.code, ran.json["error"]["code"]) == (5, "StoreTooNew")


def test_a_deleted_chunk_is_recorded_by_the_database_itself(make_store, data_dir):
    """Whatever deletes it, and however: here a plain SQL statement on the document."""
    make_store(small_store.document("a", "red fox", "blue fox"), small_store.document("b", "green dog"))
    with store.writing(data_dir) as writer, writer.transaction() as seq:
        writer.connection.execute("DELETE FROM documents WHERE title = 'a'")
        assert writer.connection.execute("SELECT id, seq FROM deleted_chunks").fetchall() == [(1, seq), (2, seq)]
    assert small_store.by_words(data_dir, "fox") == []
