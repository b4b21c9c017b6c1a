"""What stands for a chunk in the matrix: its vector, and a part of the vectors of the chunks before and after it. Pure.

A passage is about what its document is about at that place, and says only a part of it. The mixture costs a search nothing: it is
a row like any other. docs/ranking.md has what it gains. In `kb.db` vectors stay what the model made of their texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]

WEIGHT = 0.15
"""Of each of the two; the chunk itself has 1. More gains a little more where documents are judged and loses the right passage in
them (`scripts/eval_levers.py neighbours`)."""


class Placed(NamedTuple):
    """A chunk's vector, and where the chunk stands."""

    document_id: int
    number: int
    """In its document, without a gap from one chunk to the next."""
    chunk_id: int
    vector: bytes
    """float32, little endian, unit length."""

    def is_before(self, other: Placed) -> bool:
        return (self.document_id, self.number + 1) == (other.document_id, other.number)


def rows(placed: Iterable[Placed], dim: int, batch_size: int) -> Iterator[tuple[Ids, Vectors]]:
    """Batches of (chunk ids, rows), float32 (n, dim), of chunks in reading order; those of a document are all there or none.

    A chunk without neighbours is its vector, to the last bit.
    """
    coming = iter(placed)
    done: list[Placed] = []
    waiting = list(islice(coming, 1))
    while waiting:
        following = list(islice(coming, batch_size))
        block = [*done, *waiting, *following]
        first, end = len(done), len(block) - bool(following)
        ids = np.fromiter((chunk.chunk_id for chunk in block), np.int64, len(block))
        yield ids[first:end], _mixed(block, dim)[first:end]
        done, waiting = block[end - 1 : end], block[end:]


def _mixed(block: list[Placed], dim: int) -> Vectors:
    vectors = np.frombuffer(b"".join(chunk.vector for chunk in block), "<f4").reshape(len(block), dim)
    beside = np.array([one.is_before(other) for one, other in pairwise(block)], bool)
    sound = np.isfinite(vectors).all(axis=1)  # a damaged vector spoils no row but its own
    beside &= sound[1:] & sound[:-1]
    before, after = np.append(False, beside), np.append(beside, False)
    mixed = vectors.copy()
    mixed[before] += np.float32(WEIGHT) * vectors[after]
    mixed[after] += np.float32(WEIGHT) * vectors[before]
    changed = before | after
    mixed[changed] /= np.linalg.norm(mixed[changed], axis=1, keepdims=True)
    return mixed
