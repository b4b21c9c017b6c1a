"""What must not grow with a store, counted in steps of SQLite's own machine: the same whatever else this machine does."""

from __future__ import annotations

import small_store

from index import documents, store
from kb.status import waiting_count


def steps_of(data_dir, ask) -> int:
    """Instructions of SQLite's that `ask(reader)` takes; what it calls before it was begun is not counted."""
    with store.reading(data_dir) as reader, reader.moment():
        matrix, built = reader.matrix(), store.built_with(reader.connection)
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
