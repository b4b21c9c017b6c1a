"""One query to a ranking: words and vectors side by side, fused. The model is opened once, and only if a vector is needed.

Not here: how words are matched (`index.lexical`), which of the ranking is shown (`kb.hits`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from index import filters
from index.errors import ModelMismatch
from index.lexical import Lexical, LexicalDamaged, LexicalHits
from index.query import ParsedQuery
from index.store import Reader, built_with, check_model
from kb.fuse import Found, Knobs, fuse
from kb.model import Model, choose
from kb.ranking import Ranking
from kb.settings import Settings
from models.errors import ModelError, ModelMissing

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from index.columns import Ids
    from index.matrix import Matrix

Mode = Literal["hybrid", "keyword", "semantic"]

SEARCHES_AT_ONCE = 8


class QueryEmbedder(Protocol):
    """What makes a query's vector: float32 (dim,), unit length."""

    def embed_query(self, text: str) -> object: ...


class Retriever:
    """A view of the store with what has been loaded for it."""

    def __init__(self, data_dir: Path, settings: Settings, reader: Reader) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.reader = reader
        self._model: Model | None = None
        self._embedder: QueryEmbedder | None = None

    def possible_mode(self, mode: Mode, warnings: list[str]) -> Mode:
        """Keyword instead of hybrid where no vector of the query can be made."""
        if mode == "keyword":
            return mode
        model = self._model = self._model or self._chosen_model()
        check_model(built_with(self.reader.connection), model.spec.name, model.spec.key)
        try:
            self._load(model)
        except ModelError as error:
            if mode == "semantic":
                raise
            warnings.append(f"searched by words only: {error.message} {error.hint}")
            return "keyword"
        return mode

    def _chosen_model(self) -> Model:
        built = built_with(self.reader.connection)
        try:
            return choose(self.settings.embedding, built, data_dir=self.data_dir)
        except ModelMissing as error:
            wanted = self.settings.embedding.model
            raise ModelMismatch(
                f"the store was built with {built.model_name}, the configuration says {wanted}, which is not here",
                f"{error.hint} Then switch the store: kb reindex --model {wanted}; or set embedding.model back",
            ) from error

    def _load(self, model: Model) -> QueryEmbedder:
        if self._embedder is None:
            self._embedder = model.load(self.data_dir, for_queries=True)
        return self._embedder

    def rank(self, mode: Mode, query: str, parsed: ParsedQuery, depth: int, admitted: frozenset[int] | None) -> Ranking:
        if mode == "keyword":
            words = self._by_words(self.reader.lexical(), parsed, depth, admitted)
            return Ranking(ranked=list(zip(words.chunk_ids, words.shares, strict=True)), words=words, total=words.total)
        if mode == "semantic":
            allowed = self._allowed(parsed, admitted)
            nearest, total = self._by_vector(self.reader.matrix(), _meaning(query, parsed), depth, allowed)
            return Ranking(ranked=nearest, nearest=nearest, among=total, total=total)
        lexical, matrix = self.reader.lexical(), self.reader.matrix()
        allowed = self._allowed(parsed, admitted)
        waiting = _beside().submit(self._by_words, lexical, parsed, depth, admitted)
        nearest, among = self._by_vector(matrix, _meaning(query, parsed), depth, allowed)
        words = waiting.result()
        return self._fused(words, nearest, self._cosines(matrix, _meaning(query, parsed), words, nearest), among)

    def _fused(
        self, words: LexicalHits, nearest: list[tuple[int, float]], cosines: dict[int, float], among: int
    ) -> Ranking:
        wanted = self.settings.search
        found = Found(keyword=tuple(zip(words.chunk_ids, words.shares, strict=True)), semantic=nearest, cosines=cosines)
        hits = fuse(found, wanted.fusion, Knobs(semantic_weight=wanted.semantic_weight, rrf_k=wanted.rrf_k))
        return Ranking(
            ranked=[(hit.id, hit.score) for hit in hits], words=words, nearest=nearest, among=among, further=cosines, fused=hits,
            total=max(words.total, len(hits)),
        )  # fmt: skip

    def _cosines(
        self, matrix: Matrix, query: str, words: LexicalHits, nearest: list[tuple[int, float]]
    ) -> dict[int, float]:
        """Of what was found by its words and is not among the nearest."""
        import numpy as np

        further = np.setdiff1d(words.chunk_ids, [chunk_id for chunk_id, _ in nearest])
        return dict(self._by_vector(matrix, query, len(further), further)[0])

    def _by_words(
        self, lexical: Lexical, parsed: ParsedQuery, limit: int, admitted: frozenset[int] | None
    ) -> LexicalHits:
        try:
            return lexical.search(parsed, limit, admitted)
        except LexicalDamaged:  # damage inside a segment shows only now
            return self.reader.rebuilt_lexical().search(parsed, limit, admitted)

    def _allowed(self, parsed: ParsedQuery, admitted: frozenset[int] | None) -> Ids | None:
        """The chunks that a vector may find, ascending: of admitted documents, without the words that are excluded."""
        allowed = None if admitted is None else filters.chunk_ids(self.reader.connection, admitted)
        if not parsed.excluded:
            return allowed
        lexical = self.reader.lexical()
        excluded = self._by_words(lexical, ParsedQuery(phrases=parsed.excluded), max(1, lexical.count()), admitted)
        live = self.reader.matrix().ids if allowed is None else allowed
        import numpy as np

        return np.setdiff1d(live, excluded.chunk_ids)

    def _by_vector(
        self, matrix: Matrix, query: str, limit: int, allowed: Ids | None
    ) -> tuple[list[tuple[int, float]], int]:
        assert self._model is not None  # `possible_mode` chose and loaded it  # noqa: S101
        assert self._embedder is not None  # noqa: S101
        if matrix.header.model != self._model.spec.key:
            raise ModelMismatch("the store switched to another model during the search", "ask again")
        nearest = matrix.search(self._embedder.embed_query(query), limit, allowed)  # type: ignore[arg-type]
        scores = [max(0.0, score) for score in nearest.scores]
        return list(zip(nearest.chunk_ids, scores, strict=True)), nearest.total


@cache
def _beside() -> ThreadPoolExecutor:
    """Threads for the words, beside the vectors: tantivy and onnxruntime both let go of the interpreter."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(SEARCHES_AT_ONCE)


def _meaning(query: str, parsed: ParsedQuery) -> str:
    """What the model is asked: the query as it was typed; without the words that it excludes, if there are any."""
    if not parsed.excluded:
        return query
    return " ".join([word.text for word in parsed.words] + [phrase.text for phrase in parsed.phrases])
