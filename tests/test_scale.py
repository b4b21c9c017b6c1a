"""What must not grow with a store, counted in steps of SQLite's own machine: the same whatever else this machine does."""

from __future__ import annotations

import pytest
import small_store

from index import builtwith, documents, projections, store
from index.lexical import Lexical
from kb.compact import compact, is_worth_indexing_anew
from kb.status import waiting_count
from models import session
from models.errors import ModelUnusable


def steps_of(data_dir, ask) -> int:
    """Instructions of SQLite's that `ask(reader)` takes; what it calls before it was begun is not counted."""
    with store.reading(data_dir) as reader, reader.moment():
        matrix, built = reader.matrix(), builtwith.built_with(reader.connection)
        chunks = documents.chunk_count(reader.connection)
        steps = [0]

        def count() -> int:
            steps[0] += 1
            return 0

        reader.connection.set_progress_handler(count, 1)
        ask(reader, matrix, built, chunks)
        return steps[0]


def filled(folder, size):
    small_store.create(folder, *(small_store.document(f"{number}.md", f"red {number}") for number in range(size)))
    return folder


def test_an_append_takes_as_many_steps_in_a_large_store_as_in_a_small_one(tmp_path):
    """Writing and bringing both projections up to it; what is new was looked for among all chunks, 0.5 GB at a million."""

    def steps_to_append(data_dir) -> int:
        steps = [0]

        def count() -> int:
            steps[0] += 1
            return 0

        with store.writing(data_dir) as writer:
            writer.connection.set_progress_handler(count, 1)
            with writer.transaction() as seq:
                writer.insert(small_store.document("new.md", "green"), {}, "made-up", seq=seq)
        return steps[0]

    assert steps_to_append(filled(tmp_path / "few", 5)) == steps_to_append(filled(tmp_path / "many", 200))


def test_that_nothing_waits_is_known_without_looking_at_every_text(tmp_path):
    """`kb status` looked up every text in the vectors: 0.7 s of work at a million chunks."""
    few, many = (steps_of(filled(tmp_path / str(size), size), waiting_count) for size in (5, 200))
    assert few == many < 50


@pytest.mark.parametrize(
    ("live", "dead", "worth"), [(50_000, 0, True), (1_000_000, 100_000, False), (1_000_000, 250_000, True)]
)
def test_a_large_index_of_words_is_made_anew_only_where_that_gives_much_back(live, dead, worth):
    assert is_worth_indexing_anew(live, dead) == worth


def test_deleted_chunks_are_counted_until_the_index_of_words_is_made_anew(tmp_path):
    data_dir = filled(tmp_path, 20)
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, [1, 2, 3])
    folder = projections.lexical_folder(data_dir)
    assert (Lexical.open_reader(folder).count(), Lexical.open_reader(folder).dead_count()) == (17, 3)

    compact(data_dir, vacuum=False, lock_timeout_s=5)
    assert (Lexical.open_reader(folder).count(), Lexical.open_reader(folder).dead_count()) == (17, 0)


def test_cuda_is_used_where_onnxruntime_has_it_and_asked_for_in_one_line_where_not():
    import onnxruntime

    has_cuda = session.CUDA in onnxruntime.get_available_providers()
    assert session.providers("cpu") == [session.CPU]
    assert session.providers("auto") == ([session.CUDA, session.CPU] if has_cuda else [session.CPU])
    if not has_cuda:
        with pytest.raises(ModelUnusable, match=r"embedding\.device is cuda"):
            session.providers("cuda")
