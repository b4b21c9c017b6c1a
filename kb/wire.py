"""The answers of every command as types: what `-j` prints is `msgspec.json.encode` of one of these.

A stable contract: fields may be added, never renamed or removed. `docs/schema.json` is generated from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import msgspec


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What every answer has. Printed last, since these are `kw_only` and the fields of the answers themselves are not."""

    took_ms: float = 0.0
    """Milliseconds from the request to the answer, process start left out."""
    warnings: tuple[str, ...] = ()
    """What the caller should know, one sentence each."""


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    """The name of the error, e.g. `StoreLocked`."""
    message: str
    hint: str
    exit_code: int


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Printed on standard output under -j instead of an answer."""

    error: ErrorBody


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
    """Page, slide or sheet, from 1."""
    lines: tuple[int, int] | None
    """First and last line in the file, from 1."""
    heading: str
    """Heading chain, `Config > Advanced`; empty if there is none."""
    chunk_index: int
    total_chunks: int
    tags: tuple[str, ...]
    stale: bool
    """The file on disk has changed since, or is gone."""


class TagContext(msgspec.Struct, frozen=True, kw_only=True):
    tag: str
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


class TermMatch(msgspec.Struct, frozen=True, kw_only=True):
    term: str
    """A word or phrase of the query, as typed."""
    fields: tuple[Literal["title", "heading", "body", "path"], ...]
    """Where it or another form of it is in the hit; none: nowhere."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """How a hit came by its score. Contributions of `keyword`, `semantic` and `bonus` add up to `fused`, which is the score where
    nothing was reranked.
    """

    fusion: str
    """`search.fusion`; the mode where only one search ran."""
    keyword: ExplainedList | None
    semantic: ExplainedList | None
    bonus: float
    fused: float
    fused_rank: int
    """From 1, before the rerank; deleted chunks and those left out by --per-document count too."""
    rerank: ExplainedRerank | None
    terms: tuple[TermMatch, ...]


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    chunk_id: int
    score: float
    """In [0, 1]. keyword: as `fts`. semantic: as `vector`. hybrid: a weighted mean of both, 0.6 `fts` + 0.4 `vector` (null counts
    as 0), so that it says the same in every query; by another `search.fusion` it only orders this answer."""
    score_breakdown: ScoreBreakdown
    text: str
    source: HitSource
    tag_contexts: tuple[TagContext, ...] = ()
    """Those of its tags that somebody described (`kb tag describe`)."""
    explain: Explanation | None = None
    """Under --explain."""


class FoundBy(msgspec.Struct, frozen=True, kw_only=True):
    query: int
    """Which of `answers`, from 0."""
    rank: int
    """There, from 1; before --top and --per-document."""
    contribution: float
    """Its part of the score: its score there, divided by the number of queries."""


class FusedHit(Hit, frozen=True, kw_only=True):
    """A hit of several queries. `score`: the mean of its scores there; `score_breakdown`: the best of any query; `explain` is in
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
    """Whether anything here answers the query, by the best cosine and the best share of its words. none: nothing is near it, what
    is shown is merely the nearest; weak: related; strong: what questions with an answer in the store look like."""


class SearchAnswers(Answer, frozen=True):
    """Several queries asked at once, answered in their order."""

    answers: tuple[SearchAnswer, ...]
    fused: tuple[FusedHit, ...] = ()
    """The hits of all queries as one list, best first."""
    confidence: Confidence = "none"
    """The best of any query."""

    @classmethod
    def of(cls, answers: Iterable[SearchAnswer], fused: Iterable[FusedHit]) -> SearchAnswers:
        """Each warning once more, for those who look here only."""
        every = tuple(answers)
        warnings = dict.fromkeys(warning for answer in every for warning in answer.warnings)
        said = {answer.confidence for answer in every}
        return cls(
            answers=every, fused=tuple(fused), confidence=next(word for word in CONFIDENCES if word in said),
            took_ms=round(sum(answer.took_ms for answer in every), 3), warnings=tuple(warnings),
        )  # fmt: skip


class AddedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str | None
    title: str
    status: str
    """`added`, `replaced`, `moved`, `skipped`, `no_text`, `failed` or `would_add`."""
    document_id: int | None = None
    chunks: int = 0
    reason: str = ""


class AddAnswer(Answer, frozen=True):
    documents: tuple[AddedFile, ...]
    added: int
    """Replaced ones are among them."""
    failed: int
    skipped: int
    """Already indexed, moved ones among them."""
    no_text: int
    unsupported: int
    """Files in directories whose type cannot be read."""
    ignored: int
    """Files and directories left out by .gitignore, .kbignore or --exclude."""
    chunks: int
    embedded: int
    """Texts that were given to the model; the others had their vectors already."""


class DocumentSummary(msgspec.Struct, frozen=True, kw_only=True):
    document_id: int
    title: str
    path: str | None
    type: str
    tags: tuple[str, ...]
    language: str | None
    chunks: int
    size: int
    """Bytes."""
    created_at: str
    modified_at: str
    stale: bool


class ListAnswer(Answer, frozen=True):
    documents: tuple[DocumentSummary, ...]
    total: int
    offset: int
    returned: int


class ChunkText(msgspec.Struct, frozen=True, kw_only=True):
    chunk_id: int
    chunk_index: int
    text: str
    heading: str
    page: int | None
    lines: tuple[int, int] | None
    token_count: int
    metadata: dict[str, Any]


class ShowAnswer(Answer, frozen=True):
    document: DocumentSummary
    extractor: str
    content_hash: str
    metadata: dict[str, Any]
    chunks: tuple[ChunkText, ...]


class GetAnswer(Answer, frozen=True):
    document: DocumentSummary
    text: str
    chunks: tuple[ChunkText, ...]


class RemoveAnswer(Answer, frozen=True):
    removed: tuple[DocumentSummary, ...]
    chunks: int


class TagSummary(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    documents: int


class TagAnswer(Answer, frozen=True):
    tags: tuple[TagSummary, ...]
    changed: int = 0
    """Documents or tags that this command changed."""


class RerankStatus(msgspec.Struct, frozen=True, kw_only=True):
    enabled: bool
    """Whether a search reranks without being told to (`search.rerank`)."""
    model: str
    url: str
    """Of the service that reads the hits; empty: a model on this machine does."""
    available: bool
    reason: str
    """Why it is not available, and what mends it."""


class StatusAnswer(Answer, frozen=True):
    data_dir: str
    documents: int
    chunks: int
    by_type: dict[str, int]
    tags: int
    model: str
    embedding_dim: int
    model_max_tokens: int
    rows: int
    """Rows of the matrix, dead ones included."""
    dead_rows: int
    waiting: int
    """Distinct texts without a vector: `kb reindex` makes them."""
    failed_files: int
    no_text_files: int
    schema_version: int
    database_bytes: int
    matrix_bytes: int
    lexical_bytes: int
    last_added_at: str | None
    rerank: RerankStatus | None = None


class CompactAnswer(Answer, frozen=True):
    rows_before: int
    rows_after: int
    vectors_purged: int
    reclaimed_bytes: int
    vacuumed: bool


class ReindexAnswer(Answer, frozen=True):
    model: str
    previous_model: str
    embedded: int
    reused: int
    chunks_over_limit: int
    """Chunks longer than this model sees; their end is found by words only."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ok: bool
    problems: tuple[str, ...]
    mended: bool = False


class DaemonAnswer(Answer, frozen=True):
    running: bool
    pid: int | None = None
    version: str = ""
    started_at: str = ""
    requests: int = 0
    idle_s: float = 0.0
    """Seconds since the last question."""
    resident_bytes: int = 0
    """What is in memory now."""
    shared_bytes: int = 0
    """The part of it that is mapped files, such as matrix, model and libraries: given back when memory is short."""


class DoctorAnswer(Answer, frozen=True):
    ok: bool
    checks: tuple[CheckResult, ...]
    engines: dict[str, str] = {}
    """What reads what, and why."""


class BenchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Means over queries."""

    backend: str
    type: str | None
    """The queries of this type; null: all of them."""
    queries: int
    precision_at_k: float
    """Share of the first k documents that are relevant, each query with its own k."""
    recall_at_k: float
    """Share of the relevant documents that are among the first k."""
    mrr: float
    """Mean of 1 / rank of the first relevant document; 0 where none was returned."""
    ndcg_at_10: float
    latency_ms: float
    """Median, with the model loaded."""
    latency_p95_ms: float


class BenchOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one backend made of one query."""

    precision_at_k: float
    recall_at_k: float
    reciprocal_rank: float
    ndcg_at_10: float
    latency_ms: float
    ranks: dict[str, int]
    """Rank of each relevant document that was returned, by what the fixture calls it."""
    missed: tuple[str, ...]
    """Relevant documents that were not returned."""


class BenchQuery(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    query: str
    type: str
    """Empty if the fixture says none."""
    k: int
    outcomes: dict[str, BenchOutcome]
    """By backend."""


class BenchChange(msgspec.Struct, frozen=True, kw_only=True):
    """A query whose nDCG@10 is another than in the run compared with."""

    backend: str
    id: str
    query: str
    before: float
    after: float


class BenchComparison(msgspec.Struct, frozen=True, kw_only=True):
    with_run: str
    """The file of the earlier run."""
    ndcg_at_10: dict[str, tuple[float, float]]
    """By backend: then and now, over the queries that both runs hold."""
    better: tuple[BenchChange, ...]
    """Greatest change first, as are the next."""
    worse: tuple[BenchChange, ...]


class BenchAnswer(Answer, frozen=True):
    """A run; what `kb bench --save` writes, and `--compare` reads."""

    fixture: str
    backends: tuple[str, ...]
    summary: tuple[BenchSummary, ...]
    """For each backend a row of all queries, then one of each type."""
    queries: tuple[BenchQuery, ...]
    comparison: BenchComparison | None = None


class SettingValue(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    value: Any
    origin: str
    variable: str
    note: str = ""


class ConfigAnswer(Answer, frozen=True):
    data_dir: str
    settings: tuple[SettingValue, ...]


class InitAnswer(Answer, frozen=True):
    data_dir: str
    model: str
    model_path: str
    created: bool
    reranker: str | None = None
    """Under --rerank: the one that is here now."""
    reranker_path: str | None = None
