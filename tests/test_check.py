"""Each check finds its own damage, and what can be mended is mended from `kb.db`."""

from __future__ import annotations

import os
import shutil
import sqlite3

import numpy as np
import pytest
import small_store
from small_store import document

from index import database, documents, fields, projections, store, vectors
from index.check import every, mend
from index.errors import StoreDamaged
from index.lexical import Lexical


@pytest.fixture
def folder(data_dir, make_store):
    make_store(document("a", "red fox", "blue fox"), document("b", "green dog"))
    return data_dir


def found(folder):
    """The problems of each check that has any. Opened to read, so that nothing is healed on the way."""
    with store.reading(folder) as reader:
        return {check.name: check.problems for check in every(reader.connection, folder) if check.problems}


def mended(folder):
    with store.writing(folder) as writer:
        mend(writer.connection, folder, every(writer.connection, folder))
    return found(folder)


def sql(folder, statement, *values):
    """A change made beside every door, unseen by the log."""
    connection = sqlite3.connect(store.database_path(folder))
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def write_ids(folder, *ids):
    (folder / "matrix" / "ids-1.i64").write_bytes(np.array(ids, "<i8").tobytes())


def test_a_sound_store_has_no_problems(folder):
    assert found(folder) == {}


@pytest.mark.parametrize(
    ("ids", "problems"),
    [
        ((1, 2, 2), ["1 chunks have more than one row", "1 chunks have no row", "1 rows differ from their vector"]),
        ((1, 0, 3), ["1 chunks have no row"]),
        ((1, 2, 9), ["1 chunks have no row", "1 rows belong to no chunk"]),
        ((2, 1, 3), ["2 rows differ from their vector"]),
    ],
)
def test_rows_that_are_not_the_chunks_are_found_and_mended(folder, ids, problems):
    write_ids(folder, *ids)
    assert found(folder) == {"matrix": problems}
    assert mended(folder) == {}


def test_a_bit_that_flipped_in_the_matrix_is_found_and_mended(folder):
    path = folder / "matrix" / "vectors-1.f32"
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)
    assert "1 rows differ from their vector" in found(folder)["matrix"]
    assert mended(folder) == {}


@pytest.mark.parametrize("name", ["codes-1.i8", "bounds-1.f32"])
def test_codes_that_are_not_of_their_row_are_found_and_mended(folder, name):
    path = folder / "matrix" / name
    content = bytearray(path.read_bytes())
    content[3] ^= 64
    path.write_bytes(content)
    assert found(folder) == {"matrix": ["1 rows are not what their codes say"]}
    assert mended(folder) == {}


def test_files_that_belong_to_nothing_are_found_and_removed(folder):
    (folder / "matrix" / "vectors-9.f32").touch()
    assert found(folder) == {"matrix": ["vectors-9.f32 belongs to no epoch"]}
    assert mended(folder) == {}


def test_what_tantivy_was_writing_when_it_was_killed_is_no_damage_and_goes_with_the_next_writer(folder):
    left = folder / "lexical" / ".tmpAb12Cd"
    left.write_bytes(b"{")
    assert found(folder) == {}
    with store.writing(folder):
        assert not left.exists()


def test_entries_that_are_not_the_chunks_are_found_and_mended(folder):
    with store.reading(folder) as reader:
        head = database.head(reader.connection)
    stray = fields.LexicalDocument(chunk_id=9, document_id=9, title="", heading="", path="", body="stray")
    Lexical.open_or_create(folder / "lexical").apply([stray], [1], head)
    assert found(folder) == {
        "lexical index": ["1 chunks are missing from the lexical index, 1 entries belong to no chunk"]
    }
    assert mended(folder) == {}
    assert small_store.by_words(folder, "stray") == []


SEGMENT_FILES = [".fast", ".fieldnorm", ".idx", ".pos", ".store", ".term"]


@pytest.mark.parametrize("suffix", SEGMENT_FILES)
def test_a_bit_that_flipped_in_the_lexical_index_is_found_and_mended(folder, suffix):
    """tantivy opens the index all the same, and may answer wrongly."""
    [path] = (folder / "lexical").glob(f"*{suffix}")
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(content)
    assert f"{path.name} of the lexical index is damaged" in found(folder)["lexical index"]
    assert mended(folder) == {}


@pytest.mark.parametrize("suffix", SEGMENT_FILES)
def test_a_short_file_of_the_lexical_index_is_found_and_mended(folder, suffix):
    [path] = (folder / "lexical").glob(f"*{suffix}")
    os.truncate(path, 5)
    assert "lexical index" in found(folder)
    assert mended(folder) == {}


@pytest.mark.parametrize(
    "blob",
    [np.zeros(8, np.float32), np.full(8, np.nan, np.float32), np.ones(7, np.float32), np.ones(8, np.float32)],
    ids=["zero", "not a number", "short", "long"],
)
def test_a_vector_that_is_none_is_found_and_its_text_waits_for_another(folder, blob):
    sql(folder, "UPDATE vectors SET vector = ? WHERE id = 1", blob.tobytes())
    assert found(folder)["vectors"] == ["vector 1 is not a unit vector of the model's size"]
    assert mended(folder) == {}
    assert 1 not in small_store.by_vector(folder, "red fox")
    with store.reading(folder) as reader:
        assert vectors.waiting_count(reader.connection, "made-up") == 1


def test_a_text_that_is_not_what_was_embedded_is_found_and_cannot_be_mended(folder):
    sql(folder, "UPDATE chunks SET text = 'red dog' WHERE id = 1")
    expected = {"texts and their hashes": ["chunk 1: its text is not what its vector was made of"]}
    assert found(folder) == expected
    assert mended(folder) == expected


def test_a_document_without_chunks_is_found(folder):
    sql(folder, "DELETE FROM chunks WHERE document_id = 2")
    assert found(folder)["database integrity"] == ["document 2 (b) has no chunks"]


def test_a_row_that_refers_to_nothing_is_found(folder):
    sql(folder, "INSERT INTO document_tags VALUES (77, 88)")
    assert "row None of document_tags refers to nothing" in found(folder)["database integrity"]


def test_a_projection_that_is_behind_is_found(folder):
    sql(folder, "INSERT INTO log VALUES (99, 99)")
    assert found(folder) == {
        "matrix": ["the matrix is not at the last transaction"],
        "lexical index": ["the lexical index is not at the last transaction"],
    }


def damage_page_of(folder, table):
    """Overwrite the first page of a table."""
    connection = sqlite3.connect(store.database_path(folder))
    [page] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    [size] = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with store.database_path(folder).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


def test_a_damaged_page_of_the_database_is_a_finding_and_no_crash(folder):
    damage_page_of(folder, "chunks")
    assert "database integrity" in found(folder)


@pytest.mark.parametrize("table", ["config", "log", "documents"])
@pytest.mark.parametrize("arguments", [("list", "-j"), ("add", "--note", "green", "-j"), ("doctor", "-j")])
def test_a_command_on_a_damaged_database_says_so_and_what_to_do(folder, kb, table, arguments):
    damage_page_of(folder, table)
    ran = kb(*arguments)
    if ran.code == 7:  # doctor, where enough can be read to look at the rest
        assert not ran.json["ok"]
    elif ran.code:
        assert (ran.code, ran.json["error"]["code"]) == (5, "StoreDamaged")
        assert "backup" in ran.json["error"]["hint"]
    assert ran.stderr == ""


@pytest.mark.parametrize("opened", [store.reading, store.writing])
def test_damage_that_shows_while_the_store_is_used_is_named_as_such(folder, opened):
    damage_page_of(folder, "chunks")
    with pytest.raises(StoreDamaged, match="malformed"), opened(folder) as store_:
        documents.chunks_of(store_.connection, 1)


def test_damage_is_not_confused_with_other_errors_of_sqlite(folder):
    with pytest.raises(sqlite3.OperationalError, match="no such table"), store.reading(folder) as reader:
        reader.connection.execute("SELECT * FROM nothing_of_ours")


def test_a_file_in_the_place_of_the_database_is_damage(folder):
    for path in folder.glob("kb.db*"):
        path.unlink()
    store.database_path(folder).write_bytes(b"something else" * 100)
    with pytest.raises(StoreDamaged), store.reading(folder):
        pass


def test_mending_reads_nothing_but_the_database(folder):
    """Both projections gone at once, while the store is held open."""
    with store.writing(folder) as writer:
        shutil.rmtree(projections.matrix_folder(folder))
        shutil.rmtree(projections.lexical_folder(folder))
        mend(writer.connection, folder, every(writer.connection, folder))
        assert all(not check.problems for check in every(writer.connection, folder))
