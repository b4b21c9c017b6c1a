"""Vectors of the texts that have none yet, all documents of a batch together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from index import store, vectors
from kb.model import Model
from kb.types import Chunk

if TYPE_CHECKING:
    from models.embedder import Embedder


class NewVectors:
    """The model of one run, opened when the first new text comes."""

    def __init__(self, data_dir: Path, model: Model, batch_size: int) -> None:
        self.data_dir = data_dir
        self.model = model
        self.batch_size = batch_size
        """Texts a call of the model."""
        self.count = 0
        """Texts that were given to the model so far."""
        self._embedder: Embedder | None = None

    def of(self, chunks: Iterable[Chunk]) -> dict[bytes, vectors.Vectors]:
        """float32 (dim,) by text hash, of the chunks' texts that the store has no vector of; none without a model."""
        texts = {vectors.text_hash(chunk.embedded_text): chunk.embedded_text for chunk in chunks}
        if self.model.missing or not texts:
            return {}
        with store.reading(self.data_dir) as reader:
            known = vectors.known(reader.connection, texts, self.model.spec.key)
        new = {text_hash: text for text_hash, text in texts.items() if text_hash not in known}
        if not new:
            return {}
        if self._embedder is None:
            self._embedder = self.model.load(self.data_dir)
        rows = self._embedder.embed_passages(list(new.values()), self.batch_size)
        self.count += len(new)
        return dict(zip(new, rows, strict=True))
