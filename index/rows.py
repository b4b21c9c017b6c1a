"""The rows of the store as values: what goes in, and what comes out."""

from __future__ import annotations

from typing import Any

import msgspec

from index.originals import Packed


class NewChunk(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    heading: str
    context: str
    text_hash: bytes
    """sha256 of what is embedded (`context` and `text`); the key of its vector."""
    token_count: int
    page: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    metadata: dict[str, Any] = {}


class NewDocument(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    source_path: str | None
    content_hash: str
    doc_type: str
    modified_at: str
    size: int
    extractor: str
    chunks: tuple[NewChunk, ...]
    language: str | None = None
    mtime_ns: int | None = None
    metadata: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    stated_tags: tuple[str, ...] = ()
    """Those among them that the file itself states."""
    title_is_name: bool = False
    """The title is the file's name, for want of another."""
    source_id: int | None = None
    original: Packed | None = None
    """Its file, to be kept as it is."""


class DocumentRow(msgspec.Struct, frozen=True):
    id: int
    title: str
    source_path: str | None
    content_hash: str
    doc_type: str
    language: str | None
    created_at: str
    modified_at: str
    mtime_ns: int | None
    size: int
    extractor: str
    metadata: dict[str, Any]
    tags: tuple[str, ...]
    chunk_count: int
    stated_tags: tuple[str, ...]
    """Those that the file itself stated when it was read."""
    title_is_name: bool | None
    """None: not known, of a document that an earlier version of kb added."""
    source_id: int | None


class ChunkRow(msgspec.Struct, frozen=True):
    id: int
    document_id: int
    chunk_index: int
    text: str
    heading: str
    page: int | None
    start_line: int | None
    end_line: int | None
    token_count: int
    metadata: dict[str, Any]


class FailureRow(msgspec.Struct, frozen=True, kw_only=True):
    source_path: str
    content_hash: str
    mtime_ns: int
    size: int
    kind: str
    """`failed`, or `no_text` for a file that was read and holds none."""
    reason: str
    failed_at: str
