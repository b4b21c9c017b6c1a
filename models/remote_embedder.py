"""Texts to unit vectors by a service, with what other people's servers do kept away from the store.

Whatever is not a finite vector of one size for each text is a refusal: the batch is halved until the text that causes it is alone.
Such a text is told from a broken service by sending a harmless one beside it. That costs a few requests, and no other text its
vector. How often a service is asked, and how long: `models.embedding_service`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from models.embedding_service import BUSY, UNWELL, EmbeddingService, Refused
from models.errors import EmbedderFailed
from models.providers import Numbers
from models.spec import UNKNOWN_DIM, ModelSpec
from models.tokenizer import encodable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32] | str
    """A text's unit vector, or why it has none."""

MOST_KEPT = 1000
"""Vectors of queries, of one command."""
HARMLESS = "a text"


class RemoteEmbedder:
    """As `models.embedder.Embedder`, for one command; not for several threads at once."""

    def __init__(self, spec: ModelSpec, service: EmbeddingService, key: str) -> None:
        self.spec = spec
        self.dim = spec.dim
        """Of all vectors; where the store does not know it yet, that of the first one."""
        self.refused: dict[str, str] = {}
        """Passages that this service would not embed, and why: their rows are not finite."""
        self._service = service
        self._key = key
        self._kept: dict[str, NDArray[np.float32]] = {}
        self._down: tuple[str, str] | None = None

    def embed_passages(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        """Unit rows, float32 (len(texts), dim), in the order of the texts; nan for those in `refused`. Raises EmbedderFailed."""
        import numpy as np

        found: list[Row] = []
        for first in range(0, len(texts), batch_size):
            batch = texts[first : first + batch_size]
            found += self._batch([encodable(self.spec.passage_prefix + text) for text in batch])
        rows = np.full((len(texts), self.dim), np.nan, np.float32)
        for place, row in enumerate(found):
            if isinstance(row, str):
                self.refused[texts[place]] = row
            else:
                rows[place] = row
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, float32 (dim,). Raises EmbedderFailed: at once, where the service failed a query before."""
        if text in self._kept:
            return self._kept[text]
        if self._down:
            raise EmbedderFailed(*self._down)
        try:
            [row] = self._rows([encodable(self.spec.query_prefix + text)], for_query=True)
        except EmbedderFailed as error:
            self._down = error.message, error.hint
            raise
        except Refused as refusal:
            raise self._service.failed(str(refusal)) from refusal
        if isinstance(row, str):
            raise self._service.failed(row)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[text] = row
        return row

    def _batch(self, texts: Sequence[str]) -> list[Row]:
        """A row a text. Raises EmbedderFailed where it is the service that is at fault."""
        try:
            rows = self._rows(texts, again=UNWELL)
        except Refused as refusal:
            self._prove_well(str(refusal))
            return list(self._halved(texts, str(refusal)))
        if all(isinstance(row, str) for row in rows):
            self._prove_well(str(rows[0]))
        return rows

    def _halved(self, texts: Sequence[str], reason: str) -> Iterator[Row]:
        if len(texts) == 1:
            yield reason
            return
        for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
            try:
                yield from self._rows(half)
            except Refused as refusal:
                yield from self._halved(half, str(refusal))

    def _prove_well(self, reason: str) -> None:
        """Raises EmbedderFailed unless a text that nobody could object to gets its vector."""
        try:
            [row] = self._rows([HARMLESS])
        except Refused as refusal:
            raise self._service.failed(reason) from refusal
        if isinstance(row, str):
            raise self._service.failed(row)

    def _rows(self, texts: Sequence[str], *, again: frozenset[int] = BUSY, for_query: bool = False) -> list[Row]:
        """Raises EmbedderFailed, and Refused."""
        return [self._unit(row) for row in self._service.vectors(texts, self._key, again=again, for_query=for_query)]

    def _unit(self, numbers: Numbers) -> Row:
        import numpy as np

        row = np.array(numbers, np.float64)
        if self.dim not in {UNKNOWN_DIM, len(row)} or len(row) <= UNKNOWN_DIM:
            return f"gave a vector of {len(row)} numbers" + (f", not {self.dim}" if self.dim != UNKNOWN_DIM else "")
        with np.errstate(over="ignore"):  # of a number that float32 does not hold either
            length = np.linalg.norm(row)
        if not np.isfinite(length) or length == 0:
            return "gave a vector without direction: zero, or not finite"
        self.dim = len(row)
        return (row / length).astype(np.float32)
