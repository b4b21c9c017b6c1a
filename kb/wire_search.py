"""What a search answers: hits, how they came by their scores, and whether any fits (`kb.wire`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from kb.wire import Answer


class ScoreBreakdown(msgspec.Struct, frozen=True, kw_only=True):
    fts: float | None
    """Share of the highest BM25 score that this query could reach, in [0, 1]; null if the words were not found in it."""
    vector: float | None
    """Cosine of the query's and the chunk's embeddings, in [0, 1] (negative ones are 0); null in keyword search, and for a chunk
    that has no vector yet."""


class HitSource(msgspec.Struct, frozen=True, kw_only=True):
    document_id: int
    title: str
    path: str | None
    """Absolute; null for notes and standard input."""
    type: str
    page: int | None
    """Page, slide or sheet, from 1; the first, where it goes over the end of one."""
    pages: tuple[int, int] | None = None
    """First and last page; null where there are none. Only a PDF's passages, and a picture's, go over the end of a page."""
    lines: tuple[int, int] | None
    """First and last line in the file, from 1."""
    heading: str
    """Heading chain, `Config > Advanced`; of code the symbol that it defines; empty if there is neither."""
    chunk_index: int
    total_chunks: int
    tags: tuple[str, ...]
    stale: bool
    """The file on disk has changed since, or is gone."""
    ocr: bool | UnsetType = UNSET
    """Only there where it is true: the text was read from a picture, by OCR; letters and digits may be wrong."""
    meta: dict[str, str] = {}
    """What it was given with `kb add --meta`."""


class TagContext(msgspec.Struct, frozen=True, kw_only=True):
    tag: str
    description: str


class SourceContext(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str


class ExplainedList(msgspec.Struct, frozen=True, kw_only=True):
    """What one of the searches said of a hit."""

    score: float
    """keyword: BM25, comparable within one query only. semantic: the cosine."""
    rank: int | None
    """From 1; null for a hit by its words whose cosine was looked up, and which was not among the nearest."""
    contribution: float
    """Its part of the fused score."""


class ExplainedRerank(msgspec.Struct, frozen=True, kw_only=True):
    """`score` = `fused_weight` * fused + (1 - `fused_weight`) * `score` of the reranker."""

    score: float | None
    """In [0, 1]; null where the reranker did not read the hit, which counts as 0."""
    fused_weight: float
    """0.75 for the first three by the fused score, 0.60 up to the tenth, 0.40 after."""
    contribution: float
    """(1 - `fused_weight`) * `score`."""


FieldName = Literal["title", "heading", "body", "path"]


class TermMatch(msgspec.Struct, frozen=True, kw_only=True):
    term: str
    """A word or phrase of the query, as typed."""
    fields: tuple[FieldName, ...]
    """Where it or another form of it is in the hit; none: nowhere."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """How a hit came by its score. Contributions of `keyword` and `semantic`, `bonus` and `alike` add up to `fused`, which is the score where
    nothing was reranked.
    """

    fusion: str
    """`search.fusion`; the mode where only one search ran."""
    keyword: ExplainedList | None
    semantic: ExplainedList | None
    bonus: float
    alike: float
    """So much it comes up to the mean score of the five hits most like it, if that is higher (`search.regularization`)."""
    fused: float
    fused_rank: int
    """From 1, before the rerank; deleted chunks and those left out by --per-document count too."""
    rerank: ExplainedRerank | None
    terms: tuple[TermMatch, ...]


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    chunk_id: int
    score: float
    """In [0, 1]. keyword: as `fts`. semantic: as `vector`. hybrid: a weighted mean of both, 0.6 `fts` + 0.4 `vector` (null counts
    as 0), so that it says the same in every query. One of the first 30
    comes up half way to better ones that say alike. By another `search.fusion` it only orders this answer."""
    score_breakdown: ScoreBreakdown
    text: str
    source: HitSource
    tag_contexts: tuple[TagContext, ...] = ()
    """Those of its tags that somebody described (`kb tag describe`)."""
    source_context: SourceContext | None = None
    """The source that its document belongs to (`kb source add`)."""
    store: str | None = None
    """The data directory it is in, where several were searched."""
    explain: Explanation | None = None
    """Under --explain."""


class FoundBy(msgspec.Struct, frozen=True, kw_only=True):
    query: int
    """Which of `answers`, from 0."""
    rank: int
    """There, from 1; before --top and --per-document."""
    contribution: float
    """Its part of the score: 0.7 of its score there, if that is its best, else 0.3 of it, divided by the number of other queries."""


class FusedHit(Hit, frozen=True, kw_only=True):
    """A hit of several queries. `score`: 0.7 of its best, 0.3 of the mean of the others; `score_breakdown`: the best of any query; `explain` is in
    the answers to the single queries.
    """

    found_by: tuple[FoundBy, ...]


Confidence = Literal["strong", "weak", "none"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)


class SearchAnswer(Answer, frozen=True):
    query: str
    mode: Literal["hybrid", "keyword", "semantic"]
    """How it was searched; may differ from what was asked where no model is at hand."""
    results: tuple[Hit, ...]
    total_matches: int
    """Chunks that passed the filters and were found: by a word (keyword), by being live (semantic), by either (hybrid)."""
    returned: int
    confidence: Confidence = "none"
    """Whether anything here fits the query, by cosines and shares of its words. none: nothing is near it, what is shown is merely the
    nearest; weak: related; strong: one passage is near and holds much of the query, rare words before others, as questions with an answer in the store
    have one. Whether it says what was asked is for who reads it: a store that lacks the answer may be strong on the matter."""


class SearchAnswers(Answer, frozen=True):
    """Several queries asked at once, answered in their order."""

    answers: tuple[SearchAnswer, ...]
    fused: tuple[FusedHit, ...] = ()
    """The hits of all queries as one list, best first."""
    confidence: Confidence = "none"
    """The best of any query; each of `answers` has its own."""

    @classmethod
    def of(cls, answers: Iterable[SearchAnswer], fused: Iterable[FusedHit]) -> SearchAnswers:
        """Each warning once more, for those who look here only: one that is not of all queries with its query."""
        every = tuple(answers)
        of_all = set[str].intersection(*(set(answer.warnings) for answer in every))
        warnings = dict.fromkeys(
            warning if warning in of_all else f'"{answer.query}": {warning}'
            for answer in every
            for warning in answer.warnings
        )
        said = {answer.confidence for answer in every}
        return cls(
            answers=every, fused=tuple(fused), confidence=next(word for word in CONFIDENCES if word in said),
            took_ms=round(sum(answer.took_ms for answer in every), 3), warnings=tuple(warnings),
        )  # fmt: skip
