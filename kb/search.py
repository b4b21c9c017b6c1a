"""Search: a request to an answer. Words and vectors side by side, fused by rank, joined back to the truth.

Not here: how words are matched (`index.lexical`), how a score is shown (`kb.cli.render`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Literal, Protocol

import msgspec
import numpy as np

from index import database, documents, filters
from index.errors import ModelMismatch
from index.filters import Filter
from index.lexical import Lexical, LexicalDamaged, LexicalHits
from index.matrix import Ids, Matrix
from index.query import MOST_WORDS, ParsedQuery, parse
from index.rows import ChunkRow, DocumentRow
from index.store import Reader, built_with, check_model, reading
from kb.citing import is_stale, lines_of
from kb.errors import BadRequest
from kb.fuse import reciprocal_ranks
from kb.model import Model, choose
from kb.settings import Settings
from kb.wire import Hit, HitSource, ScoreBreakdown, SearchAnswer
from models.errors import ModelError, ModelMissing

Mode = Literal["hybrid", "keyword", "semantic"]

CANDIDATES = 100
"""Hits that each search gives to the fusion; more where more results are asked for."""
DEEPER = 8
"""Times as many hits where --group found too few documents in those before."""
ROWS_A_QUERY = 500
"""Chunks read from SQLite at once."""
WEAK_COSINE = 0.40
"""Of the best hit. Measured with scripts/eval_search.py weak: questions that the documents answer have 0.51 and more (all but
5 %), questions about something else 0.30 and less (all but 5 %)."""
WEAK_SHARE = 0.13
"""As above: 0.14 and more, against 0.12 and less."""


class QueryEmbedder(Protocol):
    """What makes a query's vector: float32 (dim,), unit length."""

    def embed_query(self, text: str) -> object: ...


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One query and how it is to be answered."""

    query: str
    top: int
    mode: Mode = "hybrid"
    filter: Filter = Filter()
    min_score: float = 0.0
    group: bool = False
    """At most one hit a document: its best."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Chunk ids best first with their scores, and what each search said of them."""

    ranked: list[tuple[int, float]]
    shares: dict[int, float]
    cosines: dict[int, float]
    total: int
    unknown: tuple[str, ...] = ()


NOTHING = Ranking(ranked=[], shares={}, cosines={}, total=0)


def search(data_dir: Path, settings: Settings, requests: Sequence[Request]) -> list[SearchAnswer]:
    """Answer each request, in order, over one view of the store.

    Raises StoreMissing, BadRequest, ModelMismatch; ModelMissing only where the mode is `semantic`.
    """
    with reading(data_dir, settings.storage.lock_timeout_s) as reader:
        searcher = Searcher(data_dir, settings, reader)
        return [searcher.answer(request) for request in requests]


class Searcher:
    """A view of the store with what has been loaded for it: the model is opened once, and only if a vector is needed."""

    def __init__(self, data_dir: Path, settings: Settings, reader: Reader) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.reader = reader
        self._embedder: QueryEmbedder | None = None

    def answer(self, request: Request) -> SearchAnswer:
        started = perf_counter()
        if not request.query.strip():
            raise BadRequest("the query is empty", 'say what to look for: kb search "words"')
        warnings: list[str] = []
        parsed = parse(request.query)
        mode = self._possible_mode(request.mode, warnings)
        with database.snapshot(self.reader.connection):
            admitted = filters.document_ids(self.reader.connection, request.filter)
            ranking, hits = self._best(request, mode, parsed, admitted)
        warnings += _remarks(parsed, mode, admitted, ranking, hits)
        return SearchAnswer(
            query=request.query, mode=mode, results=tuple(hits), total_matches=ranking.total, returned=len(hits),
            took_ms=round((perf_counter() - started) * 1000, 3), warnings=(*self.reader.warnings, *warnings),
        )  # fmt: skip

    def _possible_mode(self, mode: Mode, warnings: list[str]) -> Mode:
        """Keyword instead of hybrid where no vector of the query can be made."""
        if mode == "keyword":
            return mode
        model = self._model()
        check_model(built_with(self.reader.connection), model.spec.name, model.spec.key)
        try:
            self._load(model)
        except ModelError as error:
            if mode == "semantic":
                raise
            warnings.append(f"searched by words only: {error.message} {error.hint}")
            return "keyword"
        return mode

    def _model(self) -> Model:
        built = built_with(self.reader.connection)
        try:
            return choose(self.settings.embedding, built)
        except ModelMissing as error:
            wanted = self.settings.embedding.model
            raise ModelMismatch(
                f"the store was built with {built.model_name}, the configuration says {wanted}, which is not here",
                f"{error.hint} Then switch the store: kb reindex --model {wanted}; or set embedding.model back",
            ) from error

    def _load(self, model: Model) -> QueryEmbedder:
        if self._embedder is None:
            self._embedder = model.load(self.data_dir)
        return self._embedder

    def _best(
        self, request: Request, mode: Mode, parsed: ParsedQuery, admitted: frozenset[int] | None
    ) -> tuple[Ranking, list[Hit]]:
        """The hits, looked for deeper as long as the best passages belong to too few documents (--group)."""
        if parsed.is_only_exclusions or (admitted is not None and not admitted):
            return NOTHING, []
        depth = max(CANDIDATES, request.top * 2)
        while True:
            ranking = self._rank(mode, request.query, parsed, depth, admitted)
            hits = self._hits(ranking, request)
            exhausted = len(ranking.ranked) < depth or ranking.ranked[-1][1] < request.min_score
            if exhausted or not request.group or len(hits) >= request.top:
                return ranking, hits
            depth *= DEEPER

    def _rank(
        self, mode: Mode, query: str, parsed: ParsedQuery, depth: int, admitted: frozenset[int] | None
    ) -> Ranking:
        if mode == "keyword":
            words = self._by_words(self.reader.lexical(), parsed, depth, admitted)
            ranked = list(zip(words.chunk_ids, words.shares, strict=True))
            return Ranking(ranked=ranked, shares=dict(ranked), cosines={}, total=words.total, unknown=words.unknown)
        if mode == "semantic":
            allowed = self._allowed(parsed, admitted)
            nearest, total = self._by_vector(self.reader.matrix(), _meaning(query, parsed), depth, allowed)
            return Ranking(ranked=nearest, shares={}, cosines=dict(nearest), total=total)
        lexical, matrix = self.reader.lexical(), self.reader.matrix()
        allowed = self._allowed(parsed, admitted)
        with ThreadPoolExecutor(1) as beside:  # tantivy and onnxruntime both let go of the interpreter
            waiting = beside.submit(self._by_words, lexical, parsed, depth, admitted)
            nearest, _ = self._by_vector(matrix, _meaning(query, parsed), depth, allowed)
            words = waiting.result()
        ranked = reciprocal_ranks([words.chunk_ids, [chunk_id for chunk_id, _ in nearest]], self.settings.search.rrf_k)
        shares = dict(zip(words.chunk_ids, words.shares, strict=True))
        total = max(words.total, len(ranked))
        return Ranking(ranked=ranked, shares=shares, cosines=dict(nearest), total=total, unknown=words.unknown)

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
        return np.setdiff1d(live, excluded.chunk_ids)

    def _by_vector(
        self, matrix: Matrix, query: str, limit: int, allowed: Ids | None
    ) -> tuple[list[tuple[int, float]], int]:
        if matrix.header.model != self._model().spec.key:
            raise ModelMismatch("the store switched to another model during the search", "ask again")
        assert self._embedder is not None  # `_possible_mode` loaded it  # noqa: S101
        nearest = matrix.search(self._embedder.embed_query(query), limit, allowed)  # type: ignore[arg-type]
        scores = [max(0.0, score) for score in nearest.scores]
        return list(zip(nearest.chunk_ids, scores, strict=True)), nearest.total

    def _hits(self, ranking: Ranking, request: Request) -> list[Hit]:
        """The best chunks that exist, as the answer has them."""
        kept = [(chunk_id, score) for chunk_id, score in ranking.ranked if score >= request.min_score]
        seen: set[int] = set()
        chosen: list[tuple[ChunkRow, float]] = []
        for chunk, score in self._existing(kept):
            if request.group and chunk.document_id in seen:
                continue
            seen.add(chunk.document_id)
            chosen.append((chunk, score))
            if len(chosen) == request.top:
                break
        rows = documents.by_ids(self.reader.connection, {chunk.document_id for chunk, _ in chosen})
        return [_hit(chunk, rows[chunk.document_id], score, ranking) for chunk, score in chosen]

    def _existing(self, ranked: Sequence[tuple[int, float]]) -> Iterator[tuple[ChunkRow, float]]:
        """Those of the ranked chunks that the store still has."""
        for first in range(0, len(ranked), ROWS_A_QUERY):
            part = ranked[first : first + ROWS_A_QUERY]
            chunks = documents.chunks_by_ids(self.reader.connection, [chunk_id for chunk_id, _ in part])
            yield from ((chunks[chunk_id], score) for chunk_id, score in part if chunk_id in chunks)


def _hit(chunk: ChunkRow, document: DocumentRow, score: float, ranking: Ranking) -> Hit:
    share, cosine = ranking.shares.get(chunk.id), ranking.cosines.get(chunk.id)
    return Hit(
        chunk_id=chunk.id,
        score=_rounded(score),
        score_breakdown=ScoreBreakdown(
            fts=None if share is None else _rounded(share), vector=None if cosine is None else _rounded(cosine)
        ),
        text=chunk.text,
        source=HitSource(
            document_id=document.id, title=document.title, path=document.source_path, type=document.doc_type,
            page=chunk.page, lines=lines_of(chunk), heading=chunk.heading, chunk_index=chunk.chunk_index,
            total_chunks=document.chunk_count, tags=document.tags, stale=is_stale(document),
        ),
    )  # fmt: skip


def _rounded(score: float) -> float:
    return round(min(1.0, max(0.0, score)), 6)


def _is_weak(best: Hit) -> bool:
    share, cosine = best.score_breakdown.fts, best.score_breakdown.vector
    return (share or 0.0) < WEAK_SHARE and (cosine or 0.0) < WEAK_COSINE


def _meaning(query: str, parsed: ParsedQuery) -> str:
    """What the model is asked: the query as it was typed; without the words that it excludes, if there are any."""
    if not parsed.excluded:
        return query
    return " ".join([word.text for word in parsed.words] + [phrase.text for phrase in parsed.phrases])


def _remarks(
    parsed: ParsedQuery, mode: Mode, admitted: frozenset[int] | None, ranking: Ranking, hits: Sequence[Hit]
) -> Iterator[str]:
    """What the caller should know to read an answer aright, above all an empty one."""
    if parsed.is_only_exclusions:
        yield "the query only excludes: say what to look for as well"
    elif parsed.is_empty and mode == "keyword":
        yield "the query holds no letter or digit to look for"
    if parsed.is_cut:
        yield f"only the first {MOST_WORDS} words of the query were searched"
    if admitted is not None and not admitted:
        yield "no document passes the filters"
    if ranking.unknown:
        words = ", ".join(f'"{word}"' for word in ranking.unknown)
        yield f"no document has {words}; similar words were searched where there are any"
    if hits and _is_weak(hits[0]):
        yield "no good match: the best hit is only loosely related to the query"
