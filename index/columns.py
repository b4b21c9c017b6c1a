"""The files of one epoch of the matrix: columns of equally many rows, only ever appended to, mapped to be read.

    vectors-<epoch>.f32   `dim` float32 a row, little endian, unit length
    ids-<epoch>.i64       the chunk id of each row; 0 is a dead row
    codes-<epoch>.i8      `dim` int8 a row, the vector quantized
    bounds-<epoch>.f32    three float32 a row: what the codes are worth (`index.quantized.BOUNDS`)

How many rows there are is said elsewhere (`index.matrix.Header`): what lies past them is a torn tail. Not here: that header, and
what a row means.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from index.atomic import sync
from index.quantized import BOUNDS, Bounds, Codes, quantize

Ids = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]
Batches = Iterable[tuple[Ids, Vectors]]


class Rows(NamedTuple):
    """The columns, or a part of each, in the order of `COLUMNS`."""

    vectors: Vectors
    ids: Ids
    codes: Codes
    bounds: Bounds


class Column(NamedTuple):
    name: str
    suffix: str
    dtype: np.dtype[Any]
    wide: bool
    """`dim` items a row, not one."""

    def path(self, folder: Path, epoch: int) -> Path:
        return folder / f"{self.name}-{epoch}{self.suffix}"

    def shape(self, rows: int, dim: int) -> tuple[int, ...]:
        return (rows, dim) if self.wide else (rows,)

    def size_bytes(self, rows: int, dim: int) -> int:
        return rows * (dim if self.wide else 1) * self.dtype.itemsize


VECTORS = Column("vectors", ".f32", np.dtype("<f4"), wide=True)
IDS = Column("ids", ".i64", np.dtype("<i8"), wide=False)
CODES = Column("codes", ".i8", np.dtype("i1"), wide=True)
BOUNDS_COLUMN = Column("bounds", ".f32", BOUNDS, wide=False)
COLUMNS = (VECTORS, IDS, CODES, BOUNDS_COLUMN)


def file_names(epoch: int) -> set[str]:
    return {column.path(Path(), epoch).name for column in COLUMNS}


def epoch_of(path: Path) -> int:
    """The epoch in a column's file name; 0 for any other file."""
    name, _, number = path.stem.rpartition("-")
    known = any((column.name, column.suffix) == (name, path.suffix) for column in COLUMNS)
    return int(number) if known and number.isdigit() else 0


def map_rows(folder: Path, epoch: int, rows: int, dim: int) -> Rows:
    """Map the columns to be read. Raises OSError or ValueError where a file is missing or short."""
    return Rows(*(_map(column, folder, epoch, column.shape(rows, dim)) for column in COLUMNS))


def _map(column: Column, folder: Path, epoch: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    path = column.path(folder, epoch)
    if 0 in shape:  # an empty file cannot be mapped
        return np.empty(shape, column.dtype)
    if path.stat().st_size < column.size_bytes(shape[0], shape[-1]):
        raise ValueError(f"{path.name} is shorter than the header says")
    # asarray: the base class, without memmap's cost on each operation
    return np.asarray(np.memmap(path, dtype=column.dtype, mode="r", shape=shape))


def append(folder: Path, epoch: int, dim: int, batches: Batches) -> int:
    """Write and sync `batches` at the end of the columns; returns how many rows that were."""
    count = 0
    with ExitStack() as opened:
        files = [opened.enter_context(column.path(folder, epoch).open("ab")) for column in COLUMNS]
        for ids, vectors in batches:
            if vectors.shape != (len(ids), dim):
                raise ValueError(f"expected vectors of shape ({len(ids)}, {dim}), got {vectors.shape}")
            for file, column, part in zip(files, COLUMNS, Rows(vectors, ids, *quantize(vectors)), strict=True):
                file.write(np.ascontiguousarray(part, dtype=column.dtype).data)
            count += len(ids)
        for file in files:
            file.flush()
            os.fsync(file.fileno())
    sync(folder)
    return count


def truncate(folder: Path, epoch: int, rows: int, dim: int) -> None:
    """Cut what a killed writer left past `rows`."""
    for column in COLUMNS:
        path = column.path(folder, epoch)
        if path.exists() and path.stat().st_size > column.size_bytes(rows, dim):
            os.truncate(path, column.size_bytes(rows, dim))
