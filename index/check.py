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
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np

from index import checksums, columns, cutting, database, originals, projections, schema, vectors, windows
from index.epoch import DEAD, MatrixDamaged
from index.lexical import Lexical, LexicalDamaged
from index.matrix import Matrix
from index.quantized import ROWS_AT_ONCE
from index.segments import segment_files

UNIT_TOLERANCE = 1e-3
"""How far a row's length may be from 1: float32 rounding is below 1e-6, a bit flip is far above."""


UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, msgspec.MsgspecError)
"""What code meets that believes what it reads in `kb.db`; or what a fault of its own looks like."""
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
            Check("checksums", _found(_checksums, connection), mendable=False),
            Check("originals", _found(_originals, connection), mendable=False),
            Check("vectors", _found(_vectors, connection), mendable=True),
            Check("windows", _found(_windows, connection), mendable=True),
            Check("matrix", _found(_matrix, connection, folder), mendable=True),
            Check("lexical index", _found(_lexical, connection, folder), mendable=True),
        ]


def is_unforeseen(error: Exception) -> bool:
    """Of sqlite3's errors that is one over a column or table that is not there, or the like."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR
    return isinstance(error, UNFORESEEN)


def damage(connection: sqlite3.Connection) -> str:
    """The first thing that is wrong with `kb.db` itself; nothing where it is sound."""
    looks = (_integrity, _checksums)
    return next((problem for look in looks for problem in _found(look, connection)), "")


def contents(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the rows of a database that SQLite finds sound."""
    looks = (_references, _text_hashes, _checksums, _vectors)
    return [problem for look in looks for problem in _found(look, connection)]


def _found(look: Callable[..., list[str]], *where: object) -> list[str]:
    """What a check finds; one that cannot be finished has found that."""
    try:
        return look(*where)
    except UNFORESEEN as error:
        return [f"cannot be looked at: {type(error).__name__}"]
    except sqlite3.DatabaseError as error:
        return ["kb.db: a text is no UTF-8 any more" if database.is_no_text(error) else f"kb.db: {error}"]


def mend(connection: sqlite3.Connection, folder: Path, checks: list[Check]) -> None:
    """Make what failed anew from `kb.db`. The caller holds the writer lock."""
    failed = {check.name for check in checks if check.problems}
    if "vectors" in failed:
        _drop_bad_vectors(connection)
    if "windows" in failed:
        _cut_anew(connection)
    with database.snapshot(connection):
        if failed & {"vectors", "windows", "matrix"}:
            shutil.rmtree(projections.matrix_folder(folder), ignore_errors=True)
            projections.rebuild_matrix(connection, projections.matrix_folder(folder))
        if "lexical index" in failed:
            projections.rebuild_lexical(connection, projections.lexical_folder(folder))


def _integrity(connection: sqlite3.Connection) -> list[str]:
    found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    return found + _references(connection) + _definitions(connection)


def _references(connection: sqlite3.Connection) -> list[str]:
    problems = [f"row {row[1]} of {row[0]} refers to nothing" for row in connection.execute("PRAGMA foreign_key_check")]
    empty = "SELECT id, title FROM documents d WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id)"
    return problems + [f"document {row[0]} ({row[1]}) has no chunks" for row in connection.execute(empty)]


def _definitions(connection: sqlite3.Connection) -> list[str]:
    """Tables, indexes and triggers that are not what the migrations make."""
    query = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        schema.migrate(made)
        expected = set(made.execute(query))
    return [
        f"{kind} {name} is not as this program makes it" for kind, name, _ in expected ^ set(connection.execute(query))
    ]


def _checksums(connection: sqlite3.Connection) -> list[str]:
    if not _has_checksums(connection):
        return []
    return [f"{_called(connection, *key)} is not as it was written" for key in checksums.wrong(connection)]


def _originals(connection: sqlite3.Connection) -> list[str]:
    """Those that are not what their hash says: each is unpacked, a piece at a time."""
    return [
        f"the original {name} is damaged: kb remove {document_id} and add it again"
        for content_hash, name, document_id in connection.execute(
            "SELECT o.content_hash, o.name, d.id FROM originals o JOIN documents d ON d.content_hash = o.content_hash"
        )
        if not originals.is_whole(connection, content_hash)
    ]


def _has_checksums(connection: sqlite3.Connection) -> bool:
    """Not so in a backup of an early version that is looked at before it is restored."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'checksums'").fetchone() is not None


def _called(connection: sqlite3.Connection, kind: str, key: object) -> str:
    """How it is named to somebody who is to put it right."""
    if kind != checksums.DOCUMENT:
        return f"{kind} {key}"
    row = connection.execute(
        "SELECT CAST(coalesce(source_path, title) AS BLOB) FROM documents WHERE id = ?", (key,)
    ).fetchone()
    return f"document {key} ({row[0].decode(errors='replace') if row else 'gone'}; kb remove {key} and add it again)"


def _text_hashes(connection: sqlite3.Connection) -> list[str]:
    return [
        f"chunk {chunk_id}: its text is not what its vector was made of"
        for chunk_id, context, text, text_hash in connection.execute("SELECT id, context, text, text_hash FROM chunks")
        if vectors.text_hash(f"{context}\n\n{text}" if context else text) != text_hash
    ]


def _bad_vectors(connection: sqlite3.Connection) -> dict[int, str]:
    """What is wrong with each of them."""
    config = database.read_config(connection)
    model, size = config["model_key"], int(config["embedding_dim"]) * np.dtype(np.float32).itemsize
    crc = "crc" if _has_checksums(connection) else "NULL"
    bad = {}
    for row_id, of, blob, said in connection.execute(f"SELECT id, model, vector, {crc} FROM vectors"):
        vector = np.frombuffer(blob, dtype="<f4") if len(blob) == size else np.zeros(0, np.float32)
        if of == model and not abs(float(np.linalg.norm(vector)) - 1) < UNIT_TOLERANCE:  # so that NaN is bad too
            bad[row_id] = "is not a unit vector of the model's size"
        elif said not in {None, checksums.of_vector(blob)}:
            bad[row_id] = "is not as it was written"
    return bad


def _vectors(connection: sqlite3.Connection) -> list[str]:
    return [f"vector {row_id} {what}" for row_id, what in _bad_vectors(connection).items()]


def _windows(connection: sqlite3.Connection) -> list[str]:
    return [f"chunk {chunk_id}: its windows are not those of its text" for chunk_id in cutting.wrong(connection)]


def _cut_anew(connection: sqlite3.Connection) -> None:
    """Those whose vectors are missing wait for `kb reindex`."""
    with database.transaction(connection):
        served = windows.served(database.read_config(connection))
        cutting.cut_all(connection, cutting.words_of(connection), served=served)


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
    owner, owners = ("chunk or window", "chunks or windows") if matrix.header.windows else ("chunk", "chunks")
    if projections.matrix_state(connection, folder) is not projections.State.CURRENT:
        problems.append("the matrix is not at the last transaction")
    live = np.flatnonzero(matrix.ids != DEAD)
    rows = dict(zip(matrix.ids[live].tolist(), live.tolist(), strict=True))
    if len(rows) != len(live):
        problems.append(f"{len(live) - len(rows)} {owners} have more than one row")
    missing = different = 0
    header, history = matrix.header, projections.WHOLE_HISTORY
    for ids, expected in vectors.of_chunks(
        connection, header.model, header.dim, after_seq=history, with_windows=header.windows > 0
    ):
        for row_id, vector in zip(ids.tolist(), expected, strict=True):
            row = rows.pop(row_id, None)
            missing += row is None
            different += row is not None and not np.array_equal(matrix.vectors[row], vector)
    for number, what in (
        (missing, f"{owners} have no row"),
        (different, "rows differ from their vector"),
        (_false_codes(matrix), "rows are not what their codes say"),
        (len(rows), f"rows belong to no {owner}"),
    ):
        if number:
            problems.append(f"{number} {what}")
    return problems + _orphans(projections.matrix_folder(folder), matrix)


def _false_codes(matrix: Matrix) -> int:
    """Rows that a search could pass over, though they are among the nearest."""
    parts = (slice(first, first + ROWS_AT_ONCE) for first in range(0, matrix.header.rows, ROWS_AT_ONCE))
    return sum(int(np.count_nonzero(~matrix.is_coded_truly(part))) for part in parts)


def _orphans(folder: Path, matrix: Matrix) -> list[str]:
    expected = {"header.json", *columns.file_names(matrix.header.epoch, leading=matrix.leading is not None)}
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
    return [
        f"{path.name} of the lexical index is damaged" for path in sorted(segment_files(folder)) if not _is_whole(path)
    ]


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
