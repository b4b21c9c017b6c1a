"""What the tools answer, as types: a tool's output schema and its `structuredContent` are made of the same.

Small by default: what has its default is left out, and the fields below "With `detail: full`" are given then only. The parts are those that
`kb search -j` prints (`kb.wire`, `kb.wire_search`).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from kb.wire import ChunkText, StatusAnswer, TagSummary
from kb.wire_search import Confidence, Explanation, ScoreBreakdown, SourceContext, TagContext

Lines = Annotated[tuple[int, int], Meta(description="First and last line in the file, from 1.")]
Pages = Annotated[tuple[int, int], Meta(description="First and last page, where it is on more than `page`.")]
Stale = Annotated[bool, Meta(description="The file has changed since it was read, or is gone.")]
Ocr = Annotated[
    bool,
    Meta(
        description="The text was read from a picture: letters and digits may be wrong. `view` it before you quote a number."
    ),
]
NextOffset = Annotated[int, Meta(description="There is more: call again with this as `offset`.")]


class Given(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every answer has. Last, since these are `kw_only` and the fields of the answers themselves are not."""

    warnings: Annotated[tuple[str, ...], Meta(description="What to act on or to pass on.")] = ()
    took_ms: float = 0.0


class Passage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    chunk_id: Annotated[int, Meta(description="For `get`, `similar` and `view`.")]
    document_id: int
    score: Annotated[float, Meta(description="How well it fits, from 0 to 1, the same in every query.")]
    title: str
    path: str | None = None
    type: str
    page: Annotated[int, Meta(description="Page, slide or sheet, from 1.")] | None = None
    pages: Pages | None = None
    lines: Lines | None = None
    heading: str = ""
    tags: tuple[str, ...] = ()
    stale: Stale = False
    ocr: Ocr = False
    text: Annotated[str, Meta(description="An … says where it is cut.")]
    found_by: Annotated[
        tuple[int, ...], Meta(description="By which of `queries`, from 0; left out where there is one.")
    ] = ()
    explain: Explanation | None = None
    # With `detail: full`
    score_breakdown: ScoreBreakdown | None = None
    chunk_index: int | None = None
    total_chunks: int | None = None
    tag_contexts: tuple[TagContext, ...] = ()
    source_context: SourceContext | None = None
    meta: Annotated[dict[str, str], Meta(description="What it was given; of a note always.")] = {}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    mode: str
    confidence: Confidence
    total_matches: int


class Passages(Given, frozen=True, omit_defaults=True):
    confidence: Annotated[
        Confidence,
        Meta(
            description="strong: the matter is there; check that a text says what was asked. weak: related. none: nothing fits, so say "
            "that rather than stretch it. Of several queries the best; each of `queries` has its own."
        ),
    ]
    queries: tuple[Asked, ...]
    results: tuple[Passage, ...]
    next_offset: NextOffset | None = None


class Alike(Given, frozen=True, omit_defaults=True):
    to: Annotated[str, Meta(description="The document or passage that was compared.")]
    results: Annotated[tuple[Passage, ...], Meta(description="`score` is the cosine: above 0.5 is close in meaning.")]


class Extract(Given, frozen=True, omit_defaults=True):
    document_id: int
    title: str
    type: str
    text: str
    characters: Annotated[int, Meta(description="Of the whole, of which `text` may be a part.")]
    path: str | None = None
    page: int | None = None
    pages: Pages | None = None
    lines: Lines | None = None
    heading: str = ""
    tags: tuple[str, ...] = ()
    stale: Stale = False
    ocr: Ocr = False
    next_offset: NextOffset | None = None
    # With `detail: full`
    chunks: tuple[ChunkText, ...] = ()


class Listed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    document_id: int
    title: str
    path: str | None = None
    type: str
    tags: tuple[str, ...] = ()
    chunks: int
    modified_at: str
    stale: Stale = False
    # With `detail: full`
    language: str | None = None
    size: Annotated[int, Meta(description="Bytes.")] | None = None
    created_at: str | None = None
    meta: dict[str, str] = {}


class Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    path: str
    status: Annotated[str, Meta(description="`failed`: it could not be read. `no_text`: it was read, and holds none.")]
    reason: str
    # With `detail: full`
    failed_at: str | None = None


class Listing(Given, frozen=True, omit_defaults=True):
    documents: tuple[Listed, ...]
    total: Annotated[int, Meta(description="How many there are, on this page or not.")]
    files: Annotated[tuple[Failed, ...], Meta(description="With `failed`, in the place of documents.")] = ()
    next_offset: NextOffset | None = None


class Folder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    path: str
    documents: int
    synced_at: str | None = None


class Overview(Given, frozen=True, omit_defaults=True):
    documents: int
    chunks: int
    by_type: dict[str, int]
    tags: tuple[TagSummary, ...]
    sources: Annotated[tuple[Folder, ...], Meta(description="Folders that the store is kept in step with.")]
    by_meaning: Annotated[bool, Meta(description="Whether the model is here; without it only words are searched.")]
    can_rerank: bool
    can_write: Annotated[bool, Meta(description="Whether `add_note` may be called.")]
    failed: Annotated[
        int, Meta(description="Files that could not be read or hold no text: `list` with `failed` says which.")
    ] = 0
    last_added_at: str | None = None
    # With `detail: full`
    store: StatusAnswer | None = None


class Shown(Given, frozen=True, omit_defaults=True):
    document_id: int
    title: str
    path: str | None = None
    page: int | None = None
    page_count: int | None = None
    lines: Lines | None = None
    stale: Stale = False
    text: Annotated[str, Meta(description="What the picture shows of the passage, as text.")] = ""


class Kept(Given, frozen=True, omit_defaults=True):
    status: Annotated[str, Meta(description="`added`, or `skipped`: the same note is in the store already.")]
    title: str
    document_id: int | None = None
    redacted: Annotated[int, Meta(description="Passwords and keys in it that were not stored.")] = 0


class Result(msgspec.Struct, frozen=True):
    """An answer, and a picture that goes with it."""

    answer: Given
    png: bytes | None = None
