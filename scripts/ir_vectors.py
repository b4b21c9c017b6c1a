"""Vectors of any texts by the default model, each embedded once and kept in ~/.cache/kb-eval/vectors.db."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing

import numpy as np
from ir_scores import Floats
from ir_stores import CACHE

from index.vectors import text_hash
from kb.model import Embedder, choose
from kb.settings import Settings

AT_ONCE = 256
"""Texts embedded between two commits: an interrupted run goes on from there."""


def embedded(texts: Sequence[str]) -> Floats:
    """float32 (texts, dim), unit rows."""
    model = choose(Settings().embedding, None)
    hashes = [text_hash(f"{model.spec.key}\0{text}") for text in texts]
    with closing(sqlite3.connect(CACHE / "vectors.db", timeout=60)) as kept:
        kept.execute(
            "CREATE TABLE IF NOT EXISTS vectors (text_hash BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        )
        known = {value for (value,) in kept.execute("SELECT text_hash FROM vectors")}
        new = dict(
            sorted(
                ((value, text) for value, text in zip(hashes, texts, strict=True) if value not in known),
                key=lambda pair: len(pair[1]),
            )
        )
        if new:
            print(f"embedding {len(new)} texts ...", file=sys.stderr)
            _embed(kept, new, model.load(CACHE))
        rows = dict(kept.execute("SELECT text_hash, vector FROM vectors"))
    return np.frombuffer(b"".join(rows[value] for value in hashes), "<f4").reshape(len(texts), -1)


def queries_embedded(texts: Sequence[str]) -> Floats:
    """float32 (texts, dim), unit rows; not kept, there are few."""
    embedder = choose(Settings().embedding, None).load(CACHE)
    return np.stack([embedder.embed_query(text) for text in texts])


def _embed(kept: sqlite3.Connection, new: dict[bytes, str], embedder: Embedder) -> None:
    waiting = list(new.items())
    for first in range(0, len(waiting), AT_ONCE):
        part = waiting[first : first + AT_ONCE]
        vectors = embedder.embed_passages([text for _, text in part])
        with kept:
            kept.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                [(value, row.tobytes()) for (value, _), row in zip(part, vectors, strict=True)],
            )
