"""Windows of a text by the run of the model that makes its vector: means over a part of its tokens, instead of all of them.

Sums of every BLOCK tokens are kept in ~/.cache/kb-eval/vectors.db, of which windows of any length are made. Not here: what is
done with them (`levers.meaning`).
"""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing

import numpy as np
from ir_scores import Floats
from ir_stores import CACHE

from index.vectors import text_hash
from models.embedder import Embedder
from models.known import DEFAULT_MODEL
from models.locate import locate
from models.session import batches, padded

BLOCK = 8
"""Tokens. Windows begin and end between two blocks."""
AT_ONCE = 256


def windows(blocks: Floats, tokens: int, overlap: int) -> Floats:
    """Windows of so many tokens, evenly spread over a text, float32 (n, dim), unit rows; none of a text that is no longer than one."""
    size, least = tokens // BLOCK, (tokens - overlap) // BLOCK
    if len(blocks) <= size:
        return np.empty((0, blocks.shape[1]), np.float32)
    count = 1 + math.ceil((len(blocks) - size) / least)
    starts = np.linspace(0, len(blocks) - size, count).round().astype(int)
    sums = np.stack([blocks[start : start + size].sum(axis=0) for start in starts])
    rows: Floats = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return rows


def blocks_of(texts: Sequence[str]) -> list[Floats]:
    """Of each text, the sums of its blocks: float32 (blocks, dim)."""
    hashes = [text_hash(text) for text in texts]
    with closing(sqlite3.connect(CACHE / "vectors.db", timeout=60)) as kept:
        kept.execute("CREATE TABLE IF NOT EXISTS blocks (text_hash BLOB PRIMARY KEY, sums BLOB NOT NULL) WITHOUT ROWID")
        known = {value for (value,) in kept.execute("SELECT text_hash FROM blocks")}
        new = {value: text for value, text in zip(hashes, texts, strict=True) if value not in known}
        if new:
            print(f"embedding {len(new)} texts ...", file=sys.stderr)
            _keep(kept, new)
        sums = [kept.execute("SELECT sums FROM blocks WHERE text_hash = ?", (value,)).fetchone()[0] for value in hashes]
    dim = locate(DEFAULT_MODEL).spec.dim
    return [np.frombuffer(blob, "<f2").astype(np.float32).reshape(-1, dim) for blob in sums]


def _keep(kept: sqlite3.Connection, new: dict[bytes, str]) -> None:
    embedder = Embedder.load(locate(DEFAULT_MODEL))
    waiting = sorted(new.items(), key=lambda item: len(item[1]))
    for part in (waiting[first : first + AT_ONCE] for first in range(0, len(waiting), AT_ONCE)):
        tokens = [found.ids for found in embedder._tokenizer.encode_batch_fast([text for _, text in part])]  # noqa: SLF001  to look inside is the purpose
        for batch in batches([len(ids) for ids in tokens], 32):
            states = embedder._passages().run(*padded([tokens[place] for place in batch]))  # noqa: SLF001
            sums = [_summed(own[: len(tokens[place])]) for own, place in zip(states, batch, strict=True)]
            with kept:
                kept.executemany(
                    "INSERT OR IGNORE INTO blocks VALUES (?, ?)",
                    [(part[place][0], own.tobytes()) for place, own in zip(batch, sums, strict=True)],
                )


def _summed(states: Floats) -> np.ndarray:
    return np.add.reduceat(states, np.arange(0, len(states), BLOCK), axis=0).astype("<f2")
