"""Which files of the matrix count: the header, which names their epoch, and the epochs that come and go.

`header.json`, {epoch, rows, dim, model, neighbours, windows, leading, seq, token}, is replaced atomically. Files of other epochs are
orphans and are unlinked by the next writer. A folder of a version that did not have one of the columns yet, or mixed rows otherwise,
is damage like any other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from index import columns, neighbours
from index.atomic import replace_file
from index.errors import ProjectionDamaged
from index.leads import Led
from index.watermark import Watermark

DEAD = 0
"""In the place of an id."""


class MatrixDamaged(ProjectionDamaged):
    """The files cannot be used as they are; `rebuild` makes new ones."""


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    epoch: Annotated[int, msgspec.Meta(ge=1)]
    rows: Annotated[int, msgspec.Meta(ge=0)]
    dim: Annotated[int, msgspec.Meta(ge=1)]
    model: str
    """The key of the model that made the vectors."""
    neighbours: float
    """How much of a chunk's neighbours is in its row."""
    windows: int = 0
    """Words a window; 0: chunks have one row each."""
    leading: Led | None = None
    """What a first look reads; None where rows are few."""
    seq: int
    token: int

    @property
    def watermark(self) -> Watermark:
        return Watermark(self.seq, self.token)


def read_header(folder: Path) -> Header:
    try:
        header = msgspec.json.decode((folder / "header.json").read_bytes(), type=Header)
    except (OSError, msgspec.DecodeError) as error:
        raise MatrixDamaged(f"{folder}: {error}") from error
    if header.neighbours != neighbours.WEIGHT:
        raise MatrixDamaged(f"{folder}: rows with {header.neighbours} of their neighbours, not {neighbours.WEIGHT}")
    return header


def write_header(folder: Path, header: Header) -> None:
    replace_file(folder / "header.json", msgspec.json.encode(header))


def next_epoch(folder: Path) -> int:
    return 1 + max((columns.epoch_of(path) for path in folder.iterdir()), default=0)


def unlink_orphans(folder: Path, header: Header) -> None:
    """Remove what a crash during `rebuild` left behind."""
    for path in folder.iterdir():
        if columns.epoch_of(path) not in {0, header.epoch} or path.suffix == ".new":
            path.unlink()
