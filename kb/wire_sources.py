"""The answers of `kb source`, `kb scan` and `kb sync`."""

from __future__ import annotations

from typing import Literal

import msgspec

from kb.wire import AddedFile, Answer


class SourceSummary(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str
    """Absolute."""
    description: str
    """Comes back with the hits of its documents, as `source_context`."""
    tags: tuple[str, ...]
    """Given to each of its documents."""
    globs: tuple[str, ...]
    """Only files that one of these means; none: all."""
    excludes: tuple[str, ...]
    type: str | None
    """What its files are read as; null: as their names and contents say."""
    chunker: str | None
    follow_symlinks: bool
    scrub: bool | None
    """Whether secrets are taken out of its documents; null: as the settings say."""
    exists: bool
    """Whether its path is there now."""
    documents: int
    added_at: str
    synced_at: str | None
    """When a sync last went through it to the end; null: never."""


class SourceAnswer(Answer, frozen=True):
    sources: tuple[SourceSummary, ...]
    changed: int = 0
    """Sources that this command registered, changed, renamed or forgot."""
    documents_removed: int = 0


FileState = Literal["new", "changed", "moved", "gone", "touched", "unreadable"]


class ScannedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    state: FileState
    """changed: its content. touched: its time only, or it was added before the source was registered. unreadable: may not be opened
    or listed; what the store holds of it stays."""
    was: str | None = None
    """Of a moved file."""


class ScannedSource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str
    exists: bool
    in_step: bool
    """Whether a sync would find nothing to do. Unreadable files alone are nothing that it could do."""
    documents: int
    unchanged: int
    """Files, copies and those without text among them."""
    new: int
    changed: int
    moved: int
    gone: int
    touched: int
    unreadable: int
    files: tuple[ScannedFile, ...]
    """Those that are not unchanged; without --all the first 20 of each state."""


class ScanAnswer(Answer, frozen=True):
    in_step: bool | None
    """null: there are no sources, so nothing was compared."""
    sources: tuple[ScannedSource, ...]


class SyncedSource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str
    refused: str = ""
    """Why nothing was done about this source: too much of it is gone, and --yes was not said."""
    added: int = 0
    replaced: int = 0
    """Read again in place of an earlier version, grown transcripts among them."""
    moved: int = 0
    """Renamed; nothing was read or embedded."""
    removed: int = 0
    touched: int = 0
    copies: int = 0
    """Files found to have the content of another, which is the document."""
    no_text: int = 0
    failed: int = 0
    unreadable: int = 0
    unchanged: int = 0


class SyncAnswer(Answer, frozen=True):
    sources: tuple[SyncedSource, ...]
    files: tuple[AddedFile, ...]
    """What became of each file that was not unchanged: as in AddAnswer, and `removed`, `touched`, `copy`, `unreadable`."""
    chunks: int
    embedded: int
    """Texts that were given to the model."""
