"""Compact: give back the room of what was deleted.

The matrix is written as a new epoch of live rows, the index of words anew where that is quick or gives much back; vectors of texts that nothing holds,
and of models that the store was built with before, are forgotten. What an interrupted `kb reindex --model` has made stays: it goes on from there.
"""

from __future__ import annotations

from pathlib import Path

from index import database, matrixwriter, projections, unembedded, vectors
from index.builtwith import built_with
from index.lexical import Lexical
from index.matrix import Matrix
from index.store import writing
from kb import switch
from kb.status import size_of
from kb.wire import CompactAnswer

FEW_CHUNKS = 50_000
"""Of so many both indexes are made anew from `kb.db` in half a minute at most, the index of words for 0.26 ms of one core a chunk, the matrix for
0.04. In a larger store rows are copied."""
MUCH_DEAD = 0.2
"""Share of deleted chunks from which that is done in a larger store too: what it gives back is worth minutes then."""


def is_worth_indexing_anew(live: int, dead: int) -> bool:
    """Whether the index of words is to be made anew, of so many chunks and so many that were deleted from it."""
    return live <= FEW_CHUNKS or dead >= MUCH_DEAD * (live + dead)


def compact(data_dir: Path, *, vacuum: bool, lock_timeout_s: float) -> CompactAnswer:
    """`vacuum`: rewrite `kb.db` too, which takes as much free disk as the file has bytes.

    May be killed at any step: files of a half-written epoch are orphans, and the rest is repeated.
    """
    with writing(data_dir, lock_timeout_s) as writer:
        connection = writer.connection
        bytes_before = size_of(data_dir)
        matrix = Matrix.open(projections.matrix_folder(data_dir))
        begun = switch.begun(connection)
        with writer.transaction():
            models = {built_with(connection).model_key, begun or ""}
            purged = vectors.purge(connection, models)
            unembedded.purge(connection, models)
        with database.snapshot(connection):
            if matrix.live_count <= FEW_CHUNKS:
                compacted = projections.rebuild_matrix(connection, matrix.folder)
            else:  # of the same chunks: no writer has come between, and the transaction above changed none
                compacted = matrixwriter.compacted(matrix, database.head(connection))
            lexical = Lexical.open_reader(projections.lexical_folder(data_dir))
            if is_worth_indexing_anew(lexical.count(), lexical.dead_count()):
                projections.rebuild_lexical(connection, lexical.folder)
        projections.catch_up(connection, data_dir)  # one that was left as it is has not seen the transaction above
        database.prune_log(connection)
        if vacuum:
            connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return CompactAnswer(
            rows_before=matrix.header.rows,
            rows_after=compacted.header.rows,
            vectors_purged=purged,
            reclaimed_bytes=max(0, bytes_before - size_of(data_dir)),
            vacuumed=vacuum,
            warnings=(f"the vectors of {begun}, which kb reindex has begun to make, are kept",) if begun else (),
        )
