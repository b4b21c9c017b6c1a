"""The answers of `kb backup`, `restore`, `export` and `import`, as `kb.wire` has those of the other commands."""

from __future__ import annotations

from typing import Literal

import msgspec

from kb.wire import Answer


class BackupAnswer(Answer, frozen=True):
    path: str
    bytes: int
    """Of the backup."""
    database_bytes: int
    """Of `kb.db` in it."""
    sha256: str
    """Of `kb.db` in it."""
    created_at: str
    schema_version: int
    model: str
    documents: int
    chunks: int
    vectors: int
    with_config: bool
    """Whether `config.yaml` is in it."""


class RestoreAnswer(Answer, frozen=True):
    data_dir: str
    backup: str
    created_at: str
    """When the backup was made."""
    schema_version: int
    model: str
    documents: int
    chunks: int
    vectors: int
    replaced: bool
    """Whether there was a store before."""
    config: Literal["restored", "kept", "none"]
    """`config.yaml`: kept is the one that was there; none is there where neither had one."""


class ExportAnswer(Answer, frozen=True):
    folder: str
    documents: int
    originals: int
    """Files as they were, of documents added with --keep-original."""
    tags: int
    """Described tags."""
    sources: int


class ImportedDocument(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    path: str | None
    status: Literal["added", "skipped"]
    """skipped: its content is in the store already."""
    document_id: int
    reason: str = ""


class ImportAnswer(Answer, frozen=True):
    folder: str
    documents: tuple[ImportedDocument, ...]
    added: int
    skipped: int
    chunks: int
    embedded: int
    """Texts that were given to the model; the others had their vectors already."""
    originals: int
    redacted: int = 0
    """Secrets that were replaced by `[redacted: kind]`."""
