"""The matrix by itself: exact answers, and what each kind of damage to its files means."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from exact import exact_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from index import columns, epoch, leads, matrix, matrixwriter, neighbours
from index.epoch import MatrixDamaged
from index.matrix import Matrix, Nearest
from index.near import BLOCK_ROWS
from index.quantized import holds
from index.watermark import Watermark

DIM = 8
FILES = ("vectors-1.f32", "ids-1.i64", "codes-1.i8", "bounds-1.f32")
ROW_BYTES = (4 * DIM, 8, DIM, 12)


def rows(count, seed=0):
    """Random unit rows, float32 (count, DIM)."""
    drawn = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def ids_from(first, count):
    return np.arange(first, first + count, dtype=np.int64)


NOTHING = np.empty(0, np.int64)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "matrix"


@pytest.fixture
def ten(folder):
    """Chunks 1 to 10."""
    return matrixwriter.rebuild(folder, [(ids_from(1, 10), rows(10))], dim=DIM, model="m", watermark=Watermark(1, 11))


def test_the_nearest_rows_come_first_with_their_cosine(ten):
    nearest = ten.search(rows(10)[3], 3)
    cosines = rows(10) @ rows(10)[3]
    assert nearest.chunk_ids == (np.argsort(-cosines)[:3] + 1).tolist()
    assert nearest.scores == pytest.approx(np.sort(cosines)[::-1][:3], abs=1e-6)
    assert nearest.total == 10


def test_the_rows_of_what_is_admitted_are_looked_up_once(ten, monkeypatch):
    some, other = ids_from(2, 3), ids_from(5, 2)
    looked_up, rows_of = [], Matrix._rows_of
    monkeypatch.setattr(Matrix, "_rows_of", lambda self, ids: looked_up.append(ids) or rows_of(self, ids))

    found = [sorted(ten.search(rows(1)[0], 9, allowed).chunk_ids) for allowed in (some, some, other, some)]

    assert found == [[2, 3, 4], [2, 3, 4], [5, 6], [2, 3, 4]]
    assert [ids is some for ids in looked_up if len(ids)] == [True, False, True]


def test_the_likeness_of_chunks_is_the_cosine_of_their_rows_in_the_order_asked_for(ten):
    likeness = ten.likeness([7, 2, 10])
    vectors = rows(10).astype(np.float64)[[6, 1, 9]]
    assert likeness == pytest.approx(np.maximum(vectors @ vectors.T, 0), abs=1e-12)


def test_what_has_no_row_is_like_nothing(ten, folder):
    assert ten.likeness([3, 11, 0])[1].tolist() == [0, 0, 0]
    assert ten.likeness([0, 99, 3])[2] == pytest.approx([0, 0, 1])
    empty = matrixwriter.rebuild(folder, [], dim=DIM, model="m", watermark=Watermark(1, 2))
    assert empty.likeness([1, 2]).tolist() == [[0, 0], [0, 0]]


def test_the_likeness_of_a_damaged_row_is_none(folder):
    vectors = rows(3)
    vectors[1, 2] = np.nan
    index = matrixwriter.rebuild(folder, [(ids_from(1, 3), vectors)], dim=DIM, model="m", watermark=Watermark(1, 3))
    assert index.likeness([1, 2, 3])[1].tolist() == [0, 0, 0]


SEARCHED = """
import os, sys, time
from pathlib import Path

before = set(os.listdir("/proc/self/task"))
import numpy
threads = sorted(set(os.listdir("/proc/self/task")) - before)
from index import native
from index.matrix import Matrix

def run_so_far():
    return [Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0] for thread in threads]

if sys.argv[2] == "numpy":
    native.compiled = lambda: None
matrix = Matrix.open(Path(sys.argv[1]))
asleep = None
while asleep != (asleep := run_so_far()):
    time.sleep(0.1)
matrix.search(matrix.vectors[0], 100)
matrix.likeness(list(range(1, 31)))
print(len(threads), run_so_far() == asleep)
"""


@pytest.mark.parametrize("way", ["numpy", "compiled"])
def test_a_search_does_not_wake_the_threads_of_numpys_blas(folder, way):
    """They look for work for many milliseconds after each product, on the cores that the model and the words need."""
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this system does not say how long a thread ran")
    drawn = np.random.default_rng(1).standard_normal((1000, 768)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    matrixwriter.rebuild(folder, [(ids_from(1, 1000), drawn)], dim=768, model="m", watermark=Watermark(1, 3))
    command = [sys.executable, "-c", SEARCHED, str(folder), way]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    threads, slept = done.stdout.split()
    if threads == "0":
        pytest.skip("numpy has no threads of its own here")
    assert slept == "True"


def test_equal_rows_come_in_the_order_of_their_ids(folder):
    """Also where the limit cuts through them, and whatever their order in the file is."""
    same = np.repeat(rows(1), 6, axis=0)
    index = matrixwriter.rebuild(
        folder, [(np.array([9, 4, 7, 2, 8, 5]), same)], dim=DIM, model="m", watermark=Watermark(1, 1)
    )
    assert index.search(rows(1)[0], 3).chunk_ids == [2, 4, 5]


def test_a_filter_holds_before_ranking(ten):
    """The only row that is allowed is found, however far it is."""
    farthest = ten.search(rows(10)[0], 10).chunk_ids[-1]
    nearest = ten.search(rows(10)[0], 1, np.array([farthest]))
    assert (nearest.chunk_ids, nearest.total) == ([farthest], 1)


def test_an_empty_matrix_finds_nothing(folder):
    index = matrixwriter.rebuild(folder, [], dim=DIM, model="m", watermark=Watermark(1, 1))
    assert index.search(rows(1)[0], 5).chunk_ids == []


def test_a_query_of_another_size_is_refused_with_both_shapes(ten):
    with pytest.raises(ValueError, match=r"shape \(8,\), got \(3,\)"):
        ten.search(np.ones(3, np.float32), 1)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_query_that_is_not_all_numbers_is_refused(ten, number):
    with pytest.raises(ValueError, match="finite"):
        ten.search(np.full(DIM, number, np.float32), 1)


def test_rows_of_another_size_are_refused_and_not_written(ten, folder):
    with pytest.raises(ValueError, match=r"\(2, 8\), got \(2, 3\)"):
        matrixwriter.apply(ten, [(ids_from(11, 2), np.ones((2, 3), np.float32))], NOTHING, Watermark(2, 22))
    assert Matrix.open(folder).header == ten.header


def test_a_removed_chunk_is_dead_in_place_and_its_row_stays(ten, folder):
    after = matrixwriter.apply(ten, [], np.array([3, 5]), Watermark(2, 22))
    assert (after.header.rows, after.live_count, after.dead_count) == (10, 8, 2)
    assert {3, 5}.isdisjoint(after.search(rows(10)[2], 10).chunk_ids)
    assert Matrix.open(folder).header.watermark == Watermark(2, 22)


def test_what_is_applied_twice_is_there_once(ten):
    """A process killed after the rows and before its watermark does it all again."""
    batch = (ids_from(8, 5), np.concatenate([rows(10)[7:], rows(2, seed=1)]))
    once = matrixwriter.apply(ten, [batch], np.array([1]), Watermark(2, 22))
    twice = matrixwriter.apply(once, [batch], np.array([1]), Watermark(2, 22))
    assert twice.ids.tolist() == once.ids.tolist() == [0, *range(2, 13)]
    assert np.array_equal(twice.vectors[:10], rows(10))


def test_a_row_that_is_another_one_now_takes_the_place_of_the_old_one(ten):
    after = matrixwriter.apply(ten, [(ids_from(9, 3), rows(3, seed=1))], NOTHING, Watermark(2, 22))
    assert after.ids.tolist() == [*range(1, 9), 0, 0, 9, 10, 11]
    assert np.array_equal(after.vectors[10:], rows(3, seed=1))


def test_rows_mixed_otherwise_are_damage(ten, folder):
    """Of a version that gave a chunk's neighbours another weight, or did not mix at all: made anew from the truth."""
    header = (folder / "header.json").read_text()
    for other in (
        header.replace(f'"neighbours":{neighbours.WEIGHT}', '"neighbours":0.9'),
        header.replace("neighbours", "x"),
    ):
        assert other != header
        (folder / "header.json").write_text(other)
        with pytest.raises(MatrixDamaged):
            Matrix.open(folder)


def test_a_torn_tail_is_not_read_and_is_cut_by_the_next_writer(ten, folder):
    """Killed while rows were appended: the header does not speak of them."""
    for number, name in enumerate(FILES):
        with (folder / name).open("ab") as file:
            file.write(b"x" * (9 + 14 * number))
    torn = Matrix.open(folder)
    assert torn.ids.tolist() == list(range(1, 11))
    after = matrixwriter.apply(torn, [(ids_from(11, 1), rows(1, seed=2))], NOTHING, Watermark(2, 22))
    assert after.ids.tolist() == list(range(1, 12))
    assert np.array_equal(after.vectors, np.vstack([rows(10), rows(1, seed=2)]))
    assert [(folder / name).stat().st_size for name in FILES] == [11 * size for size in ROW_BYTES]
    assert holds(after.vectors, after.rows.codes, after.rows.bounds).all()


def test_the_header_moves_only_when_all_rows_are_written(ten, folder):
    """An error half way through the batches leaves the old header."""

    def batches():
        yield ids_from(11, 1), rows(1, seed=3)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        matrixwriter.apply(ten, batches(), NOTHING, Watermark(2, 22))
    assert Matrix.open(folder).header == ten.header


def test_a_rebuild_is_a_new_epoch_and_the_old_files_go(ten, folder):
    matrixwriter.rebuild(folder, [(ids_from(2, 3), rows(3))], dim=DIM, model="m", watermark=Watermark(2, 22))
    assert {path.name for path in folder.iterdir()} == {"header.json", *(name.replace("1", "2", 1) for name in FILES)}


def test_a_reader_that_has_the_old_epoch_mapped_keeps_answering(ten, folder):
    query = rows(10)[3]
    before = ten.search(query, 10)
    matrixwriter.rebuild(folder, [(ids_from(1, 1), rows(1))], dim=DIM, model="m", watermark=Watermark(2, 22))
    assert ten.search(query, 10) == before
    assert Matrix.open(folder).search(query, 10).chunk_ids == [1]


def test_a_matrix_that_is_open_stays_as_it_was_while_a_writer_appends_and_kills(ten):
    """Whether it was searched before or not: an answer is of one state."""
    query = rows(10)[3]
    before, unsearched = ten.search(query, 10), Matrix.open(ten.folder)
    after = matrixwriter.apply(ten, [(ids_from(11, 2), rows(2, seed=1))], np.array([4, 5]), Watermark(2, 22))
    assert ten.search(query, 10) == unsearched.search(query, 10) == before
    assert ten.search(query, 10, ids_from(1, 12)) == before
    assert set(after.search(query, 12).chunk_ids) == {1, 2, 3, *range(6, 13)}


def test_files_of_a_rebuild_that_was_not_finished_are_not_read_and_are_removed(ten, folder):
    """Killed before the swap: the header still names the old epoch."""
    matrixwriter.prepare(folder, [(ids_from(1, 3), rows(3, seed=4))], dim=DIM, model="m", watermark=Watermark(2, 22))
    (folder / "header.json.new").write_bytes(b"{half")
    assert np.array_equal(Matrix.open(folder).vectors, rows(10))
    epoch.unlink_orphans(folder, ten.header)
    assert {path.name for path in folder.iterdir()} == {"header.json", *FILES}


def test_a_rebuild_does_not_write_into_files_of_one_that_was_not_finished(ten, folder):
    matrixwriter.prepare(folder, [(ids_from(1, 3), rows(3, seed=4))], dim=DIM, model="m", watermark=Watermark(2, 22))
    after = matrixwriter.rebuild(folder, [(ids_from(5, 2), rows(2))], dim=DIM, model="m", watermark=Watermark(2, 22))
    assert after.ids.tolist() == [5, 6]
    assert np.array_equal(after.vectors, rows(2))


@pytest.mark.parametrize("content", [b"", b"garbage", b"{}", b"\x00" * 80, b'{"epoch": 1}'])
def test_a_header_of_garbage_is_damage(ten, folder, content):
    (folder / "header.json").write_bytes(content)
    with pytest.raises(MatrixDamaged):
        Matrix.open(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [("rows", -1), ("rows", 11), ("rows", 2**62), ("dim", 0), ("dim", 16), ("dim", 2**62), ("epoch", 0), ("epoch", 2)],
)
def test_a_header_that_its_files_do_not_bear_out_is_damage(ten, folder, key, value):
    header = json.loads((folder / "header.json").read_bytes())
    (folder / "header.json").write_text(json.dumps({**header, key: value}))
    with pytest.raises(MatrixDamaged):
        Matrix.open(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_short_or_missing_is_damage(ten, folder, name):
    os.truncate(folder / name, (folder / name).stat().st_size - 1)
    with pytest.raises(MatrixDamaged):
        Matrix.open(folder)
    (folder / name).unlink()
    with pytest.raises(MatrixDamaged):
        Matrix.open(folder)


def as_sorting_says(index, scores, limit, allowed):
    """The answer when every row has its score and everything is sorted."""
    admitted = [
        (-scores[row], chunk_id)
        for row, chunk_id in enumerate(index.ids.tolist())
        if chunk_id != epoch.DEAD and (allowed is None or chunk_id in allowed)
    ]
    best = sorted(admitted)[:limit]
    return Nearest([chunk_id for _, chunk_id in best], [float(-score) for score, _ in best], {}, len(admitted))


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_search_is_what_sorting_all_scores_gives(tmp_path_factory, data):
    """Any number of rows, some dead, any limit, any filter; few enough to be scored at once, or told apart by their codes."""
    count = data.draw(st.integers(1, 40) | st.integers(matrix.PLAIN_ROWS, 2 * matrix.PLAIN_ROWS))
    dead = data.draw(st.just(set()) | st.sets(st.integers(1, count), max_size=20))
    allowed = data.draw(st.none() | st.sets(st.integers(1, count + 3), max_size=40) | st.just(set(range(1, count, 2))))
    limit = data.draw(st.integers(1, 30) | st.integers(1, count + 2))
    folder = tmp_path_factory.mktemp("matrix")
    distinct = rows(data.draw(st.integers(1, count)), seed=count)  # fewer than there are rows: ties
    ids = np.random.default_rng(count).permutation(ids_from(1, count))
    vectors = distinct[np.arange(count) % len(distinct)]
    index = matrixwriter.rebuild(folder, [(ids, vectors)], dim=DIM, model="m", watermark=Watermark(1, 1))
    index = matrixwriter.apply(index, [], np.array(sorted(dead), np.int64), Watermark(2, 2))
    filter_ids = None if allowed is None else np.array(sorted(allowed), np.int64)
    query = rows(1, seed=99)[0]
    assert index.search(query, limit, filter_ids) == as_sorting_says(
        index, exact_scores(vectors, query), limit, allowed
    )


def test_many_rows_in_several_blocks_give_the_same(folder):
    """With dead rows and filters that take all, every other, one in a hundred, and one stretch of them."""
    count, dim = 2 * BLOCK_ROWS + 1000, 30
    drawn = np.random.default_rng(dim).standard_normal((count, dim)).astype(np.float32)
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    vectors[9000:9040] = vectors[:40]
    query = vectors[7] + vectors[20]
    scores = exact_scores(vectors, query)
    index = matrixwriter.rebuild(folder, [(ids_from(1, count), vectors)], dim=dim, model="m", watermark=Watermark(1, 1))
    for dead in (NOTHING, ids_from(500, 100)):
        index = matrixwriter.apply(index, [], dead, Watermark(2, 2))
        assert index.search(query, 100) == as_sorting_says(index, scores, 100, None)
        for allowed in (ids_from(1, count)[::2], ids_from(1, count)[::100], ids_from(8000, 1200)):
            expected = as_sorting_says(index, scores, 100, set(allowed.tolist()))
            assert index.search(query, 100, allowed) == expected


# Many rows: a first look at their leading dimensions


@pytest.fixture
def led(monkeypatch, folder):
    """300 rows, of which 200 are many."""
    monkeypatch.setattr(leads, "LEAST_ROWS", 200)
    monkeypatch.setattr(leads, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr(matrix, "PLAIN_ROWS", 20)
    index = matrixwriter.rebuild(folder, [(ids_from(1, 300), rows(300))], dim=DIM, model="m", watermark=Watermark(1, 1))
    assert index.leading
    return index


def nearest_of(index, expected, query):
    found = index.search(query, 10)
    assert found == as_sorting_says(index, exact_scores(expected, query), 10, None)
    return found


def test_few_rows_have_no_files_for_it(ten, folder):
    assert ten.header.leading is None
    assert {path.name for path in folder.iterdir()} == {"header.json", *FILES}


def test_a_matrix_that_grows_is_given_them_and_answers_alike(monkeypatch, folder):
    monkeypatch.setattr(leads, "LEAST_ROWS", 200)
    monkeypatch.setattr(matrix, "PLAIN_ROWS", 20)
    vectors = rows(500)
    index = matrixwriter.rebuild(
        folder, [(ids_from(1, 150), vectors[:150])], dim=DIM, model="m", watermark=Watermark(1, 1)
    )
    for number, (first, end) in enumerate([(150, 199), (199, 201), (201, 500)], 2):
        added = [(ids_from(first + 1, end - first), vectors[first:end])]
        index = matrixwriter.apply(index, added, NOTHING, Watermark(number, number))
        assert (index.header.leading is not None) == (end >= 200)
        for query in rows(5, seed=7):
            nearest_of(index, vectors[:end], query)
    assert index.is_coded_truly(slice(0, 500)).all()


def test_a_torn_tail_of_them_is_cut_and_written_anew(led, folder):
    for column in columns.LEADING_COLUMNS:
        with column.path(folder, 1).open("ab") as file:
            file.write(b"\x01" * 77)
    index = matrixwriter.apply(led, [(ids_from(301, 50), rows(350)[300:])], NOTHING, Watermark(2, 2))
    assert index.is_coded_truly(slice(0, 350)).all()
    for column in columns.LEADING_COLUMNS:
        assert column.path(folder, 1).stat().st_size == column.size_bytes(350, index.header.leading.dims)


def test_what_a_writer_left_that_was_killed_before_its_header_is_written_anew(monkeypatch, folder):
    monkeypatch.setattr(leads, "LEAST_ROWS", 200)
    index = matrixwriter.rebuild(folder, [(ids_from(1, 150), rows(150))], dim=DIM, model="m", watermark=Watermark(1, 1))
    for column in (columns.AXES, *columns.LEADING_COLUMNS):
        column.path(folder, 1).write_bytes(b"\x01" * 5000)
    index = matrixwriter.apply(index, [(ids_from(151, 100), rows(250)[150:])], NOTHING, Watermark(2, 2))
    assert index.is_coded_truly(slice(0, 250)).all()


@pytest.mark.parametrize(
    "column", [columns.AXES, *columns.LEADING_COLUMNS], ids=lambda column: column.name + column.suffix
)
def test_one_of_these_files_that_is_short_missing_or_false_is_known_for_it(led, folder, column):
    path = column.path(folder, 1)
    whole = path.read_bytes()
    path.write_bytes(bytes(len(whole)))
    if column is columns.AXES:
        with pytest.raises(MatrixDamaged):
            Matrix.open(folder)
    else:
        assert not Matrix.open(folder).is_coded_truly(slice(0, 300)).all()
    path.write_bytes(whole[:-1])
    with pytest.raises(MatrixDamaged):
        Matrix.open(folder)
    path.unlink()
    with pytest.raises(MatrixDamaged):
        Matrix.open(folder)


@pytest.mark.parametrize("dead", [0, 50, 150], ids=["none dead", "still many", "few left"])
def test_compacted_it_has_the_live_rows_as_they_were(led, folder, dead):
    led = matrixwriter.apply(led, [], ids_from(1, dead), Watermark(2, 2))
    before = [led.search(query, 20) for query in rows(5, seed=7)]
    index = matrixwriter.compacted(led, Watermark(3, 3))
    assert (index.header.rows, index.dead_count, index.header.watermark) == (300 - dead, 0, Watermark(3, 3))
    assert [index.search(query, 20) for query in rows(5, seed=7)] == before
    assert index.is_coded_truly(slice(0, 300 - dead)).all()
    assert (index.header.leading is not None) == (300 - dead >= 200)
    expected = {"header.json", *columns.file_names(2, leading=300 - dead >= 200)}
    assert {path.name for path in folder.iterdir()} == expected


def test_these_files_go_with_their_epoch(led, folder):
    matrixwriter.rebuild(folder, [(ids_from(1, 10), rows(10))], dim=DIM, model="m", watermark=Watermark(2, 2))
    assert {columns.epoch_of(path) for path in folder.iterdir()} == {0, 2}


def test_a_row_that_is_not_all_numbers_comes_last_and_hides_no_other(folder):
    """Only damage makes one; `kb doctor` names it."""
    vectors = rows(matrix.PLAIN_ROWS * 2)
    vectors[3] = np.nan
    vectors[4, 0] = np.inf
    count = len(vectors)
    index = matrixwriter.rebuild(folder, [(ids_from(1, count), vectors)], dim=DIM, model="m", watermark=Watermark(1, 1))
    sound = matrixwriter.apply(index, [], np.array([4, 5]), Watermark(2, 2))
    for limit in (10, count):
        found = index.search(vectors[9], limit)
        assert found.chunk_ids[: limit - 2] == sound.search(vectors[9], limit).chunk_ids[: limit - 2]
    assert found.chunk_ids[-2:] == [4, 5]
