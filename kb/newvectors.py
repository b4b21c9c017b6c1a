"""Vectors of the texts that have none yet, all documents of a batch together.

A service that fails costs vectors and nothing else: what it made until then is kept, it is not asked again in this run, and the
texts wait for `kb reindex`. A text that cannot be embedded is marked (`index.unembedded`), and not shown to the model again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from index import builtwith, cutting, store, unembedded, vectors, windows
from index.builtwith import built_with
from index.writer import Writer, utc_now
from kb.model import Embedder, Model
from kb.types import Chunk
from models.errors import EmbedderFailed, ModelUnusable

UNIT_TOLERANCE = 1e-3
"""As in `index.check`, which would call such a vector damage."""
HARMLESS = "a text"


class Made(msgspec.Struct, frozen=True):
    """What came of some texts, by their hashes. A text in neither of the two waits."""

    vectors: dict[bytes, vectors.Vectors]
    """float32 (dim,), unit length."""
    refused: dict[bytes, str]
    """Why they cannot be embedded."""
    failure: EmbedderFailed | None = None
    """What kept a service from answering for the rest."""


@runtime_checkable
class Refusing(Protocol):
    """An embedder that says why a text cannot be embedded."""

    refused: dict[str, str]


class NewVectors:
    """The model of one run, opened when the first new text comes."""

    def __init__(self, data_dir: Path, model: Model, batch_size: int) -> None:
        self.data_dir = data_dir
        self.model = model
        self.batch_size = batch_size
        """Texts a call of the model."""
        self.count = 0
        """Texts that got their vector from the model so far."""
        self.refused_count = 0
        self.failure: EmbedderFailed | None = None
        self.windows = model.settings.windows
        """Words a window in the store, as it was found."""
        self._brought: dict[bytes, vectors.Vectors] = {}
        self._embedder: Embedder | None = None
        self._unwritten = Made({}, {})

    def bring(self, made: Mapping[bytes, bytes]) -> None:
        """Vectors of the model that somebody else has made of texts that are asked for next, float32 (dim,) by their hashes."""
        import numpy as np

        self._brought |= {text_hash: np.frombuffer(vector, "<f4") for text_hash, vector in made.items()}

    def of(self, chunks: Iterable[Chunk]) -> dict[bytes, vectors.Vectors]:
        """float32 (dim,) by text hash, of what the store has no vector of, of the chunks and their windows; none without a model."""
        new_chunks = list(chunks)
        if self.model.missing or self.failure or not new_chunks:
            return {}
        key = self.model.spec.key
        with store.reading(self.data_dir) as reader:
            self.windows = built_with(reader.connection).windows
            texts = _texts(new_chunks, cutting.words_of(reader.connection))
            known = vectors.known(reader.connection, texts, key) | unembedded.marked(reader.connection, key)
        brought, self._brought = self._brought, {}
        ready = {text_hash: vector for text_hash, vector in brought.items() if text_hash in texts.keys() - known}
        self.count += len(ready)
        new = {text_hash: text for text_hash, text in texts.items() if text_hash not in known | ready.keys()}
        if not new:
            return ready
        if self._embedder is None:
            self._embedder = self.model.load(self.data_dir)
        made = self._unwritten = make(self.model, self._embedder, new, self.batch_size)
        self.count += len(made.vectors)
        self.refused_count += len(made.refused)
        self.failure = made.failure
        return ready | made.vectors

    def settle(self, writer: Writer) -> None:
        """Write what the last vectors say of the model and of their texts, before they are written themselves."""
        write_down(writer, self.model, self._unwritten)
        self._unwritten = Made({}, {})

    def remarks(self) -> Iterator[str]:
        """What somebody should know whose texts were to be embedded."""
        why = self.model.missing or (f"{self.failure.message} {self.failure.hint}" if self.failure else "")
        if why:
            yield f"added without vectors, found by words only: {why} Then: kb reindex"
        if self.refused_count:
            yield refusal(self.refused_count)
        if self.windows != self.model.settings.windows:
            yield other_windows(self.windows, self.model.settings.windows)


def make(model: Model, embedder: Embedder, texts: Mapping[bytes, str], batch_size: int) -> Made:
    """`texts`: by their hashes. Raises ModelError, but for the failure of a service, which is in what is returned."""
    good: dict[bytes, vectors.Vectors] = {}
    refused: dict[bytes, str] = {}
    # What a service made is paid for: it is kept a batch at a time. A model on this machine sorts all texts by length.
    for part in _parts(texts, batch_size if model.endpoint else len(texts)):
        try:
            rows = embedder.embed_passages([text for _, text in part], batch_size)
        except EmbedderFailed as failure:
            return Made(good, refused, failure)
        reasons = embedder.refused if isinstance(embedder, Refusing) else {}
        are_good = _are_unit(rows)
        if not any(are_good) and not _are_unit(embedder.embed_passages([HARMLESS], 1))[0]:
            raise ModelUnusable(f"{model.spec.name} gives no vectors.", "Fetch it again, or name another model.")
        for (text_hash, text), row, is_good in zip(part, rows, are_good, strict=True):
            if is_good:
                good[text_hash] = row
            else:
                refused[text_hash] = reasons.get(text, "its vector is zero, or not finite")
    return Made(good, refused)


def write_down(writer: Writer, model: Model, made: Made) -> None:
    """In a transaction of its own: the size of a service's vectors, if this is the first one, and what it refused."""
    row = next(iter(made.vectors.values()), None) if model.spec.dim == builtwith.UNKNOWN_DIM else None
    if not made.refused and row is None:
        return
    with writer.transaction():
        if row is not None:
            builtwith.bind_dim(writer.connection, model.spec.key, len(row))
        unembedded.mark(writer.connection, made.refused, model.spec.key, utc_now())


def refusal(count: int) -> str:
    said = "1 text cannot be embedded, and is" if count == 1 else f"{count} texts cannot be embedded, and are"
    return f"{said} found by words only: kb reindex --retry tries again"


def other_windows(words: int, wanted: int) -> str:
    """What is to be said where the store has other windows than the settings want."""
    has = f"windows of {words} words" if words else "no windows"
    return f"the store has {has}, and embedding.windows says {wanted}: kb reindex changes the store"


def _texts(chunks: Iterable[Chunk], window_words: int) -> dict[bytes, str]:
    """All that is embedded of these, by hashes."""
    texts = {}
    for chunk in chunks:
        for text in (chunk.embedded_text, *windows.texts(chunk.context, chunk.text, window_words)):
            texts[vectors.text_hash(text)] = text
    return texts


def _parts(texts: Mapping[bytes, str], size: int) -> Iterator[list[tuple[bytes, str]]]:
    every = list(texts.items())
    return (every[first : first + size] for first in range(0, len(every), size or 1))


def _are_unit(rows: vectors.Vectors) -> list[bool]:
    """Written so that nan is none."""
    import numpy as np

    found: list[bool] = (np.abs(np.linalg.norm(rows, axis=1) - 1) < UNIT_TOLERANCE).tolist()
    return found
