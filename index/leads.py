"""The files of the leading dimensions (`index.leading`): made from the rows alone, and only where these are many.

They hold what `index.columns` lists, as many rows as the vectors. Crash rule: as there; what lies past the header's rows is cut before
anything is appended, and whatever is missing or makes no sense is damage to the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from index import columns
from index.columns import AXES, LEADING_COLUMNS
from index.leading import Axes, Parts, are_orthonormal, principal_axes, quantize_leading

LEAST_ROWS = 60_000
"""Below, the second look takes what the first one saves."""
ROWS_AT_ONCE = 8192


def made(folder: Path, epoch: int, rows: int, dim: int) -> int:
    """Write the files of an epoch that has none yet, if they are worth it; returns how many dimensions lead, 0 if none."""
    if rows < LEAST_ROWS:
        return 0
    axes = principal_axes(columns.map_column(columns.VECTORS, folder, epoch, (rows, dim)))
    for column in (AXES, *LEADING_COLUMNS):
        column.path(folder, epoch).unlink(missing_ok=True)  # of a writer that was killed before its header
    columns.write(folder, epoch, (AXES,), [(axes,)])
    _append(folder, epoch, axes, 0, rows)
    return len(axes)


def extend(folder: Path, epoch: int, leading: int, known: int, rows: int, dim: int) -> None:
    """Append the rows from `known` on."""
    columns.truncate(folder, epoch, known, leading, LEADING_COLUMNS)
    _append(folder, epoch, columns.map_column(AXES, folder, epoch, (leading, dim)), known, rows)


def open_leading(folder: Path, epoch: int, leading: int, rows: int, dim: int) -> tuple[Axes, Parts]:
    """Map the files. Raises OSError or ValueError where one is missing, short, or no basis."""
    axes = columns.map_column(AXES, folder, epoch, (leading, dim))
    if not are_orthonormal(axes):
        raise ValueError(f"{AXES.path(folder, epoch).name} is no basis")
    return axes, Parts(*(columns.map_column(one, folder, epoch, one.shape(rows, leading)) for one in LEADING_COLUMNS))


def _append(folder: Path, epoch: int, axes: Axes, first: int, end: int) -> None:
    vectors = columns.map_column(columns.VECTORS, folder, epoch, (end, axes.shape[1]))

    def parts() -> Iterator[Parts]:
        for start in range(first, end, ROWS_AT_ONCE):
            yield quantize_leading(axes, vectors[start : min(start + ROWS_AT_ONCE, end)])

    columns.write(folder, epoch, LEADING_COLUMNS, parts())
