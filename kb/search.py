"""Search: a request to an answer: ranked, read by a reranker if wanted, joined back to the truth, with what should be said of it.

Not here: how it is ranked (`kb.retrieve`), which hits are shown (`kb.hits`), how a score is shown (`kb.cli.render`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from index import documents
from index.filters import Admitted, Filter
from index.query import MOST_CHARS, MOST_PARTS, MOST_WORDS, ParsedQuery, beginning, parse
from index.rows import ChunkRow
from index.store import Reader, reading
from kb import rerank
from kb.confidence import confidence
from kb.errors import BadRequest
from kb.explain import Explainer
from kb.hits import Scored, chosen, fused_hits_of, hits_of
from kb.ranking import NOTHING, Ranking
from kb.rerank import NotReranked
from kb.retrieve import Mode, Retriever
from kb.settings import Settings
from kb.together import together
from kb.wire_search import Confidence, FusedHit, Hit, SearchAnswer, SearchAnswers

if TYPE_CHECKING:
    from index.columns import Vectors

CANDIDATES = 100
"""Hits that each search gives to the fusion; more where more results are asked for."""
DEEPER = 8
"""Times as many hits where --group or --per-document found too few documents in those before."""
TRIES = 5
"""Looks at a store that somebody commits to meanwhile, until one look is at a single state of it."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One query and how it is to be answered."""

    query: str
    top: int
    mode: Mode = "hybrid"
    filter: Filter = Filter()
    min_score: float = 0.0
    group: bool = False
    """At most one hit a document: its best."""
    per_document: int | None = None
    """At most so many hits a document; None: as `kb.hits.PER_DOCUMENT` says."""
    rerank: bool | None = None
    """Let a reranker read the best hits; None: as the settings say."""
    explain: bool = False

    @property
    def limit(self) -> int | None:
        return 1 if self.group else self.per_document


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the store, before anything is made of it."""

    mode: Mode
    parsed: ParsedQuery
    ranking: Ranking
    hits: list[Hit]
    admits: bool
    """Whether anything passes the filters."""


def search(data_dir: Path, settings: Settings, requests: Sequence[Request]) -> list[SearchAnswer]:
    """Answer each request, in order, over one view of the store.

    Raises StoreMissing, BadRequest, ModelMismatch; ModelMissing only where the mode is `semantic`.
    """
    with reading(data_dir, settings.storage.lock_timeout_s) as reader:
        searcher = Searcher(data_dir, settings, reader)
        return [searcher.answer(request) for request in requests]


def search_together(data_dir: Path, settings: Settings, requests: Sequence[Request]) -> SearchAnswers:
    """As `search`, and the hits of all as one list, as long and as spread as the first request says.

    The time that a reranker has for one search is divided among them.
    """
    share = msgspec.structs.replace(settings.search, rerank_timeout_s=settings.search.rerank_timeout_s / len(requests))
    with reading(data_dir, settings.storage.lock_timeout_s) as reader:
        searcher = Searcher(data_dir, msgspec.structs.replace(settings, search=share), reader)
        found = [searcher.found(request) for request in requests]
        fused = searcher.together([ranking for _, ranking in found], requests)
        return SearchAnswers.of([answer for answer, _ in found], fused)


class Searcher:
    """Answers of one view of the store."""

    def __init__(self, data_dir: Path, settings: Settings, reader: Reader) -> None:
        self.settings = settings
        self.reader = reader
        self.retriever = Retriever(data_dir, settings, reader)

    def answer(self, request: Request) -> SearchAnswer:
        return self.found(request)[0]

    def found(self, request: Request) -> tuple[SearchAnswer, Ranking]:
        """The answer, and what it was made from."""
        started = perf_counter()
        if not request.query.strip():
            raise BadRequest("the query is empty", 'say what to look for: kb search "words"')
        warnings: list[str] = []
        look = self._look(request, self.retriever.possible_mode(request.mode, request.query, warnings))
        if request.rerank or (request.rerank is None and self.settings.search.rerank):
            look = self._reranked(look, request, warnings)
        sure = confidence(look.ranking) if look.hits else "none"
        warnings += _remarks(look, sure)
        answer = SearchAnswer(
            query=request.query, mode=look.mode, results=tuple(look.hits), total_matches=look.ranking.total,
            returned=len(look.hits), confidence=sure,
            took_ms=round((perf_counter() - started) * 1000, 3), warnings=(*self.reader.warnings, *warnings),
        )  # fmt: skip
        return answer, look.ranking

    def together(self, rankings: Sequence[Ranking], requests: Sequence[Request]) -> list[FusedHit]:
        """The hits of several requests as one list."""
        found = together([(ranking, request.min_score) for ranking, request in zip(rankings, requests, strict=True)])
        scores = [(chunk_id, one.score) for chunk_id, one in found.items()]
        first = requests[0]
        with self.reader.moment():
            connection = self.reader.connection
            page = chosen(connection, scores, first.top, first.limit)
            return fused_hits_of(connection, page, rankings, found)

    def _look(self, request: Request, mode: Mode) -> Look:
        parsed = parse(request.query)
        vector = None
        if mode != "keyword" and not parsed.is_only_exclusions:
            vector = self.retriever.vector_of(request.query, parsed)
        for _ in range(TRIES):
            with self.reader.moment():
                admitted = self.reader.admitted(request.filter)
                ranking, hits = self._best(request, mode, parsed, vector, admitted)
            if self.reader.is_of_one_moment:
                break
        admits = admitted is None or bool(admitted)
        return Look(mode=mode, parsed=parsed, ranking=ranking, hits=hits, admits=admits)

    def _reranked(self, look: Look, request: Request, warnings: list[str]) -> Look:
        """The same with its best hits in the reranker's order; outside of any snapshot, since this takes seconds."""
        wanted = self.settings.search
        until = perf_counter() + wanted.rerank_timeout_s
        best = [chunk_id for chunk_id, _ in look.ranking.ranked[: wanted.rerank_candidates]]
        if not best:
            return look
        with self.reader.moment():
            rows = documents.chunks_by_ids(self.reader.connection, best)
        passages = {chunk_id: _passage(rows[chunk_id]) for chunk_id in best if chunk_id in rows}
        try:
            scores = rerank.read(rerank.reranker_for(wanted), beginning(request.query), passages, until)
        except NotReranked as reason:
            warnings.append(f"not reranked: {reason}")
            return look
        blended = rerank.blend(look.ranking.ranked, scores)
        ranked = [(chunk_id, hit.score) for chunk_id, hit in blended.items()]
        ranking = msgspec.structs.replace(look.ranking, ranked=ranked, blended=blended)
        with self.reader.moment():
            hits = self._hits(self._page(ranking, request), ranking, request, look.mode, look.parsed)
        return msgspec.structs.replace(look, ranking=ranking, hits=hits)

    def _best(
        self,
        request: Request,
        mode: Mode,
        parsed: ParsedQuery,
        vector: Callable[[], Vectors] | None,
        admitted: Admitted | None,
    ) -> tuple[Ranking, list[Hit]]:
        """The hits, looked for deeper as long as the best passages belong to too few documents (--group, --per-document)."""
        if parsed.is_only_exclusions or (admitted is not None and not admitted):
            return NOTHING, []
        depth = max(CANDIDATES, request.top * 2)
        allowed = cache(partial(self.retriever.allowed, parsed, admitted))
        words = None
        while True:
            ranking = self.retriever.rank(mode, parsed, vector, depth, admitted, allowed, words)
            page = self._page(ranking, request)
            exhausted = len(ranking.ranked) < depth or ranking.ranked[-1][1] < request.min_score
            if exhausted or request.limit is None or len(page) >= request.top:
                return ranking, self._hits(page, ranking, request, mode, parsed)
            words = ranking.words if len(ranking.words.chunk_ids) < depth else None
            depth *= DEEPER

    def _page(self, ranking: Ranking, request: Request) -> list[Scored]:
        return chosen(self.reader.connection, ranking.at_least(request.min_score), request.top, request.limit)

    def _hits(
        self, page: Sequence[Scored], ranking: Ranking, request: Request, mode: Mode, parsed: ParsedQuery
    ) -> list[Hit]:
        fusion = self.settings.search.fusion if mode == "hybrid" else mode
        explainer = Explainer(ranking, parsed, fusion) if request.explain else None
        return hits_of(self.reader.connection, page, ranking, explainer)


def _passage(chunk: ChunkRow) -> str:
    """What a reranker reads: the text below its heading, which a part of a section does not repeat."""
    last = chunk.heading.rpartition(" > ")[2]
    return chunk.text if last in chunk.text else f"{chunk.heading}\n\n{chunk.text}"


def _remarks(look: Look, sure: Confidence) -> Iterator[str]:
    """What the caller should know to read an answer aright, above all an empty one."""
    parsed = look.parsed
    if parsed.is_only_exclusions:
        yield "the query only excludes: say what to look for as well"
    elif parsed.is_empty and look.mode == "keyword":
        yield "the query holds no letter or digit to look for"
    if parsed.is_cut:
        yield (
            f"only the first {MOST_WORDS} words of the query were searched, the first {MOST_PARTS} parts of words,"
            f" and nothing after {MOST_CHARS:,} characters"
        )
    if not look.admits:
        yield "no document passes the filters"
    if look.ranking.words.unknown:
        words = ", ".join(f'"{word}"' for word in look.ranking.words.unknown)
        yield f"no document has {words}; similar words were searched where there are any"
    if look.hits and sure == "none":
        yield "no good match: the best hit is only loosely related to the query"
