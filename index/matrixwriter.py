"""How the matrix changes: rows appended and killed in an epoch, and the next epoch that takes its place. The caller holds the writer lock.

Crash rule: rows are appended and synced before the header says that they exist. What lies past `rows` is a torn tail, cut by
the next writer. A delete writes 0 in place, which may be repeated. `rebuild` writes the next epoch beside the old one and
swaps the header; readers that still map the old files keep them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from index import columns, grouped, leads, neighbours
from index.columns import Batches, Ids, Vectors
from index.epoch import DEAD, Header, next_epoch, unlink_orphans, write_header
from index.matrix import Matrix
from index.watermark import Watermark

ROWS_AT_ONCE = 8192
"""Are copied: 25 MB at 768 dimensions."""


def apply(matrix: Matrix, added: Batches, removed: Ids, watermark: Watermark) -> Matrix:
    """Append rows, kill those of removed chunks, and move the watermark. A row that has changed is appended again, and dies.

    Rows of new chunks cost one pass over the ids of those that are there, and no copy. The caller holds the writer lock.
    """
    epoch, dim = matrix.header.epoch, matrix.header.dim
    columns.truncate(matrix.folder, epoch, matrix.header.rows, dim)
    outdated = [removed, _windows_of(matrix, removed)]
    rows = matrix.header.rows + columns.append(matrix.folder, epoch, dim, _only_new(matrix, added, outdated))
    kill(matrix, np.concatenate(outdated))
    leading = matrix.header.leading or leads.made(matrix.folder, epoch, rows, dim)
    if matrix.header.leading:
        leads.extend(matrix.folder, epoch, matrix.header.leading, matrix.header.rows, rows, dim)
    header = msgspec.structs.replace(
        matrix.header, rows=rows, leading=leading, seq=watermark.seq, token=watermark.token
    )
    write_header(matrix.folder, header)
    return Matrix.open(matrix.folder, copied_ids=False)


def compacted(matrix: Matrix, watermark: Watermark) -> Matrix:
    """The next epoch, of the live rows as they are: a copy, where `rebuild` reads each vector again and makes all else of it.

    The caller holds the writer lock.
    """
    epoch = next_epoch(matrix.folder)
    live = [matrix.live[first : first + ROWS_AT_ONCE] for first in range(0, len(matrix.live), ROWS_AT_ONCE)]
    count = columns.write(matrix.folder, epoch, columns.COLUMNS, ([one[rows] for one in matrix.rows] for rows in live))
    leading = leads.copied(matrix.folder, epoch, matrix.leading, live) if matrix.leading else None
    header = msgspec.structs.replace(
        matrix.header, epoch=epoch, rows=count, leading=leading, seq=watermark.seq, token=watermark.token
    )
    return publish(matrix.folder, header)


def _only_new(matrix: Matrix, batches: Batches, outdated: list[Ids]) -> Iterator[tuple[Ids, Vectors]]:
    """Without the rows that are here already; `outdated` gets the ids of those that are here otherwise."""
    highest = int(matrix.ids.max(initial=0))
    for ids, vectors in batches:
        new = np.ones(len(ids), bool)
        if ids.min(initial=highest + 1) <= highest:  # chunks are numbered upwards: seldom
            present, rows = matrix.by_id
            places = np.minimum(np.searchsorted(present, ids), len(present) - 1)
            known = np.flatnonzero(present[places] == ids) if len(present) else places[:0]
            if len(known):
                here = matrix.vectors[rows[places[known]]]
                same = (here == vectors[known]).all(axis=1)
                outdated.append(ids[known[~same]])
                new[known[same]] = False
        yield ids[new], vectors[new]


def _windows_of(matrix: Matrix, chunk_ids: Ids) -> Ids:
    if not matrix.header.windows:
        return np.empty(0, np.int64)
    windows = matrix.ids[matrix.ids < 0]
    return windows[np.isin(grouped.owners(windows), chunk_ids)]


def kill(matrix: Matrix, row_ids: Ids) -> None:
    """In place; the header is not touched."""
    if not len(row_ids):
        return
    rows = np.flatnonzero(np.isin(matrix.ids, row_ids))
    if not len(rows):
        return
    path = columns.IDS.path(matrix.folder, matrix.header.epoch)
    ids = np.memmap(path, dtype=columns.IDS.dtype, mode="r+", shape=(matrix.header.rows,))
    ids[rows] = DEAD
    ids.flush()


def rebuild(folder: Path, batches: Batches, *, dim: int, model: str, watermark: Watermark, windows: int = 0) -> Matrix:
    """Write the next epoch from `batches` of (ids, vectors), swap the header, drop the old files.

    Works on an empty, missing or damaged folder too. The caller holds the writer lock.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    header = prepare(folder, batches, dim=dim, model=model, watermark=watermark, windows=windows)
    return publish(folder, header)


def prepare(folder: Path, batches: Batches, *, dim: int, model: str, watermark: Watermark, windows: int = 0) -> Header:
    """The first half of `rebuild`: the files of the next epoch, which no header names yet."""
    epoch = next_epoch(folder)
    rows = columns.append(folder, epoch, dim, batches)
    return Header(
        epoch=epoch, rows=rows, dim=dim, model=model, neighbours=neighbours.WEIGHT, windows=windows,
        leading=leads.made(folder, epoch, rows, dim), seq=watermark.seq, token=watermark.token,
    )  # fmt: skip


def publish(folder: Path, header: Header) -> Matrix:
    """The second half: the header, then the old epochs go."""
    write_header(folder, header)
    unlink_orphans(folder, header)
    return Matrix.open(folder)
