"""The crash rule: whatever became of the projections, they are brought to what `kb.db` says, or made anew, and never lie.

That a process killed at any step leaves nothing else than these states is for `test_crash`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys

import numpy as np
import pytest
import small_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_store import document

from index import builtwith, database, documents, projections, store, vectors, watermark
from index.check import every
from index.errors import DiskFault, StoreLocked
from index.lexical import Lexical
from index.lock import writer_lock
from index.projections import State
from index.writer import utc_now
from kb.compact import compact

A = document("a", "red fox", "blue fox")
B = document("b", "green dog")
C = document("c", "white owl", "grey owl")


@pytest.fixture
def folder(data_dir, make_store):
    """A store with documents 1 and 2, chunks 1 to 3."""
    make_store(A, B)
    return data_dir


def problems(folder):
    """What the checks find, without any mending on the way."""
    with store.reading(folder) as reader:
        return [problem for check in every(reader.connection, folder) for problem in check.problems]


def without_catching_up(folder, change):
    """A writer killed after its commit, before the projections: a transaction made beside the store's own door."""
    connection = database.connect_writer(store.database_path(folder))
    with database.transaction(connection) as seq:
        change(connection, seq)
    connection.close()


def insert(new):
    def change(connection, seq):
        for piece in new.chunks:
            row = small_store.vector(piece.text)[None, :]
            vectors.insert(connection, [piece.text_hash], row, "made-up", seq=seq)
        documents.insert(connection, new, created_at=utc_now(), seq=seq)

    return change


def delete(document_id):
    return lambda connection, _seq: documents.delete(connection, [document_id])


def states(folder):
    with store.reading(folder) as reader:
        return projections.matrix_state(reader.connection, folder), projections.lexical_state(reader.connection, folder)


def test_a_commit_that_no_projection_has_seen_is_replayed(folder):
    """Killed after the SQLite commit: both watermarks are behind, and the next reader finds the document."""
    without_catching_up(folder, insert(C))
    assert states(folder) == (State.BEHIND, State.BEHIND)
    assert small_store.by_words(folder, "owl") == [4, 5]
    assert small_store.by_vector(folder, "white owl")[0] == 4
    assert problems(folder) == []


def test_a_deletion_that_no_projection_has_seen_is_replayed(folder):
    without_catching_up(folder, delete(1))
    assert small_store.by_words(folder, "fox") == []
    assert small_store.by_vector(folder, "red fox") == [3]
    assert problems(folder) == []


def test_a_document_that_has_grown_is_replayed(folder):
    """Its new chunks are found, the one that was made anew is not, and those that stayed are there once."""
    now = document("a", "blue hen", "green hen", title="henhouse", size=3)

    def grow(connection, seq):
        for piece in now.chunks:
            vectors.insert(connection, [piece.text_hash], small_store.vector(piece.text)[None, :], "made-up", seq=seq)
        documents.append(connection, 1, now, first_chunk=1, seq=seq)

    without_catching_up(folder, grow)
    assert states(folder) == (State.BEHIND, State.BEHIND)
    assert sorted(small_store.by_words(folder, "henhouse")) == [1, 4, 5]
    assert small_store.by_words(folder, "fox") == [1]
    assert sorted(small_store.by_vector(folder, "green hen")) == [1, 3, 4, 5]
    assert problems(folder) == []


def test_a_new_title_and_path_are_replayed_into_the_words(folder):
    without_catching_up(
        folder, lambda connection, seq: documents.rename(connection, 2, "/made/up/kennel", "terrier", seq=seq)
    )
    assert small_store.by_words(folder, "terrier kennel") == [3]
    assert problems(folder) == []


def test_a_vector_that_comes_later_than_its_text_is_replayed(folder):
    """Documents added without a model wait for their vectors."""
    small_store.add(folder, document("late", "slow snail"), without_vectors=True)
    assert small_store.by_words(folder, "snail") == [4]
    assert 4 not in small_store.by_vector(folder, "slow snail")
    without_catching_up(
        folder,
        lambda connection, seq: vectors.insert(
            connection, [vectors.text_hash("slow snail")], small_store.vector("slow snail")[None, :], "made-up", seq=seq
        ),
    )
    assert small_store.by_vector(folder, "slow snail")[0] == 4


def test_the_matrix_done_and_the_words_not_is_mended(folder):
    """Killed between the two."""
    before = shutil.copytree(folder / "lexical", folder / "before")
    small_store.add(folder, C)
    shutil.rmtree(folder / "lexical")
    before.rename(folder / "lexical")
    assert states(folder) == (State.CURRENT, State.BEHIND)
    assert small_store.by_words(folder, "owl") == [4, 5]
    assert problems(folder) == []


def test_words_committed_and_their_watermark_old_is_one_replay_too_many(folder):
    old = (folder / "lexical" / watermark.FILE_NAME).read_bytes()
    small_store.add(folder, C)
    (folder / "lexical" / watermark.FILE_NAME).write_bytes(old)
    assert small_store.by_words(folder, "owl") == [4, 5]
    assert problems(folder) == []


def test_rows_appended_and_their_header_old_is_a_torn_tail(folder):
    old = (folder / "matrix" / "header.json").read_bytes()
    small_store.add(folder, C)
    (folder / "matrix" / "header.json").write_bytes(old)
    assert small_store.by_vector(folder, "white owl")[0] == 4
    with store.reading(folder) as reader:
        assert reader.matrix().ids.tolist() == [1, 2, 3, 4, 5]
    assert problems(folder) == []


def test_files_of_an_epoch_that_no_header_names_are_removed_by_the_next_writer(folder):
    (folder / "matrix" / "vectors-7.f32").write_bytes(b"orphan")
    (folder / "matrix" / "ids-7.i64").write_bytes(b"orphan")
    (folder / "matrix" / "codes-7.i8").write_bytes(b"orphan")
    (folder / "matrix" / "bounds-7.f32").write_bytes(b"orphan")
    with store.writing(folder):
        pass
    names = {path.name for path in (folder / "matrix").iterdir()}
    assert names == {"header.json", "ids-1.i64", "vectors-1.f32", "codes-1.i8", "bounds-1.f32"}


@pytest.mark.parametrize("deleted", [("matrix",), ("lexical",), ("matrix", "lexical")])
def test_a_deleted_projection_is_made_anew_from_the_database_alone(folder, deleted):
    """No vector is computed: there is no model in this test."""
    for name in deleted:
        shutil.rmtree(folder / name)
    assert sorted(small_store.by_words(folder, "fox")) == [1, 2]
    assert small_store.by_vector(folder, "green dog")[0] == 3
    assert problems(folder) == []


def test_an_older_copy_of_the_database_makes_both_projections_anew(folder):
    """Restored from a backup: the projections know a chunk 4 that this history does not, and then another chunk 4."""
    backup = shutil.copy(folder / "kb.db", folder.parent)
    small_store.add(folder, C)
    shutil.copy(backup, folder / "kb.db")
    assert states(folder) == (State.UNUSABLE, State.UNUSABLE)
    small_store.add(folder, document("d", "black cat", "old cat"))
    assert small_store.by_words(folder, "owl") == []
    assert small_store.by_words(folder, "cat") == [4, 5]
    assert small_store.by_vector(folder, "black cat")[0] == 4
    assert problems(folder) == []


def test_a_projection_ahead_of_the_database_is_made_anew(folder):
    """Power lost: the last commit is gone, and what was projected of it is not."""
    before = {path.name: path.read_bytes() for path in folder.glob("kb.db*")}
    small_store.add(folder, C)
    for path in folder.glob("kb.db*"):
        path.unlink()
    for name, content in before.items():
        (folder / name).write_bytes(content)
    assert small_store.by_words(folder, "owl") == []
    assert sorted(small_store.by_vector(folder, "red fox")) == [1, 2, 3]
    assert problems(folder) == []


@pytest.mark.parametrize("name", ["matrix", "lexical"])
def test_a_projection_of_another_store_is_made_anew(folder, tmp_path, name):
    """As many transactions, the same ids, other documents: only the token in the log tells them apart."""
    other = tmp_path / "other"
    small_store.create(other, document("x", "alien moon", "alien sun"), document("y", "alien star"))
    shutil.rmtree(folder / name)
    shutil.copytree(other / name, folder / name)
    assert small_store.by_words(folder, "alien") == []
    assert small_store.by_vector(folder, "red fox")[0] == 1
    assert problems(folder) == []


def test_words_of_another_store_without_a_watermark_are_not_taken_for_the_beginning(folder, tmp_path):
    other = tmp_path / "other"
    small_store.create(other, document("x", *(f"alien {i}" for i in range(9))))
    shutil.rmtree(folder / "lexical")
    shutil.copytree(other / "lexical", folder / "lexical")
    (folder / "lexical" / watermark.FILE_NAME).unlink()
    assert small_store.by_words(folder, "alien") == []
    assert problems(folder) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "matrix" / "header.json").write_bytes(b"\x00\x01garbage"),
        lambda folder: (folder / "matrix" / "header.json").unlink(),
        lambda folder: os.truncate(folder / "matrix" / "ids-1.i64", 8),
        lambda folder: os.truncate(folder / "matrix" / "vectors-1.f32", 8),
        lambda folder: (folder / "matrix" / "vectors-1.f32").unlink(),
        lambda folder: os.truncate(folder / "matrix" / "codes-1.i8", 8),
        lambda folder: (folder / "lexical" / "meta.json").write_bytes(b"garbage"),
        lambda folder: (folder / "lexical" / watermark.FILE_NAME).write_bytes(b"garbage"),
    ],
    ids=[
        "header",
        "no header",
        "short ids",
        "short vectors",
        "no vectors",
        "short codes",
        "tantivy's meta",
        "watermark",
    ],
)
def test_damaged_files_are_made_anew_by_the_next_command(folder, damage):
    damage(folder)
    assert sorted(small_store.by_words(folder, "fox")) == [1, 2]
    assert small_store.by_vector(folder, "green dog")[0] == 3
    assert problems(folder) == []


@pytest.mark.parametrize("opened", [store.reading, store.writing])
def test_a_store_from_before_there_were_codes_gets_them_from_its_vectors(folder, opened):
    """As the first version left it: vectors and ids alone. There is no model here that could embed anything."""
    (folder / "matrix" / "codes-1.i8").unlink()
    (folder / "matrix" / "bounds-1.f32").unlink()
    with opened(folder):
        pass
    assert small_store.by_vector(folder, "green dog")[0] == 3
    assert (folder / "matrix" / "codes-2.i8").stat().st_size > 0
    assert problems(folder) == []


def test_a_header_of_another_size_is_not_served(folder):
    """The file is long enough for narrower rows, so only the store's own numbers tell."""
    header = json.loads((folder / "matrix" / "header.json").read_bytes())
    (folder / "matrix" / "header.json").write_text(json.dumps({**header, "dim": 4}))
    assert small_store.by_vector(folder, "green dog")[0] == 3


@pytest.mark.parametrize("suffix", [".term", ".idx", ".pos", ".fast", ".fieldnorm"])
def test_a_writer_gets_over_damage_inside_a_segment(folder, suffix):
    """It shows only when chunks are deleted; the index is then made anew, and the command does not fail."""
    for path in (folder / "lexical").glob(f"*{suffix}"):
        path.unlink()
    with store.writing(folder) as writer, writer.transaction():
        documents.delete(writer.connection, [1])
    assert small_store.by_words(folder, "dog") == [3]
    assert small_store.by_words(folder, "fox") == []
    assert problems(folder) == []


def test_damage_inside_a_segment_is_mended_when_it_is_searched(folder):
    for path in (folder / "lexical").glob("*.term"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    with store.reading(folder) as reader:
        assert reader.rebuilt_lexical().count() == 3


def test_a_stale_projection_is_served_while_another_process_writes_with_a_word_of_warning(folder):
    """A reader never waits for a writer only to see the newest."""
    without_catching_up(folder, insert(C))
    with writer_lock(folder / "write.lock", 0), store.reading(folder) as reader:
        assert sorted(reader.lexical().chunk_ids()) == [1, 2, 3]
        assert reader.matrix().ids.tolist() == [1, 2, 3]
        assert reader.warnings == ["the store is being written: the newest documents may be missing from this answer"]


def test_a_projection_newer_than_the_reader_s_snapshot_is_served_without_waiting(folder):
    """The writer committed and projected after the reader began, and is writing again."""
    with store.reading(folder, lock_timeout_s=0) as reader, database.snapshot(reader.connection):
        assert documents.count(reader.connection) == 2
        small_store.add(folder, C)
        with writer_lock(folder / "write.lock", 0):
            assert 4 in reader.lexical().chunk_ids()
            assert 4 in reader.matrix().ids
        assert documents.chunks_by_ids(reader.connection, [4]) == {}


def test_a_reader_waits_only_for_what_cannot_be_used_at_all(folder):
    shutil.rmtree(folder / "matrix")
    with (
        writer_lock(folder / "write.lock", 0),
        store.reading(folder, lock_timeout_s=0) as reader,
        pytest.raises(StoreLocked),
    ):
        reader.matrix()


def test_a_reader_does_not_serve_an_index_that_another_process_is_filling(folder):
    """Deleted and made anew, so far without a watermark: empty, which is not the same as behind."""
    shutil.rmtree(folder / "lexical")
    Lexical.open_or_create(folder / "lexical")
    with (
        writer_lock(folder / "write.lock", 0),
        store.reading(folder, lock_timeout_s=0) as reader,
        pytest.raises(StoreLocked),
    ):
        reader.lexical()


def test_commits_are_made_durable_before_a_projection_speaks_of_them(folder):
    """A row is killed in place: were its deletion lost with the power, the old watermark would vouch for the dead row."""
    opened = []

    def note(event, details):
        if event == "open" and str(details[0]).startswith(str(folder)):
            opened.append(os.path.basename(details[0]))  # noqa: PTH119  what the audit gives is a string

    sys.addaudithook(note)
    with store.writing(folder) as writer, writer.transaction():
        documents.delete(writer.connection, [1])
    recorded = list(opened)
    assert recorded.index("kb.db-wal") < recorded.index("vectors-1.f32", recorded.index("kb.db-wal"))


def with_hot_journal(folder):
    """What a process leaves that is killed in the middle of a transaction before the log is there."""
    alive = folder.with_name("alive")
    alive.mkdir()
    connection = sqlite3.connect(alive / "kb.db", isolation_level=None)
    connection.execute("CREATE TABLE first (x)")
    connection.execute("PRAGMA cache_size = 1")  # written out before the end of the transaction
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO first VALUES (?)", [("x" * 4000,)] * 50)
    for path in alive.iterdir():
        shutil.copy(path, folder)
    connection.close()


def test_a_store_whose_making_was_cut_short_is_made_by_the_next_command(data_dir):
    """Killed while SQLite switched to its log: no reader can open a database that has a rollback journal."""
    data_dir.mkdir()
    with_hot_journal(data_dir)
    with pytest.raises(DiskFault, match="readonly"):
        database.connect_reader(data_dir / "kb.db")
    assert not store.exists(data_dir)
    small_store.create(data_dir, A)
    assert small_store.by_words(data_dir, "fox") == [1, 2]


def test_vectors_of_a_model_that_the_store_has_left_are_not_served(folder):
    """Switched by another process while a document was being embedded, to a model of the same size: its texts wait."""
    other = builtwith.BuiltWith(
        model_name="other", model_key="other", embedding_dim=small_store.DIM, model_max_tokens=64
    )
    with store.writing(folder) as writer, writer.transaction():
        builtwith.set_built_with(writer.connection, other)
    small_store.add(folder, C)
    with store.reading(folder) as reader:
        assert reader.matrix().header.rows == 0
        assert vectors.waiting_count(reader.connection, "other") == 5
    assert problems(folder) == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9)),
        st.tuples(st.just("add, and die"), st.integers(0, 9)),
        st.tuples(st.just("remove"), st.integers(0, 9)),
        st.tuples(st.just("remove, and die"), st.integers(0, 9)),
        st.tuples(st.just("rename"), st.integers(0, 9)),
        st.tuples(st.just("compact"), st.just(0)),
        st.tuples(st.just("lose"), st.sampled_from(["matrix", "lexical"])),
        st.tuples(st.just("restore"), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_any_sequence_of_changes_leaves_what_a_plain_dictionary_holds(tmp_path_factory, steps):
    """Words and vectors find what brute force over a dictionary finds, and every check passes."""
    folder = tmp_path_factory.mktemp("store") / "data"
    small_store.create(folder)
    held, backup, saved = {}, {}, shutil.copy(folder / "kb.db", folder.parent)
    for step, argument in steps:
        if step == "restore":
            shutil.copy(saved, folder / "kb.db")
            held = dict(backup)
        else:
            take(folder, held, step, argument)
        saved, backup = shutil.copy(folder / "kb.db", folder.parent), dict(held)
    look_at(folder, held)


def take(folder, held, step, argument):
    """One step on the store and on the dictionary of document name -> title."""
    name = f"name{argument}"
    by_name = {row.source_path: row.id for row in all_documents(folder)}
    document_id = by_name.get(f"/made/up/{name}")
    if step.startswith("add") and name not in held:
        new = document(name, f"common text of {name}", f"second {name}")
        if "die" in step:
            without_catching_up(folder, insert(new))
        else:
            small_store.add(folder, new)
        held[name] = name
    elif step.startswith("remove") and name in held:
        if "die" in step:
            without_catching_up(folder, delete(document_id))
        else:
            with store.writing(folder) as writer, writer.transaction():
                documents.delete(writer.connection, [document_id])
        del held[name]
    elif step == "rename" and name in held:
        with store.writing(folder) as writer, writer.transaction() as seq:
            documents.rename(writer.connection, document_id, f"/made/up/{name}", "renamed", seq=seq)
        held[name] = "renamed"
    elif step == "compact":
        compact(folder, vacuum=False, lock_timeout_s=1)
    elif step == "lose":
        shutil.rmtree(folder / argument, ignore_errors=True)


def all_documents(folder):
    with store.reading(folder) as reader:
        return documents.page_of(reader.connection, None, limit=None, offset=0)


def look_at(folder, held):
    with store.reading(folder) as reader:
        chunks = {
            chunk.id: (chunk.text, row.title)
            for row in documents.page_of(reader.connection, None, limit=None, offset=0)
            for chunk in documents.chunks_of(reader.connection, row.id)
        }
    expected = [(text, title) for name, title in held.items() for text in (f"common text of {name}", f"second {name}")]
    assert sorted(chunks.values()) == sorted(expected)
    assert sorted(small_store.by_words(folder, "common")) == [i for i, (text, _) in chunks.items() if "common" in text]
    assert sorted(small_store.by_words(folder, "renamed")) == [
        i for i, (_, title) in chunks.items() if title == "renamed"
    ]
    query = small_store.vector("anything")
    cosines = {i: float(np.dot(row_of(text), query)) for i, (text, _) in chunks.items()}
    assert small_store.by_vector(folder, "anything") == sorted(cosines, key=lambda i: (-cosines[i], i))
    assert problems(folder) == []


def row_of(text):
    name = text.split()[-1]
    return small_store.row(text, of=(f"common text of {name}", f"second {name}"))


def test_a_vector_that_comes_late_changes_the_rows_beside_it(data_dir, make_store):
    """As building the matrix anew would."""
    make_store(document("a", "red fox", "slow snail", "blue fox"))
    without = document("b", "white owl", "slow snail", "grey owl")
    small_store.add(data_dir, without, without_vectors=True)
    for text in ("grey owl", "white owl"):
        with store.writing(data_dir) as writer, writer.transaction() as seq:
            row = small_store.vector(text)[None, :]
            vectors.insert(writer.connection, [vectors.text_hash(text)], row, "made-up", seq=seq)
        assert problems(data_dir) == []
    texts = ("white owl", "slow snail", "grey owl")
    with store.reading(data_dir) as reader:
        found = dict(zip(reader.matrix().ids.tolist(), reader.matrix().vectors, strict=True))
    for place, text in enumerate(texts):
        assert np.array_equal(found[4 + place], small_store.row(text, of=texts))
