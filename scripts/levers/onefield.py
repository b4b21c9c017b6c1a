"""BM25 with any k1 and b, which tantivy fixes: over one field, in sparse matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from ir_scores import Floats, Scored
from levers.table import Table, by
from levers.words import tokens
from scipy import sparse

from index import query
from index.fields import TEXT
from index.store import reading


def k1b(table: Table) -> None:
    """One field: title and text of each chunk."""
    counted = {one.name: OneField.of(one) for one in table.collections}

    def row(k1: float, b: float) -> None:
        table.row(f"k1 {k1} b {b}", lambda one: by(counted[one.name].scores(k1, b)))

    for k1, b in ((1.2, 0.75), (0.9, 0.4), (1.2, 0.4), (1.2, 0.6), (1.2, 0.9), (0.7, 0.5), (2.0, 0.75)):
        row(k1, b)


class OneField(NamedTuple):
    counts: sparse.csr_matrix
    """(chunks, words)."""
    asked: sparse.csr_matrix
    """(queries, words)."""

    @classmethod
    def of(cls, one: Scored) -> OneField:
        with reading(one.store.data_dir) as reader:
            rows = reader.connection.execute("SELECT text FROM chunks ORDER BY id").fetchall()
        known: dict[str, int] = {}
        counts = counted((Counter(TEXT.analyze(text)) for (text,) in rows), known)
        asked = counted((Counter(tokens(query.parse(text))) for text in one.texts), known)
        return cls(
            sparse.csr_matrix(counts, shape=(len(rows), len(known))),
            sparse.csr_matrix(asked, shape=(len(one.texts), len(known))),
        )

    def scores(self, k1: float, b: float) -> Floats:
        chunks, lengths = self.counts.shape[0], np.asarray(self.counts.sum(axis=1)).ravel()
        found_in = np.bincount(self.counts.indices, minlength=self.counts.shape[1])
        weights = np.log1p((chunks - found_in + 0.5) / (found_in + 0.5))
        entries = self.counts.tocoo()
        norm = k1 * (1 - b + b * lengths / lengths.mean())
        values = weights[entries.col] * entries.data * (k1 + 1) / (entries.data + norm[entries.row])
        weighed = sparse.csr_matrix((values, (entries.row, entries.col)), shape=self.counts.shape)
        found: Floats = (self.asked @ weighed.T).toarray()
        return found


def counted(texts: Iterable[Counter[str]], known: dict[str, int]) -> tuple[list[int], tuple[list[int], list[int]]]:
    """Entries of a sparse matrix: how often, (which text, which word)."""
    entries = [
        (count, row, known.setdefault(word, len(known)))
        for row, words in enumerate(texts)
        for word, count in words.items()
    ]
    counts, rows, columns = (list(part) for part in zip(*entries, strict=True))
    return counts, (rows, columns)
