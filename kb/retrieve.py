"""One query to a ranking: words and vectors side by side, fused. The model is opened once, and only if a vector is needed.

Not here: how words are matched (`index.lexical`), which of the ranking is shown (`kb.hits`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from index.builtwith import BuiltWith, built_with, check_model
from index.cores import leave_first_core
from index.errors import ModelMismatch
from index.filters import Admitted
from index.lexical import LexicalDamaged, LexicalHits
from index.query import ParsedQuery, Phrase, beginning, parse
from index.store import Reader
from kb.fuse import Found, Knobs, fuse
from kb.model import Model, choose
from kb.ranking import Ranking
from kb.regularize import LOOKED_AT, regularize
from kb.settings import Settings
from models.errors import ModelError, ModelMissing
from models.session import on_first_core

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from index.columns import Ids
    from index.columns import Vectors as Vector
    from index.matrix import Further, Matrix, Nearest

Mode = Literal["hybrid", "keyword", "semantic"]

SEARCHES_AT_ONCE = 8
NEAREST_READ = 10
"""Of a search by meaning, so many are looked at for the query's words: a page."""


def _unknown() -> None:
    """Of the chunks that are admitted: not looked up."""


class QueryEmbedder(Protocol):
    """What makes a query's vector: float32 (dim,), unit length."""

    def embed_query(self, text: str) -> Vector: ...


class Retriever:
    """A view of the store with what has been loaded for it."""

    def __init__(self, data_dir: Path, settings: Settings, reader: Reader) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.reader = reader
        self._model: Model | None = None
        self._embedder: QueryEmbedder | None = None

    def possible_mode(self, mode: Mode, query: str, warnings: list[str]) -> Mode:
        """Keyword instead of hybrid where no vector of the query can be made; a service is asked for it now."""
        if mode == "keyword":
            return mode
        built = built_with(self.reader.connection)
        model = self._model = self._model or self._chosen_model(built)
        check_model(built, model.spec.name, model.spec.key)
        try:
            embedder = self._load(model)
            if model.endpoint and (meaning := _meaning(query, parse(query))):
                embedder.embed_query(meaning)  # which it keeps
        except ModelError as error:
            if mode == "semantic":
                raise
            warnings.append(f"searched by words only: {error.message} {error.hint}")
            return "keyword"
        return mode

    def _chosen_model(self, built: BuiltWith) -> Model:
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

    def vector_of(self, query: str, parsed: ParsedQuery) -> Callable[[], Vector]:
        """What makes the vector of a query, once, when it is first asked for."""
        assert self._embedder is not None  # `possible_mode` loaded it  # noqa: S101
        return cache(partial(self._embedder.embed_query, _meaning(query, parsed)))

    def rank(
        self,
        mode: Mode,
        parsed: ParsedQuery,
        vector: Callable[[], Vector] | None,
        depth: int,
        admitted: Admitted | None,
        allowed: Callable[[], Ids | None],
        words: LexicalHits | None = None,
    ) -> Ranking:
        """`vector` may be missing where the mode is `keyword`; `allowed` is what `self.allowed` says of the same.

        `words`: all that there are by words, where a look less deep has come to their end.
        """
        if vector is None:
            # A process for one search would load numpy for it, which takes longer than a search.
            words = self._by_words(parsed, depth, admitted, allowed if self.reader.stays_open else _unknown)
            ranked = list(zip(words.chunk_ids, words.shares, strict=True))
            return Ranking(ranked=ranked, words=words, missing=words.missing, total=words.total)
        matrix, among = self.reader.matrix(), allowed()
        if mode == "semantic":
            with on_first_core():
                nearest = self._nearest(matrix, vector(), depth, among)
            ranked = list(zip(nearest.chunk_ids, nearest.scores, strict=True))
            words = self._held(parsed, nearest.chunk_ids[:NEAREST_READ])
            held = dict(zip(words.chunk_ids, words.shares, strict=True))
            return Ranking(
                ranked=ranked,
                nearest=ranked,
                held=held,
                missing=words.missing,
                among=nearest.total,
                total=nearest.total,
            )
        search = self.reader.lexical().search
        begun = None if words else _beside().submit(search, parsed, depth, *_among(admitted), allowed)
        by_words = cache(lambda: words or self._by_words(parsed, depth, admitted, allowed, begun))
        with on_first_core():
            nearest = self._nearest(matrix, vector(), depth, among, lambda: by_words().chunk_ids)
        return self._fused(by_words(), nearest, matrix)

    def _fused(self, words: LexicalHits, nearest: Nearest, matrix: Matrix) -> Ranking:
        wanted = self.settings.search
        by_meaning = list(zip(nearest.chunk_ids, nearest.scores, strict=True))
        by_words = tuple(zip(words.chunk_ids, words.shares, strict=True))
        found = Found(keyword=by_words, semantic=by_meaning, cosines=nearest.further)
        hits = fuse(found, wanted.fusion, Knobs(semantic_weight=wanted.semantic_weight, rrf_k=wanted.rrf_k))
        if wanted.fusion == "weighted" and wanted.regularization:
            likeness = matrix.likeness([hit.id for hit in hits[:LOOKED_AT]])
            hits = regularize(hits, likeness, wanted.regularization)
        return Ranking(
            ranked=[(hit.id, hit.score) for hit in hits], words=words, nearest=by_meaning, among=nearest.total,
            further=nearest.further, fused=hits, missing=words.missing, total=max(words.total, len(hits)),
        )  # fmt: skip

    def _held(self, parsed: ParsedQuery, chunk_ids: Sequence[int]) -> LexicalHits:
        """The words' share in each of these chunks that holds any: a cosine alone does not know a short query's own passage."""
        among = Admitted(documents=frozenset(), chunks=frozenset(chunk_ids))
        return self._by_words(parsed, NEAREST_READ, among)

    def _by_words(
        self,
        parsed: ParsedQuery,
        limit: int,
        admitted: Admitted | None,
        allowed: Callable[[], Ids | None] = _unknown,
        begun: Future[LexicalHits] | None = None,
    ) -> LexicalHits:
        """`begun`: this very search, where another thread has it."""
        among = (*_among(admitted), allowed)
        try:
            return begun.result() if begun else self.reader.lexical().search(parsed, limit, *among)
        except LexicalDamaged:  # damage inside a segment shows only now
            return self.reader.rebuilt_lexical().search(parsed, limit, *among)

    def allowed(self, parsed: ParsedQuery, admitted: Admitted | None) -> Ids | None:
        """The chunks that a vector may find, ascending: those admitted, without the words that are excluded."""
        allowed = None if admitted is None else self.reader.chunk_ids(admitted)
        if not parsed.excluded:
            return allowed
        import numpy as np

        from index.columns import is_among

        among = self.reader.matrix().chunk_ids if allowed is None else allowed
        return among[~is_among(among, np.array(self._holding(parsed.excluded, admitted), np.int64))]

    def _holding(self, phrases: tuple[Phrase, ...], admitted: Admitted | None) -> list[int]:
        among = _among(admitted)
        try:
            return self.reader.lexical().holding(phrases, *among)
        except LexicalDamaged:  # as below
            return self.reader.rebuilt_lexical().holding(phrases, *among)

    def _nearest(
        self, matrix: Matrix, vector: Vector, limit: int, allowed: Ids | None, further: Further = tuple
    ) -> Nearest:
        """Cosines below 0 are 0: what is the opposite is no worse than what has nothing to do with it."""
        assert self._model is not None  # `possible_mode` chose it  # noqa: S101
        if matrix.header.model != self._model.spec.key:
            raise ModelMismatch("the store switched to another model during the search", "ask again")
        found = matrix.search(vector, limit, allowed, further)
        return msgspec.structs.replace(
            found,
            scores=[max(0.0, score) for score in found.scores],
            further={chunk_id: max(0.0, score) for chunk_id, score in found.further.items()},
        )


@cache
def _beside() -> ThreadPoolExecutor:
    """Threads for the words, beside the vectors: onnxruntime and tantivy both let go of the interpreter."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(SEARCHES_AT_ONCE, initializer=leave_first_core)


def _among(admitted: Admitted | None) -> tuple[Collection[int] | None, Collection[int]]:
    """Documents and chunks, as `index.lexical` takes them."""
    return (None, ()) if admitted is None else (admitted.documents, admitted.chunks)


def _meaning(query: str, parsed: ParsedQuery) -> str:
    """What the model is asked: the query as it was typed, as far as it is read; without the words that it excludes, if there are any."""
    if not parsed.excluded:
        return beginning(query)
    return " ".join([word.text for word in parsed.words] + [phrase.text for phrase in parsed.phrases])
