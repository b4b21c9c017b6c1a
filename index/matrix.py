"""The vector projection: unit rows in a memory-mapped file, scored exactly.

On disk, in `matrix/`:

    vectors-<epoch>.f32   rows of `dim` float32, little endian, unit length
    ids-<epoch>.i64       the chunk id of each row; 0 is a dead row
    header.json           {epoch, rows, dim, model, seq, token}, replaced atomically

Crash rule: rows and ids are appended and synced before the header says that they exist. What lies past `rows` is a torn tail,
cut by the next writer. A delete writes 0 in place, which may be repeated. `rebuild` writes the next epoch beside the old one
and swaps the header; readers that still map the old files keep them. Files of other epochs are orphans and are unlinked
by the next writer.

Not here: filters, fusion, what a chunk says. Source of the design: tantivy's immutable segments and single meta file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from index.atomic import replace_file, sync
from index.watermark import Watermark

Ids = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]
Batches = Iterable[tuple[Ids, Vectors]]

DEAD = 0
FLOAT_BYTES = 4
ID_BYTES = 8


class MatrixDamaged(Exception):
    """The files cannot be used as they are; `rebuild` makes new ones."""


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    epoch: Annotated[int, msgspec.Meta(ge=1)]
    rows: Annotated[int, msgspec.Meta(ge=0)]
    dim: Annotated[int, msgspec.Meta(ge=1)]
    model: str
    """The key of the model that made the vectors."""
    seq: int
    token: int

    @property
    def watermark(self) -> Watermark:
        return Watermark(self.seq, self.token)


class Nearest(msgspec.Struct, frozen=True):
    chunk_ids: list[int]
    """Best first."""
    scores: list[float]
    """Cosine with the query, in [-1, 1]."""
    total: int
    """Live rows that passed the filter."""


class Matrix:
    """The rows of one epoch, mapped. A writer's methods return a new `Matrix` where the mapping changes."""

    def __init__(self, folder: Path, header: Header, vectors: Vectors, ids: Ids) -> None:
        self.folder = folder
        self.header = header
        self.vectors = vectors
        """float32 (rows, dim), unit rows, read-only."""
        self.ids = ids
        """int64 (rows,), 0 where dead."""

    @classmethod
    def open(cls, folder: Path) -> Matrix:
        """Map the current epoch. Raises MatrixDamaged where files are missing, short or do not make sense."""
        header = read_header(folder)
        try:
            return cls(folder, header, *_map(folder, header))
        except (OSError, ValueError) as error:
            newer = read_header(folder)
            if newer.epoch != header.epoch:  # a compaction swapped the files between the two reads
                return cls.open(folder)
            raise MatrixDamaged(f"{folder}: {error}") from error

    @property
    def live_count(self) -> int:
        return int(np.count_nonzero(self.ids))

    @property
    def dead_count(self) -> int:
        return self.header.rows - self.live_count

    def search(self, query: Vectors, limit: int, allowed: Ids | None = None) -> Nearest:
        """The `limit` live rows with the highest cosine, ties by chunk id.

        `query` is float32 (dim,), unit length; `allowed` the ascending chunk ids that may be found, None for all.
        """
        if query.shape != (self.header.dim,):
            raise ValueError(f"expected a query of shape ({self.header.dim},), got {query.shape}")
        admitted = self.ids != DEAD
        if allowed is not None:
            admitted &= np.isin(self.ids, allowed)
        rows = np.flatnonzero(admitted)
        scores = (self.vectors @ query)[rows]
        if limit < len(rows):
            # Everything at least as good as the limit-th, so that ties are settled by id and not by chance.
            threshold = np.partition(scores, len(rows) - limit)[len(rows) - limit]
            kept = np.flatnonzero(scores >= threshold)
            rows, scores = rows[kept], scores[kept]
        ids = self.ids[rows]
        order = np.lexsort((ids, -scores))[:limit]
        return Nearest(ids[order].tolist(), scores[order].tolist(), int(np.count_nonzero(admitted)))

    def apply(self, added: Batches, removed: Ids, watermark: Watermark) -> Matrix:
        """Append rows, kill rows, and move the watermark. Chunk ids that already have a row are left as they are.

        The caller holds the writer lock.
        """
        _truncate(self.folder, self.header)
        self._kill(removed)
        rows = self.header.rows + _append(self.folder, self.header, self._only_new(added))
        header = msgspec.structs.replace(self.header, rows=rows, seq=watermark.seq, token=watermark.token)
        _write_header(self.folder, header)
        return Matrix.open(self.folder)

    def _only_new(self, batches: Batches) -> Iterator[tuple[Ids, Vectors]]:
        present = np.sort(self.ids)
        for ids, vectors in batches:
            new = ~np.isin(ids, present)
            yield ids[new], vectors[new]

    def _kill(self, chunk_ids: Ids) -> None:
        rows = np.flatnonzero(np.isin(self.ids, chunk_ids))
        if not len(rows):
            return
        ids = np.memmap(_ids_path(self.folder, self.header.epoch), dtype="<i8", mode="r+", shape=(self.header.rows,))
        ids[rows] = DEAD
        ids.flush()


def rebuild(folder: Path, batches: Batches, *, dim: int, model: str, watermark: Watermark) -> Matrix:
    """Write the next epoch from `batches` of (ids, vectors), swap the header, drop the old files.

    Works on an empty, missing or damaged folder too. The caller holds the writer lock.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    header = prepare(folder, batches, dim=dim, model=model, watermark=watermark)
    return publish(folder, header)


def prepare(folder: Path, batches: Batches, *, dim: int, model: str, watermark: Watermark) -> Header:
    """The first half of `rebuild`: the files of the next epoch, which no header names yet."""
    epoch = 1 + max((_epoch_of(path) for path in folder.iterdir()), default=0)
    header = Header(epoch=epoch, rows=0, dim=dim, model=model, seq=watermark.seq, token=watermark.token)
    return msgspec.structs.replace(header, rows=_append(folder, header, batches))


def publish(folder: Path, header: Header) -> Matrix:
    """The second half: the header, then the old epochs go."""
    _write_header(folder, header)
    unlink_orphans(folder, header)
    return Matrix.open(folder)


def unlink_orphans(folder: Path, header: Header) -> None:
    """Remove what a crash during `rebuild` left behind."""
    for path in folder.iterdir():
        if _epoch_of(path) not in {0, header.epoch} or path.suffix == ".new":
            path.unlink()


def read_header(folder: Path) -> Header:
    try:
        return msgspec.json.decode((folder / "header.json").read_bytes(), type=Header)
    except (OSError, msgspec.DecodeError) as error:
        raise MatrixDamaged(f"{folder}: {error}") from error


def _write_header(folder: Path, header: Header) -> None:
    replace_file(folder / "header.json", msgspec.json.encode(header))


def _map(folder: Path, header: Header) -> tuple[Vectors, Ids]:
    if header.rows == 0:  # an empty file cannot be mapped
        return np.empty((0, header.dim), np.float32), np.empty(0, np.int64)
    for path, size_bytes in _extents(folder, header):
        if path.stat().st_size < size_bytes:
            raise ValueError(f"{path.name} is shorter than the header says")
    shape = (header.rows, header.dim)
    # asarray: the base class, without memmap's cost on each operation
    vectors = np.asarray(np.memmap(_vectors_path(folder, header.epoch), dtype="<f4", mode="r", shape=shape))
    ids = np.asarray(np.memmap(_ids_path(folder, header.epoch), dtype="<i8", mode="r", shape=(header.rows,)))
    return vectors, ids


def _append(folder: Path, header: Header, batches: Batches) -> int:
    """Write and sync `batches` at the end of the files; returns how many rows that were."""
    count = 0
    vectors_path, ids_path = _vectors_path(folder, header.epoch), _ids_path(folder, header.epoch)
    with vectors_path.open("ab") as vectors_file, ids_path.open("ab") as ids_file:
        for ids, vectors in batches:
            if vectors.shape != (len(ids), header.dim):
                raise ValueError(f"expected vectors of shape ({len(ids)}, {header.dim}), got {vectors.shape}")
            vectors_file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
            ids_file.write(np.ascontiguousarray(ids, dtype="<i8").data)
            count += len(ids)
        for file in (vectors_file, ids_file):
            file.flush()
            os.fsync(file.fileno())
    sync(folder)
    return count


def _truncate(folder: Path, header: Header) -> None:
    for path, size_bytes in _extents(folder, header):
        if path.exists() and path.stat().st_size > size_bytes:
            os.truncate(path, size_bytes)


def _extents(folder: Path, header: Header) -> tuple[tuple[Path, int], tuple[Path, int]]:
    """The two files, and how many of their bytes the header speaks of."""
    return (
        (_vectors_path(folder, header.epoch), header.rows * header.dim * FLOAT_BYTES),
        (_ids_path(folder, header.epoch), header.rows * ID_BYTES),
    )


def _vectors_path(folder: Path, epoch: int) -> Path:
    return folder / f"vectors-{epoch}.f32"


def _ids_path(folder: Path, epoch: int) -> Path:
    return folder / f"ids-{epoch}.i64"


def _epoch_of(path: Path) -> int:
    """The epoch in a data file's name; 0 for any other file."""
    number = path.stem.rpartition("-")[2]
    return int(number) if path.suffix in {".f32", ".i64"} and number.isdigit() else 0
