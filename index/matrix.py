"""The vector projection: unit rows in memory-mapped files, scored exactly.

On disk, in `matrix/`: the columns of one epoch (`index.columns`), and `header.json`, {epoch, rows, dim, model, neighbours, windows,
leading, seq, token}, replaced atomically. What a row is made of, `index.neighbours` says. A row's id is that of its chunk; in a store with windows
(`index.windows`) there are rows with ids below zero too.

Crash rule: rows are appended and synced before the header says that they exist. What lies past `rows` is a torn tail, cut by
the next writer. A delete writes 0 in place, which may be repeated. `rebuild` writes the next epoch beside the old one and
swaps the header; readers that still map the old files keep them. Files of other epochs are orphans and are unlinked by the
next writer. A folder of a version that did not have one of the columns yet, or mixed rows otherwise, is damage like any other.

Not here: filters, fusion, what a chunk says. Source of the design: tantivy's immutable segments and single meta file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from index import columns, grouped, leads, neighbours, quantized
from index.atomic import replace_file
from index.columns import Batches, Ids, Vectors
from index.errors import ProjectionDamaged
from index.grouped import Groups, Scorer
from index.leading import Axes, Leading, Parts, holds
from index.leads import Led
from index.watermark import Watermark

Further = Callable[[], Collection[int]]

DEAD = 0
PLAIN_ROWS = 1000
"""So many are scored as they are: to sort them out by their codes first takes as long (0.27 ms at 384 dimensions)."""
ROWS_AT_ONCE = 8192
"""Are copied: 25 MB at 768 dimensions."""
FEW = 8
"""A filter that admits less than one row in so many is answered from all of their codes at once."""


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


class Nearest(msgspec.Struct, frozen=True):
    chunk_ids: list[int]
    """Best first."""
    scores: list[float]
    """Cosine with the query, in [-1, 1]."""
    further: dict[int, float]
    """Of those that were asked for as well and are not among the nearest."""
    total: int
    """Chunks that passed the filter."""


class Matrix:
    """The rows of one epoch, as they were when it was opened: what a writer appends or kills later is not seen."""

    def __init__(self, folder: Path, header: Header, rows: columns.Rows, leading: tuple[Axes, Parts] | None) -> None:
        self.folder = folder
        self.header = header
        self.rows = rows
        """Mapped and read-only; `ids`, which a writer changes in place, is a copy."""
        self.leading = leading
        """The files of `index.leads`, mapped."""

    @classmethod
    def open(cls, folder: Path) -> Matrix:
        """Map the current epoch. Raises MatrixDamaged where files are missing, short or do not make sense."""
        header = read_header(folder)
        try:
            rows = columns.map_rows(folder, header.epoch, header.rows, header.dim)
            return cls(folder, header, rows._replace(ids=rows.ids.copy()), _leading(folder, header))
        except (OSError, ValueError) as error:
            newer = read_header(folder)
            if newer.epoch != header.epoch:  # a compaction swapped the files between the two reads
                return cls.open(folder)
            raise MatrixDamaged(f"{folder}: {error}") from error

    @property
    def vectors(self) -> Vectors:
        """float32 (rows, dim), unit rows."""
        return self.rows.vectors

    @property
    def ids(self) -> Ids:
        """int64 (rows,), 0 where dead, below 0 of a window."""
        return self.rows.ids

    @property
    def chunk_ids(self) -> Ids:
        """Of the chunks that have a row, in no order."""
        return self.ids[self.ids > 0]

    @property
    def live_count(self) -> int:
        return int(np.count_nonzero(self.ids))

    @property
    def dead_count(self) -> int:
        return self.header.rows - self.live_count

    def search(self, query: Vectors, limit: int, allowed: Ids | None = None, further: Further = tuple) -> Nearest:
        """The `limit` live chunks with the highest cosine, ties by id; and what `further()` chunks have, wherever they stand.

        That is asked for when the nearest are known: another thread may look for it meanwhile.

        With windows it is the mean of the chunk's own and its best window's (`index.grouped`). `query` is float32 (dim,), unit length; `allowed` the ascending chunk ids that may be found, None for all.
        """
        if query.shape != (self.header.dim,):
            raise ValueError(f"expected a query of shape ({self.header.dim},), got {query.shape}")
        if not np.isfinite(query).all():
            raise ValueError("expected a query of finite numbers")
        nearest = self._nearest_groups if self.header.windows else self._nearest_rows
        wanted: set[int] = set()

        def others() -> Ids:
            wanted.update(further())
            return np.array(sorted(wanted), np.int64)

        ids, scores, total = nearest(query, limit, allowed, others)
        order = np.lexsort((ids, -scores))
        chunk_ids, cosines = ids[order].tolist(), scores[order].tolist()
        below = zip(chunk_ids[limit:], cosines[limit:], strict=True)
        return Nearest(
            chunk_ids[:limit],
            cosines[:limit],
            {chunk: cosine for chunk, cosine in below if chunk in wanted},
            total,
        )

    def likeness(self, chunk_ids: Sequence[int]) -> npt.NDArray[np.float64]:
        """The cosines of these chunks with each other, in [0, 1], float64 (n, n); 0 where one has no row.

        The rounding of float64 reaches no digit that a score shows.
        """
        ids, rows = self._by_id
        vectors = np.zeros((len(chunk_ids), self.header.dim))
        if len(ids):
            places = np.minimum(np.searchsorted(ids, chunk_ids), len(ids) - 1)
            there = ids[places] == chunk_ids
            vectors[there] = self.vectors[rows[places[there]]]
        cosines = vectors @ vectors.T
        return np.where(cosines > 0, cosines, 0)  # nan is not above 0

    def _nearest_rows(
        self, query: Vectors, limit: int, allowed: Ids | None, further: Callable[[], Ids]
    ) -> tuple[Ids, Vectors, int]:
        """The ids, with their scores, of all rows that may be among the first, and of `further`; and how many were admitted."""
        admitted = self._live if allowed is None else self._rows_of(allowed)
        rows = self._contenders(admitted, query, limit)
        others = self._rows_of(further()).tolist()
        if others:
            there = set(rows.tolist())
            rows = np.array([*there, *(row for row in others if row not in there)], np.intp)
        return self.ids[rows], self._scores(rows, query), len(admitted)

    def _nearest_groups(
        self, query: Vectors, limit: int, allowed: Ids | None, further: Callable[[], Ids]
    ) -> tuple[Ids, Vectors, int]:
        """The same where chunks have windows."""
        scorer = Scorer(
            lambda rows, count: self._contenders(rows, query, count), lambda rows: self._scores(rows, query)
        )
        admitted = self._groups if allowed is None else self._groups.of(allowed)
        live = self._live if allowed is None else np.sort(admitted.rows)
        ids, scores = grouped.nearest(live, self.ids, admitted, scorer, limit)
        others = self._groups.of(np.setdiff1d(further(), ids))
        scores = np.concatenate([scores, others.scores(scorer)])
        return np.concatenate([ids, others.chunk_ids]), scores, len(admitted.chunk_ids)

    def _contenders(self, rows: quantized.Rows, query: Vectors, limit: int) -> quantized.Rows:
        if self._led and len(rows) * FEW > self.header.rows:
            rows = self._led.contenders(rows, query, limit)
        return quantized.contenders(self._coded, rows, query, limit) if len(rows) > max(limit, PLAIN_ROWS) else rows

    def _scores(self, rows: quantized.Rows, query: Vectors) -> Vectors:
        longest = self._coded.longest
        lengths = longest if math.isfinite(longest) else self.rows.bounds["length"]
        return quantized.scores(self.vectors, lengths, rows, query)

    def is_coded_truly(self, part: slice) -> npt.NDArray[np.bool_]:
        """Of each row, whether all that a search looks at before its vector is true of that."""
        vectors = self.vectors[part]
        true = quantized.holds(vectors, self.rows.codes[part], self.rows.bounds[part])
        if self.leading:
            axes, parts = self.leading
            true &= holds(axes, vectors, Parts(parts.codes[part], parts.bounds[part], parts.rests[part]))
        return true

    @cached_property
    def _coded(self) -> quantized.Coded:
        return quantized.Coded(self.rows.codes, self.rows.bounds)

    @cached_property
    def _led(self) -> Leading | None:
        return Leading(*self.leading) if self.leading else None

    @cached_property
    def _live(self) -> quantized.Rows:
        return np.flatnonzero(self.ids)

    @cached_property
    def _groups(self) -> Groups:
        return Groups.of_live(self.ids)

    def _rows_of(self, chunk_ids: Ids) -> quantized.Rows:
        """The live rows of `chunk_ids`, ascending as these are; ids that have no row are passed over."""
        ids, rows = self._by_id
        places = np.searchsorted(ids, chunk_ids)
        places = places[places < len(ids)]
        return np.sort(rows[places[ids[places] == chunk_ids[: len(places)]]])

    @cached_property
    def _by_id(self) -> tuple[Ids, quantized.Rows]:
        """The ids of live rows, ascending, and these: a filter of ten chunks need not look at all rows."""
        ids = self.ids[self._live]
        order = np.argsort(ids, kind="stable")
        return ids[order], self._live[order]

    def apply(self, added: Batches, removed: Ids, watermark: Watermark) -> Matrix:
        """Append rows, kill those of removed chunks, and move the watermark. A row that has changed is appended again, and dies.

        The caller holds the writer lock.
        """
        epoch, dim = self.header.epoch, self.header.dim
        columns.truncate(self.folder, epoch, self.header.rows, dim)
        outdated = [removed, self._windows_of(removed)]
        rows = self.header.rows + columns.append(self.folder, epoch, dim, self._only_new(added, outdated))
        self._kill(np.concatenate(outdated))
        leading = self.header.leading or leads.made(self.folder, epoch, rows, dim)
        if self.header.leading:
            leads.extend(self.folder, epoch, self.header.leading, self.header.rows, rows, dim)
        header = msgspec.structs.replace(
            self.header, rows=rows, leading=leading, seq=watermark.seq, token=watermark.token
        )
        _write_header(self.folder, header)
        return Matrix.open(self.folder)

    def compacted(self, watermark: Watermark) -> Matrix:
        """The next epoch, of the live rows as they are: a copy, where `rebuild` reads each vector again and makes all else of it.

        The caller holds the writer lock.
        """
        epoch = _next_epoch(self.folder)
        live = [self._live[first : first + ROWS_AT_ONCE] for first in range(0, len(self._live), ROWS_AT_ONCE)]
        count = columns.write(self.folder, epoch, columns.COLUMNS, ([one[rows] for one in self.rows] for rows in live))
        leading = leads.copied(self.folder, epoch, self.leading, live) if self.leading else None
        header = msgspec.structs.replace(
            self.header, epoch=epoch, rows=count, leading=leading, seq=watermark.seq, token=watermark.token
        )
        return publish(self.folder, header)

    def _only_new(self, batches: Batches, outdated: list[Ids]) -> Iterator[tuple[Ids, Vectors]]:
        """Without the rows that are here already; `outdated` gets the ids of those that are here otherwise."""
        present, rows = self._by_id
        for ids, vectors in batches:
            new = np.ones(len(ids), bool)
            known = np.flatnonzero(np.isin(ids, present))
            if len(known):
                here = self.vectors[rows[np.searchsorted(present, ids[known])]]
                same = (here == vectors[known]).all(axis=1)
                outdated.append(ids[known[~same]])
                new[known[same]] = False
            yield ids[new], vectors[new]

    def _windows_of(self, chunk_ids: Ids) -> Ids:
        if not self.header.windows:
            return np.empty(0, np.int64)
        windows = self.ids[self.ids < 0]
        return windows[np.isin(grouped.owners(windows), chunk_ids)]

    def _kill(self, row_ids: Ids) -> None:
        rows = np.flatnonzero(np.isin(self.ids, row_ids))
        if not len(rows):
            return
        path = columns.IDS.path(self.folder, self.header.epoch)
        ids = np.memmap(path, dtype=columns.IDS.dtype, mode="r+", shape=(self.header.rows,))
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
    epoch = _next_epoch(folder)
    rows = columns.append(folder, epoch, dim, batches)
    return Header(
        epoch=epoch, rows=rows, dim=dim, model=model, neighbours=neighbours.WEIGHT, windows=windows,
        leading=leads.made(folder, epoch, rows, dim), seq=watermark.seq, token=watermark.token,
    )  # fmt: skip


def _next_epoch(folder: Path) -> int:
    return 1 + max((columns.epoch_of(path) for path in folder.iterdir()), default=0)


def publish(folder: Path, header: Header) -> Matrix:
    """The second half: the header, then the old epochs go."""
    _write_header(folder, header)
    unlink_orphans(folder, header)
    return Matrix.open(folder)


def unlink_orphans(folder: Path, header: Header) -> None:
    """Remove what a crash during `rebuild` left behind."""
    for path in folder.iterdir():
        if columns.epoch_of(path) not in {0, header.epoch} or path.suffix == ".new":
            path.unlink()


def _leading(folder: Path, header: Header) -> tuple[Axes, Parts] | None:
    if header.leading is None:
        return None
    return leads.open_parts(folder, header.epoch, header.leading, header.rows, header.dim)


def read_header(folder: Path) -> Header:
    try:
        header = msgspec.json.decode((folder / "header.json").read_bytes(), type=Header)
    except (OSError, msgspec.DecodeError) as error:
        raise MatrixDamaged(f"{folder}: {error}") from error
    if header.neighbours != neighbours.WEIGHT:
        raise MatrixDamaged(f"{folder}: rows with {header.neighbours} of their neighbours, not {neighbours.WEIGHT}")
    return header


def _write_header(folder: Path, header: Header) -> None:
    replace_file(folder / "header.json", msgspec.json.encode(header))
