"""Windows: parts of a chunk's text with rows of their own; the score of a chunk that has any; stores that get them and lose them."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import small_store
import tiny_model
from exact import exact_scores
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from small_store import document

from index import builtwith, cutting, database, matrixwriter, store, unembedded, vectors, windows
from index.builtwith import BuiltWith
from index.grouped import owners
from index.matrix import Matrix
from index.watermark import Watermark
from kb.add import Silent, add_paths
from kb.backup import backup
from kb.candidates import Request
from kb.compact import compact
from kb.doctor import doctor
from kb.reindex import reindex
from kb.remove import remove
from kb.restore import restore
from kb.scrubbing import scrub
from kb.search import Request as Query
from kb.search import search
from kb.settings import Embedding, Settings
from kb.status import status

DIM = 8
WORDS = 3
"""A window, in the stores of these tests."""
COUNT = 8
"""Their documents; every one but two has more words than that."""


# The text of a window


@given(st.lists(st.sampled_from(["red", "a", "中", "x-1.", "\u00e9t\u00e9"]), max_size=40), st.integers(1, 12))
def test_windows_have_so_many_words_each_cover_the_text_and_come_in_order(words, size):
    text = " ".join(words)
    found = windows.spans(text, size)
    assert len(found) == (-(-len(words) // size) if len(words) > size else 0)
    assert all(len(windows.WORD.findall(text[first:end])) == size for first, end in found)
    assert [*found] == sorted(set(found))
    outside = "".join(
        text[end:first] for (_, end), (first, _) in zip([(0, 0), *found], found, strict=False) if end < first
    )
    assert not found or (not outside.strip() and text[found[-1][1] :].strip() == "")


def test_a_text_that_is_no_longer_than_a_window_has_none():
    assert windows.spans("one two three", 3) == []
    assert [*windows.texts("", "one two three four", 3)] == ["one two three", "two three four"]


def test_a_window_stands_under_the_context_of_its_chunk():
    assert windows.texts("Config", "one two three four", 2) == ["Config\n\none two", "Config\n\nthree four"]


def test_a_script_without_spaces_is_counted_by_characters():
    assert windows.texts("", "红色狐狸跑步", 3) == ["红色狐", "狸跑步"]


@given(st.integers(1, 1 << 40), st.integers(0, windows.MOST - 1))
def test_the_id_of_a_row_says_whose_window_it_is(chunk_id, number):
    row_id = windows.row_id(chunk_id, number)
    assert row_id < 0
    assert owners(np.array([chunk_id, 0, row_id])).tolist() == [chunk_id, 0, chunk_id]


# The score of a chunk that has windows


def unit(drawn):
    rows = drawn.astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rows_of(windows_of, seed, spread):
    """Row ids and vectors: a row for each chunk, around it those of so many windows as `windows_of` says."""
    chance = np.random.default_rng(seed)
    ids, rows = [], []
    for chunk_id, count in windows_of.items():
        whole = chance.standard_normal(DIM)
        ids += [chunk_id, *(windows.row_id(chunk_id, number) for number in range(count))]
        rows += [whole, *(whole + spread * chance.standard_normal(DIM) for _ in range(count))]
    order = chance.permutation(len(ids))
    return np.array(ids, np.int64)[order], unit(np.array(rows))[order]


def by_definition(ids, rows, query):
    """(chunk, score) of all, best first, ties by id: the mean of the whole's and the best window's score, in float32."""
    scores = dict(zip(ids.tolist(), exact_scores(rows, query).astype(np.float64).tolist(), strict=True))
    found = []
    for chunk_id in sorted(each for each in scores if each > 0):
        own = [score for row_id, score in scores.items() if row_id < 0 and -row_id >> windows.NUMBER_BITS == chunk_id]
        whole = scores[chunk_id]
        found.append((chunk_id, float(np.float32((whole + max(own, default=whole)) / 2))))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def written(folder, ids, rows):
    shutil.rmtree(folder, ignore_errors=True)
    return matrixwriter.rebuild(folder, [(ids, rows)], dim=DIM, model="m", watermark=Watermark(1, 1), windows=WORDS)


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("limit", [1, 7, 100, 5000])
def test_the_nearest_chunks_are_those_by_definition(tmp_path, spread, limit):
    """Of 3000 rows, more than are scored without a look at their codes; also where windows have nothing to do with the whole."""
    ids, rows = rows_of({chunk: chunk % 5 for chunk in range(1, 1001)}, seed=limit, spread=spread)
    query = unit(np.random.default_rng(7).standard_normal((1, DIM)))[0]
    nearest = written(tmp_path / "matrix", ids, rows).search(query, limit)
    expected = by_definition(ids, rows, query)
    assert list(zip(nearest.chunk_ids, nearest.scores, strict=True)) == expected[:limit]
    assert nearest.total == 1000


@given(
    counts=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    copies=st.booleans(),
    seed=st.integers(0, 99),
    data=st.data(),
)
@hypothesis_settings(max_examples=60, deadline=None)
def test_filters_ties_and_chunks_that_are_asked_for_as_well(tmp_path_factory, counts, copies, seed, data):
    windows_of = dict(enumerate(counts, start=1))
    ids, rows = rows_of(windows_of, seed, spread=0.5)
    if copies:  # all chunks tie
        rows = np.repeat(rows[:1], len(rows), axis=0)
    some = st.sets(st.sampled_from(list(windows_of)))
    allowed, further, limit = data.draw(st.none() | some), data.draw(some), data.draw(st.integers(1, 12))
    query = unit(np.random.default_rng(seed + 1).standard_normal((1, DIM)))[0]
    index = written(tmp_path_factory.mktemp("rows") / "matrix", ids, rows)
    nearest = index.search(
        query, limit, None if allowed is None else np.array(sorted(allowed), np.int64), lambda: further
    )
    known = dict(by_definition(ids, rows, query))
    ranked = [chunk for chunk in known if allowed is None or chunk in allowed or chunk in further]
    assert nearest.chunk_ids == ranked[:limit]
    assert nearest.scores == [known[chunk] for chunk in ranked[:limit]]
    assert nearest.further == {chunk: known[chunk] for chunk in ranked[limit:] if chunk in further}
    assert nearest.total == len(windows_of if allowed is None else allowed)


def test_a_chunk_without_windows_scores_as_in_a_store_without_any(tmp_path):
    ids, rows = rows_of(dict.fromkeys(range(1, 50), 0), seed=1, spread=0)
    plain = matrixwriter.rebuild(tmp_path / "plain", [(ids, rows)], dim=DIM, model="m", watermark=Watermark(1, 1))
    assert written(tmp_path / "matrix", ids, rows).search(rows[3], 20) == plain.search(rows[3], 20)


def test_a_damaged_window_counts_as_none_and_a_damaged_whole_comes_last(tmp_path):
    ids = np.array([1, windows.row_id(1, 0), 2, windows.row_id(2, 0), 3])
    rows = unit(np.random.default_rng(3).standard_normal((5, DIM)))
    rows[1], rows[2] = np.nan, np.nan
    nearest = written(tmp_path / "matrix", ids, rows).search(rows[0], 3)
    assert nearest.chunk_ids == [1, 3, 2]
    assert nearest.scores[:2] == exact_scores(rows[[0, 4]], rows[0]).tolist()


def test_rows_of_windows_die_with_their_chunk_and_a_window_without_it_is_not_found(tmp_path):
    ids, rows = rows_of({1: 2, 2: 3}, seed=5, spread=1)
    index = matrixwriter.apply(written(tmp_path / "matrix", ids, rows), [], np.array([1]), Watermark(2, 2))
    assert set(owners(index.ids).tolist()) == {0, 2}
    matrixwriter.kill(index, np.array([2]))  # as a reader may find it while a writer is at it
    assert Matrix.open(index.folder).search(rows[0], 5).chunk_ids == []


# Stores with windows


def using(folder, words):
    return Settings(embedding=Embedding(model=str(folder), batch_size=1, threads=1, windows=words))


@pytest.fixture
def files(tmp_path):
    """The first two have three words; the others six to eleven."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(COUNT):
        words = 3 if number < 2 else 4 + number
        text = " ".join("red" if (place * number) % 3 == 0 else "green" for place in range(words - 1))
        (folder / f"{number}.txt").write_text(f"{text} word{number}")
    return folder


def add(data_dir, files, model, words, **options):
    return add_paths(data_dir, using(model, words), Request(paths=(files,), recursive=True, **options), Silent())


def answers(data_dir, model, query="red red green"):
    [answer] = search(data_dir, using(model, 0), [Query(query=query, mode="semantic", top=50)])
    return [(hit.source.path, hit.score) for hit in answer.results]


def rows_in(data_dir):
    """(live rows, rows of windows among them)."""
    ids = Matrix.open(data_dir / "matrix").ids
    return int(np.count_nonzero(ids)), int(np.count_nonzero(ids < 0))


def is_whole(data_dir, model, words=WORDS):
    """Doctor is content, and the matrix is what it would be if it were made anew."""
    found = doctor(data_dir, using(model, words), fix=False)
    print([check for check in found.checks if not check.ok])
    before = answers(data_dir, model)
    shutil.rmtree(data_dir / "matrix")
    return found.ok and answers(data_dir, model) == before


class Bar:
    def __init__(self, at_advance=lambda: None):
        self.at_advance = at_advance

    def start(self, total):
        pass

    def advance(self, count):
        self.at_advance()


def interrupt():
    raise KeyboardInterrupt


def switch(data_dir, model, words, bar=None):
    return reindex(data_dir, using(model, words), None, bar or Bar(), {})


def built(data_dir):
    with store.reading(data_dir) as reader:
        return builtwith.built_with(reader.connection)


@pytest.fixture
def plain(data_dir, files, roomy_folder):
    add(data_dir, files, roomy_folder, 0)
    return data_dir


@pytest.fixture
def windowed(data_dir, files, roomy_folder):
    add(data_dir, files, roomy_folder, WORDS)
    return data_dir


WINDOWS = sum(-(-(4 + number) // WORDS) for number in range(2, COUNT))


def test_a_new_store_is_built_with_the_windows_that_the_settings_want(windowed, roomy_folder):
    assert built(windowed).windows == WORDS
    assert rows_in(windowed) == (COUNT + WINDOWS, WINDOWS)
    assert status(windowed, using(roomy_folder, WORDS)).windows == WORDS
    assert is_whole(windowed, roomy_folder)


def test_a_store_without_windows_has_nothing_of_them(plain):
    assert rows_in(plain) == (COUNT, 0)
    with store.reading(plain) as reader:
        assert reader.connection.execute("SELECT count(*) FROM windows").fetchone() == (0,)
        assert len(reader.matrix().chunk_ids) == COUNT


def test_switching_on_embeds_the_windows_alone_and_gives_the_store_that_was_built_so(
    plain, files, roomy_folder, tmp_path
):
    answer = switch(plain, roomy_folder, WORDS)
    with store.reading(plain) as reader:
        assert answer.embedded == vectors.text_count(reader.connection) - COUNT
    assert (answer.windows, answer.previous_windows, answer.reused) == (WORDS, 0, COUNT)
    add(tmp_path / "built", files, roomy_folder, WORDS)
    assert answers(plain, roomy_folder) == answers(tmp_path / "built", roomy_folder)
    assert is_whole(plain, roomy_folder)


def test_switching_off_drops_the_rows_and_answers_as_before(plain, roomy_folder):
    before = answers(plain, roomy_folder)
    switch(plain, roomy_folder, WORDS)
    assert answers(plain, roomy_folder) != before
    assert switch(plain, roomy_folder, 0).embedded == 0
    assert answers(plain, roomy_folder) == before
    assert rows_in(plain) == (COUNT, 0)
    assert is_whole(plain, roomy_folder, 0)


def test_switching_on_again_embeds_nothing(plain, roomy_folder):
    """Until a compaction forgets the vectors of windows that are none any more."""
    switch(plain, roomy_folder, WORDS)
    switch(plain, roomy_folder, 0)
    assert switch(plain, roomy_folder, WORDS).embedded == 0
    switch(plain, roomy_folder, 0)
    compact(plain, vacuum=False, lock_timeout_s=1)
    assert switch(plain, roomy_folder, WORDS).embedded > 0


def test_windows_of_another_length_take_the_place_of_those_that_were(windowed, files, roomy_folder, tmp_path):
    switch(windowed, roomy_folder, WORDS + 2)
    add(tmp_path / "built", files, roomy_folder, WORDS + 2)
    assert answers(windowed, roomy_folder) == answers(tmp_path / "built", roomy_folder)
    assert is_whole(windowed, roomy_folder, WORDS + 2)


def test_a_switch_of_models_makes_windows_anew_too(windowed, files, roomy_folder, tmp_path):
    wider = tiny_model.write_model(tmp_path / "wider", dim=6)
    for name in ("config.json", "sentence_bert_config.json"):
        shutil.copy(roomy_folder / name, wider / name)
    tiny_model.write_json(wider / "config.json", {"hidden_size": 6, "max_position_embeddings": 512})
    answer = reindex(windowed, using(roomy_folder, WORDS), str(wider), Bar(), {})
    with store.reading(windowed) as reader:
        assert answer.embedded == vectors.text_count(reader.connection)
    add(tmp_path / "built", files, wider, WORDS)
    assert answers(windowed, wider) == answers(tmp_path / "built", wider)


def test_until_the_last_window_has_its_vector_no_search_knows_of_any(plain, roomy_folder):
    before = answers(plain, roomy_folder)
    with pytest.raises(KeyboardInterrupt):
        switch(plain, roomy_folder, WORDS, Bar(at_advance=interrupt))
    assert (built(plain).windows, answers(plain, roomy_folder)) == (0, before)
    assert status(plain, using(roomy_folder, WORDS)).waiting > 0
    assert doctor(plain, using(roomy_folder, WORDS), fix=False).ok


def test_an_interrupted_switch_goes_on_where_it_was_even_after_a_compaction(plain, files, roomy_folder, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        switch(plain, roomy_folder, WORDS, Bar(at_advance=interrupt))
    compact(plain, vacuum=False, lock_timeout_s=1)
    waiting = status(plain, using(roomy_folder, WORDS)).waiting
    assert switch(plain, roomy_folder, WORDS).embedded == waiting
    add(tmp_path / "built", files, roomy_folder, WORDS)
    assert answers(plain, roomy_folder) == answers(tmp_path / "built", roomy_folder)


def test_an_interrupted_switch_that_is_given_up_leaves_nothing(plain, roomy_folder):
    with pytest.raises(KeyboardInterrupt):
        switch(plain, roomy_folder, WORDS, Bar(at_advance=interrupt))
    assert switch(plain, roomy_folder, 0).embedded == 0
    assert status(plain, using(roomy_folder, 0)).waiting == 0
    assert is_whole(plain, roomy_folder, 0)


def test_what_is_added_during_a_switch_has_windows_after_it(plain, files, roomy_folder):
    with pytest.raises(KeyboardInterrupt):
        switch(plain, roomy_folder, WORDS, Bar(at_advance=interrupt))
    (files / "late.txt").write_text("red green red red late1 late2 late3")
    add(plain, files, roomy_folder, WORDS)
    switch(plain, roomy_folder, WORDS)
    assert rows_in(plain) == (COUNT + 1 + WINDOWS + 3, WINDOWS + 3)
    assert is_whole(plain, roomy_folder)


@pytest.mark.parametrize(("made_with", "wanted"), [(0, WORDS), (WORDS, 0), (WORDS, 5)])
def test_a_setting_that_is_not_the_stores_changes_nothing_and_is_said(data_dir, files, roomy_folder, made_with, wanted):
    add(data_dir, files, roomy_folder, made_with)
    (files / "new.txt").write_text("green red green green green new1 new2")
    answer = add(data_dir, files, roomy_folder, wanted)
    [said] = [warning for warning in answer.warnings if "embedding.windows" in warning]
    assert f"embedding.windows says {wanted}" in said
    assert "kb reindex" in said
    assert said in status(data_dir, using(roomy_folder, wanted)).warnings
    assert built(data_dir).windows == made_with
    assert is_whole(data_dir, roomy_folder, made_with)


def test_a_store_made_by_adding_and_removing_is_one_made_at_once(windowed, files, roomy_folder, tmp_path):
    """With a matrix that was only ever appended to, dead rows among the others."""
    (files / "2.txt").write_text("green green red changed2 red red red")
    (files / "9.txt").write_text("red green green nine1 nine2 nine3")
    add(windowed, files, roomy_folder, WORDS, replace=True)
    remove(windowed, [str(files / "5.txt")], lock_timeout_s=1)
    (files / "5.txt").unlink()
    add(tmp_path / "built", files, roomy_folder, WORDS)
    expected = answers(tmp_path / "built", roomy_folder)
    assert answers(windowed, roomy_folder) == expected
    compact(windowed, vacuum=True, lock_timeout_s=1)
    assert Matrix.open(windowed / "matrix").dead_count == 0
    assert answers(windowed, roomy_folder) == expected
    assert is_whole(windowed, roomy_folder)


def test_compaction_forgets_windows_of_what_was_removed_and_no_others(windowed, files, roomy_folder):
    remove(windowed, [str(files / "7.txt")], lock_timeout_s=1)
    compact(windowed, vacuum=False, lock_timeout_s=1)
    with store.reading(windowed) as reader:
        kept = reader.connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
        assert kept == vectors.text_count(reader.connection)


def test_a_filter_is_a_filter_of_chunks(windowed, files, roomy_folder):
    [answer] = search(windowed, using(roomy_folder, WORDS), [Query(query="red -word7", mode="semantic", top=50)])
    assert {hit.source.path for hit in answer.results} == {str(files / f"{n}.txt") for n in range(COUNT)} - {
        str(files / "7.txt")
    }
    assert answer.total_matches == COUNT - 1


def test_a_grown_transcript_is_what_one_reading_would_have_made(data_dir, tmp_path, roomy_folder):
    def says(role, text):
        return json.dumps({"type": role, "sessionId": "s", "message": {"role": role, "content": text}}) + "\n"

    lines = [says("user" if n % 2 == 0 else "assistant", f"red green turn{n} " * 9) for n in range(12)]
    log = tmp_path / "log.jsonl"
    for count in (3, 7, 12):
        log.write_text("".join(lines[:count]))
        answer = add(data_dir, log, roomy_folder, WORDS)
    assert answer.documents[0].status == "appended"
    add(tmp_path / "built", log, roomy_folder, WORDS)
    assert answers(data_dir, roomy_folder) == answers(tmp_path / "built", roomy_folder)
    assert is_whole(data_dir, roomy_folder)


def test_a_scrubbed_secret_is_in_no_window(data_dir, tmp_path, roomy_folder):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    file = tmp_path / "note.txt"
    file.write_text(f"red green red green token {secret} red green red")
    add(data_dir, file, roomy_folder, WORDS, scrub=False)
    scrub(data_dir, using(roomy_folder, WORDS))
    with store.reading(data_dir) as reader:
        [(context, text)] = reader.connection.execute("SELECT context, text FROM chunks").fetchall()
        hashes = {row[0] for row in reader.connection.execute("SELECT text_hash FROM vectors")}
        assert secret not in text
        assert hashes == {vectors.text_hash(part) for part in (text, *windows.texts(context, text, WORDS))}
    assert is_whole(data_dir, roomy_folder)


def test_a_restored_store_has_its_windows(windowed, roomy_folder, tmp_path):
    before = answers(windowed, roomy_folder)
    backup(windowed, tmp_path / "saved", force=False)
    switch(windowed, roomy_folder, 0)
    restore(windowed, tmp_path / "saved", 1)
    assert answers(windowed, roomy_folder) == before
    assert is_whole(windowed, roomy_folder)


def test_doctor_finds_windows_that_are_not_those_of_their_text_and_mends_them(windowed, roomy_folder):
    expected = answers(windowed, roomy_folder)
    with store.writing(windowed) as writer, writer.transaction():
        writer.connection.execute("DELETE FROM windows WHERE chunk_id = 3 AND number = 1")
    settings = using(roomy_folder, WORDS)
    [found] = [check for check in doctor(windowed, settings, fix=False).checks if check.name == "windows"]
    assert found.problems == ("chunk 3: its windows are not those of its text",)
    assert doctor(windowed, settings, fix=True).ok
    assert answers(windowed, roomy_folder) == expected
    assert is_whole(windowed, roomy_folder)


def test_doctor_finds_a_row_of_a_window_that_is_missing(windowed, roomy_folder):
    current = Matrix.open(windowed / "matrix")
    matrixwriter.kill(current, np.array([windows.row_id(3, 0)]))
    [found] = [
        check for check in doctor(windowed, using(roomy_folder, WORDS), fix=True).checks if check.name == "matrix"
    ]
    assert found.problems == ("1 chunks or windows have no row",)
    assert is_whole(windowed, roomy_folder)


# Windows whose vectors come late, through `index` alone

BUILT = BuiltWith(model_name="made-up", model_key="made-up", embedding_dim=DIM, model_max_tokens=64, windows=2)
LONG = "red fox runs far"


@pytest.fixture
def waiting(data_dir):
    """One chunk with its vector and two windows without."""
    small_store.create(data_dir, document("a", LONG), built=BUILT)
    return data_dir


def give(data_dir, text):
    with store.writing(data_dir) as writer, writer.transaction() as seq:
        row = small_store.vector(text)[None, :]
        vectors.insert(writer.connection, [vectors.text_hash(text)], row, "made-up", seq=seq)


def score(data_dir, query="query"):
    with store.reading(data_dir) as reader:
        return reader.matrix().search(small_store.vector(query), 5).scores


def cosine(text, query="query"):
    return float(exact_scores(small_store.vector(text)[None, :], small_store.vector(query))[0])


def test_a_window_waits_for_its_vector_and_then_counts(waiting):
    with store.reading(waiting) as reader:
        assert vectors.waiting_count(reader.connection, "made-up") == 2
        assert [one.embedded_text for one in vectors.waiting(reader.connection, "made-up", 1)] == ["red fox"]
    assert score(waiting) == [cosine(LONG)]
    give(waiting, "red fox")
    assert score(waiting) == [float(np.float32((cosine(LONG) + cosine("red fox")) / 2))]
    give(waiting, "runs far")
    best = max(cosine("red fox"), cosine("runs far"))
    assert score(waiting) == [float(np.float32((cosine(LONG) + best) / 2))]


def test_a_window_of_a_chunk_without_a_vector_has_no_row(data_dir):
    store.create(data_dir, BUILT)
    small_store.add(data_dir, document("a", LONG), without_vectors=True)
    give(data_dir, "red fox")
    assert rows_in(data_dir) == (0, 0)
    give(data_dir, LONG)
    assert rows_in(data_dir) == (2, 1)


def test_a_window_that_was_refused_does_not_wait_and_is_not_forgotten(waiting):
    with store.writing(waiting) as writer, writer.transaction():
        unembedded.mark(writer.connection, {vectors.text_hash("red fox"): "no"}, "made-up", "now")
        unembedded.purge(writer.connection, {"made-up"})
    with store.reading(waiting) as reader:
        assert vectors.waiting_count(reader.connection, "made-up") == 1
        assert unembedded.count(reader.connection, "made-up") == 1


def test_a_store_from_before_there_were_windows_has_none(waiting):
    with store.writing(waiting) as writer, writer.transaction():
        database.write_config(writer.connection, {windows.CUT_WORDS: None, windows.SERVED: None})
    with store.reading(waiting) as reader:
        assert builtwith.built_with(reader.connection).windows == 0
        assert cutting.words_of(reader.connection) == 0
        assert reader.matrix().header.windows == 0


# At the command line


def test_a_person_is_told_what_a_switch_has_done(plain, kb, roomy_folder):
    on = kb("reindex", KB_MODEL=roomy_folder, KB_WINDOWS=WORDS, KB_DEFAULT_FORMAT="human")
    assert "Its chunks have vectors of 3 words each beside that of the whole (embedding.windows)." in on.stdout
    off = kb("reindex", KB_MODEL=roomy_folder, KB_DEFAULT_FORMAT="human")
    assert "Its chunks have no vectors of parts beside that of the whole (embedding.windows)." in off.stdout
