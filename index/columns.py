"""The files of one epoch of the matrix: columns of equally many rows, only ever appended to, mapped to be read.

    vectors-<epoch>.f32   `dim` float32 a row, little endian, unit length
    ids-<epoch>.i64       the chunk id of each row; 0 is a dead row, below 0 is one of a window
    codes-<epoch>.i8      `dim` int8 a row, the vector quantized
    bounds-<epoch>.f32    three float32 a row: what the codes are worth (`index.quantized.BOUNDS`)

and, of many rows, what a first look at these reads (`index.leads`):

    axes-<epoch>.f32      not a row each: m axes of `dim` float32
    leading-<epoch>.i8    m int8 a row
    within-<epoch>.f32    three float32 a row, as in bounds
    rests-<epoch>.f32     a float32 a row

How many rows there are is said elsewhere (`index.epoch.Header`): what lies past them is a torn tail. Not here: that header, and
what a row means.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from index import hugepages
from index.atomic import sync
from index.hugepages import HUGE_PAGE
from index.quantized import BOUNDS, Bounds, Codes, quantize

Ids = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]
Batches = Iterable[tuple[Ids, Vectors]]

APART = 16
"""Bytes of a table for each id."""


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

AXES = Column("axes", ".f32", np.dtype("<f4"), wide=True)
LEADING = Column("leading", ".i8", np.dtype("i1"), wide=True)
WITHIN = Column("within", ".f32", BOUNDS, wide=False)
RESTS = Column("rests", ".f32", np.dtype("<f4"), wide=False)
LEADING_COLUMNS = (LEADING, WITHIN, RESTS)


def file_names(epoch: int, *, leading: bool) -> set[str]:
    return {column.path(Path(), epoch).name for column in (*COLUMNS, *((AXES, *LEADING_COLUMNS) if leading else ()))}


def epoch_of(path: Path) -> int:
    """The epoch in a column's file name; 0 for any other file."""
    name, _, number = path.stem.rpartition("-")
    all_columns = (*COLUMNS, AXES, *LEADING_COLUMNS)
    known = any((column.name, column.suffix) == (name, path.suffix) for column in all_columns)
    return int(number) if known and number.isdigit() else 0


def map_rows(folder: Path, epoch: int, rows: int, dim: int) -> Rows:
    """Map the columns to be read. Raises OSError or ValueError where a file is missing or short."""
    return Rows(*(map_column(column, folder, epoch, column.shape(rows, dim)) for column in COLUMNS))


def map_column(column: Column, folder: Path, epoch: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    path = column.path(folder, epoch)
    if 0 in shape:  # an empty file cannot be mapped
        return np.empty(shape, column.dtype)
    if path.stat().st_size < column.size_bytes(shape[0], shape[-1]):
        raise ValueError(f"{path.name} is shorter than the header says")
    mapped = hugepages.mapped(path, column.size_bytes(shape[0], shape[-1]))
    return np.frombuffer(mapped, column.dtype).reshape(shape)


def append(folder: Path, epoch: int, dim: int, batches: Batches) -> int:
    """Write and sync `batches` at the end of the columns; returns how many rows that were."""

    def parts() -> Iterator[Rows]:
        for ids, vectors in batches:
            if vectors.shape != (len(ids), dim):
                raise ValueError(f"expected vectors of shape ({len(ids)}, {dim}), got {vectors.shape}")
            yield Rows(vectors, ids, *quantize(vectors))

    return write(folder, epoch, COLUMNS, parts())


def write(folder: Path, epoch: int, columns: Sequence[Column], parts: Iterable[Sequence[npt.NDArray[Any]]]) -> int:
    """Write and sync `parts`, of each column one, at the end of `columns`; returns how many rows that were."""
    count = 0
    with ExitStack() as opened:
        files = [opened.enter_context(column.path(folder, epoch).open("ab", HUGE_PAGE)) for column in columns]
        for part in parts:
            for file, column, array in zip(files, columns, part, strict=True):
                content = np.ascontiguousarray(array, dtype=column.dtype)
                hugepages.append(file, content.reshape(-1).view(np.uint8).data)
            count += len(part[0])
        for file in files:
            file.flush()
            os.fsync(file.fileno())
    sync(folder)
    return count


def is_among(ids: Ids, wanted: Ids) -> npt.NDArray[np.bool_]:
    """Of each of `ids`, whether it is one of `wanted`; none is below 0.

    By a table, in a tenth of the time of np.isin, which is asked where ids are so far apart that the table would be large.
    """
    highest = int(max(ids.max(initial=0), wanted.max(initial=0)))
    if highest > APART * (len(ids) + len(wanted)) + APART:
        return np.isin(ids, wanted)
    table = np.zeros(highest + 1, np.bool_)
    table[wanted] = True
    return table[ids]


def truncate(folder: Path, epoch: int, rows: int, dim: int, columns: Sequence[Column] = COLUMNS) -> None:
    """Cut what a killed writer left past `rows`."""
    for column in columns:
        path = column.path(folder, epoch)
        if path.exists() and path.stat().st_size > column.size_bytes(rows, dim):
            os.truncate(path, column.size_bytes(rows, dim))
