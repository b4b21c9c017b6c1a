"""The vector projection: unit rows in memory-mapped files, scored exactly.

On disk, in `matrix/`: the columns of one epoch (`index.columns`), and the header that names it (`index.epoch`). What a row is made of,
`index.neighbours` says. A row's id is that of its chunk; in a store with windows (`index.windows`) there are rows with ids below zero too.

Not here: how rows come and go (`index.matrixwriter`), filters, fusion, what a chunk says. Source of the design: tantivy's immutable segments
and single meta file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from index import columns, grouped, leads, near, quantized
from index.columns import Ids, Vectors
from index.epoch import Header, MatrixDamaged, read_header
from index.grouped import Groups, Scorer
from index.leading import Axes, Leading, Parts, holds

Further = Callable[[], Collection[int]]

PLAIN_ROWS = 500
"""So many are scored as they are: to sort them out by their codes first takes as long (0.2 to 0.3 ms, at 384 and at 768 dimensions)."""
FEW = 8
"""A filter that admits less than one row in so many is answered from all of their codes at once, and its rows are looked up one by one."""


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
        """Mapped and read-only; `ids`, which a writer changes in place, is a copy, unless `open` was told otherwise."""
        self.leading = leading
        """The files of `index.leads`, mapped."""
        self._last_admitted: tuple[Ids, quantized.Rows] | None = None

    @classmethod
    def open(cls, folder: Path, *, copied_ids: bool = True) -> Matrix:
        """Map the current epoch. Raises MatrixDamaged where files are missing, short or do not make sense.

        `copied_ids`: False for who holds the writer lock, or wants the header only: of ten million rows the copy has 80 MB.
        """
        header = read_header(folder)
        try:
            rows = columns.map_rows(folder, header.epoch, header.rows, header.dim)
            if copied_ids:
                rows = rows._replace(ids=rows.ids.copy())
            return cls(folder, header, rows, _leading(folder, header))
        except (OSError, ValueError) as error:
            newer = read_header(folder)
            if newer.epoch != header.epoch:  # a compaction swapped the files between the two reads
                return cls.open(folder, copied_ids=copied_ids)
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
        """Of the chunks that have a row, ascending."""
        return np.sort(self.ids[self.ids > 0])

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
        ids, rows = self.by_id
        cosines = np.zeros((len(chunk_ids), len(chunk_ids)))
        if len(ids):
            places = np.minimum(np.searchsorted(ids, chunk_ids), len(ids) - 1)
            there = np.flatnonzero(ids[places] == chunk_ids)
            found = rows[places[there]]
            cosines[np.ix_(there, there)] = quantized.products(self.vectors, found, self.vectors[found])
        return np.where(cosines > 0, cosines, 0)  # nan is not above 0

    def _nearest_rows(
        self, query: Vectors, limit: int, allowed: Ids | None, further: Callable[[], Ids]
    ) -> tuple[Ids, Vectors, int]:
        """The ids, with their scores, of all rows that may be among the first, and of `further`; and how many were admitted."""
        admitted = self.live if allowed is None else self._admitted(allowed)
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
        live = self.live if allowed is None else np.sort(admitted.rows)
        ids, scores = grouped.nearest(live, self.ids, admitted, scorer, limit)
        others = self._groups.of(np.setdiff1d(further(), ids))
        scores = np.concatenate([scores, others.scores(scorer)])
        return np.concatenate([ids, others.chunk_ids]), scores, len(admitted.chunk_ids)

    def _contenders(self, rows: quantized.Rows, query: Vectors, limit: int) -> quantized.Rows:
        if len(rows) <= max(limit, PLAIN_ROWS):
            return rows
        if self._led and len(rows) * FEW > self.header.rows:
            return self._led.contenders(self._coded, rows, query, limit)
        return near.contenders(self._coded, rows, query, limit)

    def _scores(self, rows: quantized.Rows, query: Vectors) -> Vectors:
        coded = self._coded
        lengths = coded.longest if coded.are_fit else self.rows.bounds["length"]
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
    def live(self) -> quantized.Rows:
        return np.flatnonzero(self.ids)

    @cached_property
    def _groups(self) -> Groups:
        return Groups.of_live(self.ids)

    def _admitted(self, allowed: Ids) -> quantized.Rows:
        """The live rows of these chunks; kept for the next search that has the same array of them."""
        kept = self._last_admitted
        if kept is None or kept[0] is not allowed:
            kept = self._last_admitted = allowed, self._rows_of(allowed)
        return kept[1]

    def _rows_of(self, chunk_ids: Ids) -> quantized.Rows:
        """The live rows of `chunk_ids`, ascending as these are; ids that have no row are passed over."""
        if len(chunk_ids) * FEW > self.header.rows:
            return np.flatnonzero(columns.is_among(self.ids, chunk_ids))
        ids, rows = self.by_id
        places = np.searchsorted(ids, chunk_ids)
        places = places[places < len(ids)]
        return np.sort(rows[places[ids[places] == chunk_ids[: len(places)]]])

    @cached_property
    def by_id(self) -> tuple[Ids, quantized.Rows]:
        """The ids of live rows, ascending, and these: a filter of ten chunks need not look at all rows."""
        ids = self.ids[self.live]
        order = np.argsort(ids, kind="stable")
        return ids[order], self.live[order]


def _leading(folder: Path, header: Header) -> tuple[Axes, Parts] | None:
    if header.leading is None:
        return None
    return leads.open_parts(folder, header.epoch, header.leading, header.rows, header.dim)
