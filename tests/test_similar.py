"""More like this: by the vectors that are stored, against scores computed by hand; no model is anywhere near."""

from __future__ import annotations

import numpy as np
import pytest
import small_store
from small_store import document

from index import documents, neighbours, store
from index.errors import StoreMissing
from index.filters import Filter
from index.neighbours import Placed
from kb.errors import NotFound
from kb.settings import Settings
from kb.similar import Request, similar

FRUIT = document("fruit", "apples are red", "pears are green", "plums are blue")
TOOLS = document("tools", "a hammer", "a saw", tags=("shed",))
KEYS = document("keys", "rotate them", doc_type="note", source_path=None)


def ask(folder, reference, **others):
    return similar(folder, Settings(), Request(reference=str(reference), **others))


def chunk_ids(folder, document_id):
    with store.reading(folder) as reader:
        return [chunk.id for chunk in documents.chunks_of(reader.connection, document_id)]


def by_hand(vector, *documents_of_texts):
    """Each text with its cosine, best first, negative ones 0."""
    found = []
    for texts in documents_of_texts:
        placed = [Placed(1, n, n, small_store.vector(text).tobytes()) for n, text in enumerate(texts)]
        rows = np.concatenate([rows for _, rows in neighbours.rows(placed, small_store.DIM, len(texts))])
        found += zip(texts, np.maximum(0, np.float64(rows) @ np.float64(vector)).tolist(), strict=True)
    return sorted(found, key=lambda pair: -pair[1])


def texts_of(new):
    return tuple(chunk.text for chunk in new.chunks)


def said(answer):
    return [(hit.text, pytest.approx(hit.score, abs=2e-6)) for hit in answer.results]


def test_a_chunk_finds_the_nearest_to_its_own_vector_and_not_itself(make_store, data_dir):
    """Others of its document are among them; the score is the cosine."""
    make_store(FRUIT, TOOLS, KEYS)
    pears = chunk_ids(data_dir, 1)[1]

    answer = ask(data_dir, pears, is_chunk=True)

    expected = by_hand(small_store.vector("pears are green"), texts_of(FRUIT), texts_of(TOOLS), texts_of(KEYS))
    assert [pair for pair in expected if pair[0] != "pears are green"] == said(answer)
    assert (answer.to.chunk_id, answer.to.document_id, answer.to.title) == (pears, 1, "fruit")
    assert (answer.total_matches, answer.returned, answer.warnings) == (5, 5, ())
    assert all(hit.score_breakdown.vector == hit.score for hit in answer.results)


def test_elsewhere_leaves_out_the_chunks_own_document_and_other_versions_of_its_file(make_store, data_dir):
    make_store(FRUIT, document("fruit", "apples are red", "pears are yellow"), TOOLS, KEYS)
    pears = chunk_ids(data_dir, 1)[1]

    answer = ask(data_dir, pears, is_chunk=True, elsewhere=True)

    assert said(answer) == by_hand(small_store.vector("pears are green"), texts_of(TOOLS), texts_of(KEYS))
    assert (answer.to.chunk_id, answer.total_matches) == (pears, 3)


def test_a_document_is_the_mean_of_its_chunks_and_finds_the_best_passage_of_each_other(make_store, data_dir):
    make_store(FRUIT, TOOLS, KEYS)
    mean = np.mean([small_store.vector(text) for text in texts_of(FRUIT)], axis=0)
    mean /= np.linalg.norm(mean)

    answer = ask(data_dir, "/made/up/fruit")

    best = [by_hand(mean, texts_of(other))[0] for other in (TOOLS, KEYS)]
    assert sorted(best, key=lambda pair: -pair[1]) == said(answer)
    assert (answer.to.chunk_id, answer.to.path, answer.total_matches) == (None, "/made/up/fruit", 3)
    assert ask(data_dir, 1).results == answer.results


def test_other_versions_of_the_file_are_no_answer(make_store, data_dir):
    """They say the same in almost the same words."""
    make_store(FRUIT, document("fruit", "apples are red", "pears are yellow"), TOOLS)

    assert {hit.source.title for hit in ask(data_dir, 1).results} == {"tools"}
    assert {hit.source.title for hit in ask(data_dir, "/made/up/fruit").results} == {"tools"}


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        (Filter(tags=("shed",)), {"tools"}),
        (Filter(types=("note",)), {"keys"}),
        (Filter(path_glob="/made/*"), {"fruit", "tools"}),
        (Filter(since="2027"), set()),
    ],
)
def test_filters_are_those_of_a_search(make_store, data_dir, narrowed, found):
    make_store(FRUIT, TOOLS, KEYS)
    answer = ask(data_dir, chunk_ids(data_dir, 1)[0], is_chunk=True, filter=narrowed)

    assert {hit.source.title for hit in answer.results} == found
    assert answer.warnings == (() if found else ("nothing else passes the filters",))


def test_so_many_documents_are_found_as_are_wanted(make_store, data_dir):
    """Also where the passages nearest to it are all of one."""
    many = document("many", *[f"passage {number}" for number in range(60)])
    make_store(document("one", "passage 7"), many, *[document(f"other {number}", f"{number}") for number in range(6)])

    answer = ask(data_dir, 1, top=5)

    assert len({hit.source.document_id for hit in answer.results}) == answer.returned == 5
    assert answer.results[0].source.title == "many"
    assert answer.total_matches == 66


def test_what_is_found_among_many_is_what_is_nearest(make_store, data_dir):
    """More rows than are scored one by one."""
    texts = [f"text {number}" for number in range(1500)]
    make_store(*[document(f"document {number}", *texts[number : number + 50]) for number in range(0, 1500, 50)])

    answer = ask(data_dir, chunk_ids(data_dir, 1)[0], is_chunk=True, top=3)

    expected = by_hand(small_store.vector("text 0"), *[tuple(texts[n : n + 50]) for n in range(0, 1500, 50)])
    assert [pair for pair in expected if pair[0] != "text 0"][:3] == said(answer)


def test_what_has_no_vector_is_not_found(make_store, data_dir):
    make_store(TOOLS)
    small_store.add(data_dir, FRUIT, without_vectors=True)

    with pytest.raises(NotFound, match="document 2 has no vector yet") as refused:
        ask(data_dir, 2)
    assert "kb reindex" in refused.value.hint
    with pytest.raises(NotFound, match="chunk 3 has no vector yet"):
        ask(data_dir, 3, is_chunk=True)


def test_a_document_with_some_vectors_is_what_these_say(make_store, data_dir):
    make_store(TOOLS, document("apples", "apples are red"))
    small_store.add(data_dir, FRUIT, without_vectors=True)

    answer = ask(data_dir, 3)

    assert answer.results[0].source.title == "apples"
    assert answer.results[0].score == pytest.approx(1)
    assert answer.warnings == ("2 of its 3 chunks have no vector yet: kb reindex makes them",)


def test_what_is_not_there_is_not_found(make_store, data_dir):
    """An id that only a document has is no chunk's, and the other way round."""
    with pytest.raises(StoreMissing):
        ask(data_dir, 1)
    make_store(FRUIT)
    small_store.add(data_dir, TOOLS)
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, [1])

    for reference, is_chunk in ((1, False), ("/made/up/fruit", False), (1, True), (99, True)):
        with pytest.raises(NotFound):
            ask(data_dir, reference, is_chunk=is_chunk)
    with pytest.raises(NotFound, match="no chunk 2") as refused:
        ask(data_dir, 2, is_chunk=True)
    assert refused.value.hint == "more like document 2: kb similar --document 2"
    assert ask(data_dir, 2).results == ()


def test_the_command_takes_a_chunk_a_path_or_a_document(kb, make_store, tmp_path):
    make_store(FRUIT, TOOLS, KEYS)

    chunk, path, whole = (
        kb("similar", *words, "-j").json["to"] for words in (["2"], ["/made/up/tools"], ["--document", "2"])
    )

    assert (chunk["chunk_id"], chunk["title"]) == (2, "fruit")
    assert (path["chunk_id"], path["title"]) == (None, "tools")
    assert whole == path


def test_the_command_finds_what_is_said_elsewhere(kb, make_store):
    make_store(FRUIT, TOOLS)

    found = {
        word: {hit["source"]["title"] for hit in kb("similar", "2", *word.split(), "-j").json["results"]}
        for word in ("", "--elsewhere")
    }

    assert found == {"": {"fruit", "tools"}, "--elsewhere": {"tools"}}


def test_the_command_shows_hits_as_a_search_does(kb, make_store):
    make_store(FRUIT, TOOLS)
    shown = kb("similar", "2", "-n", "1")

    assert shown.code == 0
    assert shown.stdout.startswith("Like fruit, chunk 2:\n1. tools  0.25  text")
    missing = kb("similar", "77")
    assert (missing.code, missing.stdout) == (3, "")
    assert missing.stderr.startswith("kb: no chunk 77 (")
