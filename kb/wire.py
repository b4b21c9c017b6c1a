"""The answers of every command as types: what `-j` prints is `msgspec.json.encode` of one of these.

A stable contract: fields may be added, never renamed or removed. `docs/schema.json` is generated from here.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


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


class AddedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str | None
    title: str
    status: str
    """`added`, `replaced`, `appended` (to a transcript that has grown), `moved`, `skipped`, `no_text`, `failed` or `would_add`."""
    document_id: int | None = None
    chunks: int = 0
    """Those that are new."""
    reason: str = ""
    redacted: int = 0
    """Secrets that were put out of it; of which kinds is in its metadata."""


class AddAnswer(Answer, frozen=True):
    documents: tuple[AddedFile, ...]
    added: int
    """Replaced and appended ones are among them."""
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
    originals: int = 0
    """Files that were kept as they are (--keep-original)."""
    redacted: int = 0
    """Secrets that were put out of the documents; each place counts."""


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
    meta: dict[str, str] = {}
    """What it was given with `kb add --meta`."""
    warnings: tuple[str, ...] = ()
    """What was said of the file when it was read: it was damaged, a part of it is missing."""


class ListAnswer(Answer, frozen=True):
    documents: tuple[DocumentSummary, ...]
    total: int
    offset: int
    returned: int


class ChunkText(msgspec.Struct, frozen=True, kw_only=True):
    chunk_id: int
    chunk_index: int
    """From 0; the last one's is one less than the document's `chunks`."""
    text: str
    heading: str
    """Heading chain, `Config > Advanced`; of code the symbol that it defines; empty if there is neither."""
    page: int | None
    """Page, slide or sheet, from 1; the first, where it goes over the end of one."""
    pages: tuple[int, int] | None = None
    """First and last page; null where there are none."""
    lines: tuple[int, int] | None
    token_count: int
    metadata: dict[str, Any]
    ocr: bool | UnsetType = UNSET
    """Only there where it is true: the text was read from a picture, by OCR; letters and digits may be wrong."""


class ShowAnswer(Answer, frozen=True):
    """Its warnings are those that were given when the document was read."""

    document: DocumentSummary
    extractor: str
    content_hash: str
    metadata: dict[str, Any]
    chunks: tuple[ChunkText, ...]
    original: str | None = None
    """The name of its file, where that was kept as it was (`kb get --original`)."""


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


class EmbeddingStatus(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    """onnx: the model is on this machine."""
    url: str
    """Where texts and queries are sent; empty: nowhere."""
    available: bool
    """Whether the model's files are here, or there is an address and a key to ask with. Nobody is asked."""
    reason: str
    """Why not, and what mends it."""


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str
    documents: int
    synced_at: str | None
    """When a sync last went through it to the end; null: never."""


class WatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Of `kb sync --watch`."""

    running: bool
    pid: int
    started_at: str
    beat_at: str
    """When it last said that it lives: every few seconds."""
    looked_at: str | None = None
    """When it last looked for changes: whenever the system tells of one, and every five minutes."""
    trouble: str = ""
    """Why it could not do its work the last time."""


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Of what is added in the background (`kb jobs`)."""

    waiting: int
    running: int
    failed: int
    """Jobs, not files: of each some files failed, or all of it. `kb jobs retry` does them once more."""
    worker: int | None
    """The process that works them off; null: none does."""


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
    """Rows of the matrix, dead ones and those of windows included."""
    dead_rows: int
    waiting: int
    """Distinct texts without a vector: `kb reindex` makes them."""
    failed_files: int
    """`kb list --failed` says which, and why."""
    no_text_files: int
    schema_version: int
    database_bytes: int
    matrix_bytes: int
    lexical_bytes: int
    last_added_at: str | None
    rerank: RerankStatus | None = None
    embedding: EmbeddingStatus | None = None
    unembedded: int = 0
    """Texts that the model could not embed: found by words only, until `kb reindex --retry` succeeds."""
    sources: tuple[SourceStatus, ...] = ()
    watch: WatchStatus | None = None
    """null: nobody watches. Not running: the last one died."""
    windows: int = 0
    """Words a window of a chunk that has a vector too, beside the whole; 0: there are none."""
    jobs: QueueStatus | None = None


class ScrubbedDocument(msgspec.Struct, frozen=True, kw_only=True):
    document_id: int
    title: str
    path: str | None
    redacted: dict[str, int]
    """How many secrets of each kind."""


class ScrubAnswer(Answer, frozen=True):
    documents: tuple[ScrubbedDocument, ...]
    """Those that held secrets."""
    redacted: int
    chunks: int
    """Those whose text, heading or context held one; each is a new chunk now."""
    embedded: int
    """Texts that were given to the model."""
    originals: int
    """Files kept as they were, which held secrets and are no more in the store."""
    left: int
    """Documents of sources whose rules say that nothing is to be scrubbed (--all takes them too)."""
    dry_run: bool


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
    unembedded: int = 0
    """Texts that this model could not embed."""
    windows: int = 0
    """Words a window of a chunk that has a vector too; 0: there are none."""
    previous_windows: int = 0


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
