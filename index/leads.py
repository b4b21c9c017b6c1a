"""The files of the leading dimensions (`index.leading`): made from the rows alone, and only where these are many.

They hold what `index.columns` lists, as many rows as the vectors. Crash rule: as there; what lies past the header's rows is cut before
anything is appended, and whatever is missing or makes no sense is damage to the matrix.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from index import columns
from index.columns import AXES, LEADING_COLUMNS
from index.leading import Axes, Parts, principal_axes, quantize_leading
from index.quantized import Rows

LEAST_ROWS = 60_000
"""Below, the second look takes what the first one saves."""
ROWS_AT_ONCE = 8192


class Led(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the matrix's header says of these files."""

    dims: Annotated[int, msgspec.Meta(ge=1)]
    """How many dimensions lead."""
    crc: int
    """CRC-32 of the axes: to prove that they are a basis takes too long for every opening."""


def made(folder: Path, epoch: int, rows: int, dim: int) -> Led | None:
    """Write the files of an epoch that has none yet, where they are worth it."""
    if rows < LEAST_ROWS:
        return None
    axes = principal_axes(columns.map_column(columns.VECTORS, folder, epoch, (rows, dim)))
    for column in (AXES, *LEADING_COLUMNS):
        column.path(folder, epoch).unlink(missing_ok=True)  # of a writer that was killed before its header
    columns.write(folder, epoch, (AXES,), [(axes,)])
    _append(folder, epoch, axes, 0, rows)
    return Led(len(axes), zlib.crc32(axes.data))


def extend(folder: Path, epoch: int, led: Led, known: int, rows: int, dim: int) -> None:
    """Append the rows from `known` on."""
    columns.truncate(folder, epoch, known, led.dims, LEADING_COLUMNS)
    _append(folder, epoch, columns.map_column(AXES, folder, epoch, (led.dims, dim)), known, rows)


def copied(folder: Path, epoch: int, known: tuple[Axes, Parts], rows: Sequence[Rows]) -> Led | None:
    """Write the files of the next epoch, of these rows as they are, unless they have become few."""
    axes, parts = known
    if sum(map(len, rows)) < LEAST_ROWS:
        return None
    columns.write(folder, epoch, (AXES,), [(axes,)])
    columns.write(folder, epoch, LEADING_COLUMNS, ([one[some] for one in parts] for some in rows))
    return Led(len(axes), zlib.crc32(np.ascontiguousarray(axes).data))


def open_parts(folder: Path, epoch: int, led: Led, rows: int, dim: int) -> tuple[Axes, Parts]:
    """Map the files. Raises OSError or ValueError where one is missing or short, or the axes are not as they were written."""
    axes = columns.map_column(AXES, folder, epoch, (led.dims, dim))
    if zlib.crc32(np.ascontiguousarray(axes).data) != led.crc:
        raise ValueError(f"{AXES.path(folder, epoch).name} is not as it was written")
    return axes, Parts(*(columns.map_column(one, folder, epoch, one.shape(rows, led.dims)) for one in LEADING_COLUMNS))


def _append(folder: Path, epoch: int, axes: Axes, first: int, end: int) -> None:
    vectors = columns.map_column(columns.VECTORS, folder, epoch, (end, axes.shape[1]))

    def parts() -> Iterator[Parts]:
        for start in range(first, end, ROWS_AT_ONCE):
            yield quantize_leading(axes, vectors[start : min(start + ROWS_AT_ONCE, end)])

    columns.write(folder, epoch, LEADING_COLUMNS, parts())
