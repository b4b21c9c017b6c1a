"""How a source's files are chosen and read, and which source a file belongs to. The store keeps the rules as JSON."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

import msgspec

from index import sources
from index.sources import SourceRow
from kb.known import Known
from kb.settings import Chunking, Settings
from kb.walk import Rules, Walk

Chunker = Literal["structure", "fixed"]


class SourceRules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    tags: tuple[str, ...] = ()
    """Its documents have them."""
    globs: tuple[str, ...] = ()
    """Only these files; none: all that can be read."""
    excludes: tuple[str, ...] = ()
    doc_type: str | None = None
    """Read every file as this type, whatever its name."""
    chunker: Chunker | None = None
    """structure: at headings and functions; fixed: windows. None: as the settings say."""
    follow_symlinks: bool = False
    scrub: bool | None = None
    """Whether secrets are taken out of its documents. None: as the settings say."""

    @classmethod
    def of(cls, row: SourceRow) -> SourceRules:
        return msgspec.json.decode(row.rules, type=cls)

    def encoded(self) -> str:
        return msgspec.json.encode(self).decode()

    def reads_as(self, other: SourceRules) -> bool:
        """Whether a file that both take is read alike."""
        return (self.doc_type, self.chunker, self.scrub) == (other.doc_type, other.chunker, other.scrub)

    @property
    def reads_as_usual(self) -> bool:
        return self.reads_as(SourceRules())

    def walk(self, avoid: Path, known: Known | None = None) -> Walk:
        rules = Rules(
            recursive=True, excludes=self.excludes, follow_symlinks=self.follow_symlinks,
            any_type=self.doc_type is not None, globs=self.globs,
        )  # fmt: skip
        return Walk(rules, avoid=avoid, known=known)

    def applied_to(self, settings: Settings) -> Settings:
        """The settings with which its files are read."""
        if self.chunker is None:
            return settings
        is_fixed, usual, chunking = self.chunker == "fixed", Chunking(), settings.chunking
        replace = msgspec.structs.replace
        return replace(
            settings,
            chunking=replace(
                chunking,
                pdf=replace(chunking.pdf, strategy="fixed" if is_fixed else usual.pdf.strategy),
                markdown=replace(chunking.markdown, strategy="fixed" if is_fixed else usual.markdown.strategy),
                code=replace(chunking.code, strategy="fixed" if is_fixed else usual.code.strategy),
            ),
        )


def owner(connection: sqlite3.Connection, path: str, avoid: Path) -> SourceRow | None:
    """The source in which a sync would come to the file at `path`."""
    for row in sources.every(connection):
        if is_at_or_below(path, row.path) and SourceRules.of(row).walk(avoid).takes(row.path, path):
            return row
    return None


def is_at_or_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
