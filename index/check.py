"""The invariants of a store, checked one by one.

Each check returns what is wrong as plain sentences, an empty list where all is well. What can be mended from the truth is
mended by building the projection anew; damage of `kb.db` itself is only reported.
"""

from __future__ import annotations

import mmap
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from index import columns, database, projections, quantized, vectors
from index.lexical import Lexical, LexicalDamaged
from index.matrix import DEAD, Matrix, MatrixDamaged
from index.quantized import ROWS_AT_ONCE

UNIT_TOLERANCE = 1e-3
"""How far a row's length may be from 1: float32 rounding is below 1e-6, a bit flip is far above."""


FOOTER_MAGIC = 1337
"""Ends each file of a tantivy segment: data, `{"crc": ...}`, its length, this number (`tantivy::directory::footer`, 0.27)."""


class Check(msgspec.Struct, frozen=True):
    name: str
    problems: list[str]
    mendable: bool


def every(connection: sqlite3.Connection, folder: Path) -> list[Check]:
    """All checks, in one snapshot."""
    with database.snapshot(connection):
        return [
            Check("database integrity", _found(_integrity, connection), mendable=False),
            Check("texts and their hashes", _found(_text_hashes, connection), mendable=False),
            Check("vectors", _found(_vectors, connection), mendable=True),
            Check("matrix", _found(_matrix, connection, folder), mendable=True),
            Check("lexical index", _found(_lexical, connection, folder), mendable=True),
        ]


def contents(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the rows of a database that SQLite finds sound."""
    looks = (_references, _text_hashes, _vectors)
    return [problem for look in looks for problem in _found(look, connection)]


def _found(look: Callable[..., list[str]], *where: object) -> list[str]:
    """What a check finds; one that cannot be finished has found that."""
    try:
        return look(*where)
    except sqlite3.DatabaseError as error:
        return [f"kb.db: {error}"]


def mend(connection: sqlite3.Connection, folder: Path, checks: list[Check]) -> None:
    """Make what failed anew from `kb.db`. The caller holds the writer lock."""
    failed = {check.name for check in checks if check.problems}
    if "vectors" in failed:
        _drop_bad_vectors(connection)
    with database.snapshot(connection):
        if failed & {"vectors", "matrix"}:
            shutil.rmtree(projections.matrix_folder(folder), ignore_errors=True)
            projections.rebuild_matrix(connection, projections.matrix_folder(folder))
        if "lexical index" in failed:
            projections.rebuild_lexical(connection, projections.lexical_folder(folder))


def _integrity(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"] + _references(connection)


def _references(connection: sqlite3.Connection) -> list[str]:
    problems = [f"row {row[1]} of {row[0]} refers to nothing" for row in connection.execute("PRAGMA foreign_key_check")]
    empty = "SELECT id, title FROM documents d WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id)"
    return problems + [f"document {row[0]} ({row[1]}) has no chunks" for row in connection.execute(empty)]


def _text_hashes(connection: sqlite3.Connection) -> list[str]:
    return [
        f"chunk {chunk_id}: its text is not what its vector was made of"
        for chunk_id, context, text, text_hash in connection.execute("SELECT id, context, text, text_hash FROM chunks")
        if vectors.text_hash(f"{context}\n\n{text}" if context else text) != text_hash
    ]


def _bad_vectors(connection: sqlite3.Connection) -> list[int]:
    dim = int(database.read_config(connection)["embedding_dim"])
    model = database.read_config(connection)["model_key"]
    bad = []
    for row_id, blob in connection.execute("SELECT id, vector FROM vectors WHERE model = ?", (model,)):
        vector = np.frombuffer(blob, dtype="<f4") if len(blob) == dim * 4 else np.zeros(0, np.float32)
        if not abs(float(np.linalg.norm(vector)) - 1) < UNIT_TOLERANCE:  # written so that NaN is bad too
            bad.append(row_id)
    return bad


def _vectors(connection: sqlite3.Connection) -> list[str]:
    return [f"vector {row_id} is not a unit vector of the model's size" for row_id in _bad_vectors(connection)]


def _drop_bad_vectors(connection: sqlite3.Connection) -> None:
    """Their texts wait for `kb reindex`."""
    with database.transaction(connection):
        connection.executemany("DELETE FROM vectors WHERE id = ?", [(row_id,) for row_id in _bad_vectors(connection)])


def _matrix(connection: sqlite3.Connection, folder: Path) -> list[str]:
    try:
        matrix = Matrix.open(projections.matrix_folder(folder))
    except MatrixDamaged as error:
        return [str(error)]
    problems = []
    if projections.matrix_state(connection, folder) is not projections.State.CURRENT:
        problems.append("the matrix is not at the last transaction")
    live = np.flatnonzero(matrix.ids != DEAD)
    rows = dict(zip(matrix.ids[live].tolist(), live.tolist(), strict=True))
    if len(rows) != len(live):
        problems.append(f"{len(live) - len(rows)} chunks have more than one row")
    missing = different = 0
    header = matrix.header
    for ids, expected in vectors.of_chunks(connection, header.model, header.dim, after_seq=projections.WHOLE_HISTORY):
        for chunk_id, vector in zip(ids.tolist(), expected, strict=True):
            row = rows.pop(chunk_id, None)
            missing += row is None
            different += row is not None and not np.array_equal(matrix.vectors[row], vector)
    for number, what in (
        (missing, "chunks have no row"),
        (different, "rows differ from their vector"),
        (_false_codes(matrix), "rows are not what their codes say"),
        (len(rows), "rows belong to no chunk"),
    ):
        if number:
            problems.append(f"{number} {what}")
    return problems + _orphans(projections.matrix_folder(folder), matrix)


def _false_codes(matrix: Matrix) -> int:
    """Rows that a search could pass over, though they are among the nearest."""
    parts = (slice(first, first + ROWS_AT_ONCE) for first in range(0, matrix.header.rows, ROWS_AT_ONCE))
    vectors, codes, bounds = matrix.rows.vectors, matrix.rows.codes, matrix.rows.bounds
    return sum(int(np.count_nonzero(~quantized.holds(vectors[part], codes[part], bounds[part]))) for part in parts)


def _orphans(folder: Path, matrix: Matrix) -> list[str]:
    expected = {"header.json", *columns.file_names(matrix.header.epoch)}
    return [f"{path.name} belongs to no epoch" for path in sorted(folder.iterdir()) if path.name not in expected]


def _lexical(connection: sqlite3.Connection, folder: Path) -> list[str]:
    state = projections.lexical_state(connection, folder)
    if state is projections.State.UNUSABLE:
        return ["the lexical index is missing or damaged"]
    problems = [] if state is projections.State.CURRENT else ["the lexical index is not at the last transaction"]
    problems += _bad_checksums(projections.lexical_folder(folder))
    try:
        indexed = Lexical.open_reader(projections.lexical_folder(folder)).chunk_ids()
    except LexicalDamaged as error:
        return [*problems, str(error)]
    stored = [row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY id")]
    if indexed != stored:
        both = set(indexed) & set(stored)
        problems.append(
            f"{len(stored) - len(both)} chunks are missing from the lexical index,"
            f" {len(indexed) - len(both)} entries belong to no chunk"
        )
    return problems


def _bad_checksums(folder: Path) -> list[str]:
    """The files of segments that are not what tantivy wrote; a search would meet the damage one day, or never."""
    files = (path for path in sorted(folder.glob("[!.]*")) if path.suffix not in {".json", ".lock", ".new"})
    return [f"{path.name} of the lexical index is damaged" for path in files if not _is_whole(path)]


def _is_whole(path: Path) -> bool:
    tail = struct.Struct("<II")
    if path.stat().st_size < tail.size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        length, magic = tail.unpack(content[-tail.size :])
        end = len(content) - tail.size - length
        if magic != FOOTER_MAGIC or end < 0:
            return False
        try:
            footer = msgspec.json.decode(content[end : -tail.size], type=_Footer)
        except msgspec.DecodeError:
            return False
        with memoryview(content) as view, view[:end] as data:
            return zlib.crc32(data) == footer.crc


class _Footer(msgspec.Struct, frozen=True):
    crc: int
