"""A small store with made-up documents and vectors, written through `index` alone: no model, no files, milliseconds."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from index import neighbours, store, vectors
from index.builtwith import BuiltWith
from index.neighbours import Placed
from index.query import parse
from index.rows import NewChunk, NewDocument

DIM = 8
BUILT = BuiltWith(model_name="made-up", model_key="made-up", embedding_dim=DIM, model_max_tokens=64)


def document(name: str, *texts: str, **others: object) -> NewDocument:
    """A document at `/made/up/<name>`, one chunk a text; its content hash follows from its name and texts."""
    values: dict[str, object] = {
        "title": name,
        "source_path": f"/made/up/{name}",
        "content_hash": hashlib.sha256("\0".join([name, *texts]).encode()).hexdigest(),
        "doc_type": "text",
        "modified_at": "2026-01-01T00:00:00+00:00",
        "size": sum(map(len, texts)),
        "extractor": "text",
        "chunks": tuple(map(chunk, texts)),
    }
    return NewDocument(**{**values, **others})


def chunk(text: str, **others: object) -> NewChunk:
    values: dict[str, object] = {
        "text_hash": vectors.text_hash(text),
        "heading": "",
        "context": "",
        "token_count": len(text.split()),
    }
    return NewChunk(text=text, **{**values, **others})


def vector(text: str, dim: int = DIM) -> np.ndarray:
    """A random unit vector, always the same for the same text; float32 (dim,)."""
    row = np.random.default_rng(list(text.encode())).standard_normal(dim).astype(np.float32)
    return row / np.linalg.norm(row)


def row(text: str, of: tuple[str, ...]) -> np.ndarray:
    """What the matrix holds of a chunk in a document of these texts; float32 (DIM,)."""
    placed = [Placed(1, number, number, vector(each).tobytes()) for number, each in enumerate(of)]
    return np.concatenate([rows for _, rows in neighbours.rows(placed, DIM, len(of))])[of.index(text)]


def create(folder: Path, *new: NewDocument, built: BuiltWith = BUILT) -> list[int]:
    """A new store with these documents; returns their ids."""
    store.create(folder, built)
    return add(folder, *new)


def add(folder: Path, *new: NewDocument, without_vectors: bool = False) -> list[int]:
    """Add documents, each in a transaction of its own; returns their ids."""
    ids = []
    with store.writing(folder) as writer:
        for each in new:
            rows = {} if without_vectors else {piece.text_hash: vector(piece.text) for piece in each.chunks}
            with writer.transaction() as seq:
                ids.append(writer.insert(each, rows, BUILT.model_key, seq=seq))
    return ids


def by_words(folder: Path, query: str) -> list[int]:
    """Chunk ids that the lexical index finds, best first."""
    with store.reading(folder) as reader:
        return reader.lexical().search(parse(query), 1000).chunk_ids


def by_vector(folder: Path, text: str) -> list[int]:
    """Every live chunk id of the matrix, nearest to the vector of `text` first."""
    with store.reading(folder) as reader:
        return reader.matrix().search(vector(text), 1000).chunk_ids
