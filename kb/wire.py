"""The answers of every command as types: what `-j` prints is `msgspec.json.encode` of one of these.

A stable contract: fields may be added, never renamed or removed. `docs/schema.json` is generated from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What every answer has."""

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
    """Cosine of the query's and the chunk's embeddings, in [0, 1] (negative ones are 0); null if it was not among the nearest."""


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


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    chunk_id: int
    score: float
    """In [0, 1]. keyword: as `fts`. semantic: as `vector`. hybrid: the fused rank; 1 is first in both searches, 0.5 first in
    one and absent from the other. It orders this answer; how good a hit is on its own says the breakdown."""
    score_breakdown: ScoreBreakdown
    text: str
    source: HitSource


class SearchAnswer(Answer, frozen=True, kw_only=True):
    query: str
    mode: Literal["hybrid", "keyword", "semantic"]
    """How it was searched; may differ from what was asked where no model is at hand."""
    results: tuple[Hit, ...]
    total_matches: int
    """Chunks that passed the filters and were found: by a word (keyword), by being live (semantic), by either (hybrid)."""
    returned: int


class SearchAnswers(Answer, frozen=True, kw_only=True):
    """Several queries asked at once, answered in their order."""

    answers: tuple[SearchAnswer, ...]

    @classmethod
    def of(cls, answers: Iterable[SearchAnswer]) -> SearchAnswers:
        """Each warning once more, for those who look here only."""
        every = tuple(answers)
        warnings = dict.fromkeys(warning for answer in every for warning in answer.warnings)
        return cls(answers=every, took_ms=round(sum(answer.took_ms for answer in every), 3), warnings=tuple(warnings))


class AddedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str | None
    title: str
    status: str
    """`added`, `replaced`, `moved`, `skipped`, `no_text`, `failed` or `would_add`."""
    document_id: int | None = None
    chunks: int = 0
    reason: str = ""


class AddAnswer(Answer, frozen=True, kw_only=True):
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


class ListAnswer(Answer, frozen=True, kw_only=True):
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


class ShowAnswer(Answer, frozen=True, kw_only=True):
    document: DocumentSummary
    extractor: str
    content_hash: str
    metadata: dict[str, Any]
    chunks: tuple[ChunkText, ...]


class GetAnswer(Answer, frozen=True, kw_only=True):
    document: DocumentSummary
    text: str
    chunks: tuple[ChunkText, ...]


class RemoveAnswer(Answer, frozen=True, kw_only=True):
    removed: tuple[DocumentSummary, ...]
    chunks: int


class TagSummary(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    documents: int


class TagAnswer(Answer, frozen=True, kw_only=True):
    tags: tuple[TagSummary, ...]
    changed: int = 0
    """Documents or tags that this command changed."""


class StatusAnswer(Answer, frozen=True, kw_only=True):
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


class CompactAnswer(Answer, frozen=True, kw_only=True):
    rows_before: int
    rows_after: int
    vectors_purged: int
    reclaimed_bytes: int
    vacuumed: bool


class ReindexAnswer(Answer, frozen=True, kw_only=True):
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


class DoctorAnswer(Answer, frozen=True, kw_only=True):
    ok: bool
    checks: tuple[CheckResult, ...]
    engines: dict[str, str] = {}
    """What reads what, and why."""


class SettingValue(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    value: Any
    origin: str
    variable: str
    note: str = ""


class ConfigAnswer(Answer, frozen=True, kw_only=True):
    data_dir: str
    settings: tuple[SettingValue, ...]


class InitAnswer(Answer, frozen=True, kw_only=True):
    data_dir: str
    model: str
    model_path: str
    created: bool
