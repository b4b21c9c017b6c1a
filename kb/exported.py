"""What `kb export` writes and `kb import` reads: one folder that people can read and any program can take apart.

    kb-export.json                  what the store says beside its documents; written last, so that it says the rest is whole
    documents/00012-a-title.md      the text of document 12, for people (.txt where it is no prose)
    documents/00012-a-title.json    the document: all that the store knows of it but its vectors, its chunks as they were cut
    originals/00012/Real name.pdf   the file itself, where it was kept

The chunks are in the JSON, so that an import neither reads nor cuts anything again and loses nothing. Not here: who reads and writes it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec

from index.rows import NewChunk

FORMAT = 1
MANIFEST = "kb-export.json"
DOCUMENTS, ORIGINALS = "documents", "originals"
PLAIN_TYPES = frozenset({"text", "code", "data", "transcript"})
"""Their text is no markdown."""
LONGEST_SLUG_BYTES = 80
LONGEST_NAME_BYTES = 140
"""Of a file name; encrypted home folders of Linux (eCryptfs) take 143."""
DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
"""What Windows takes for a device, whatever comes behind the dot."""
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')


class ExportedSource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str
    description: str
    rules: str
    added_at: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    program: str
    exported_at: str
    model: str
    """Whose tokens the sizes of the chunks are counted in."""
    documents: int
    tags: dict[str, str]
    """Descriptions of those that have one."""
    sources: tuple[ExportedSource, ...]


class ExportedChunk(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    heading: str
    context: str
    """Embedded before the text."""
    page: int | None
    start_line: int | None
    end_line: int | None
    token_count: int
    metadata: dict[str, Any]

    @classmethod
    def of(cls, chunk: NewChunk) -> ExportedChunk:
        return cls(**{name: getattr(chunk, name) for name in cls.__struct_fields__})


class ExportedDocument(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    title_is_name: bool
    path: str | None
    type: str
    language: str | None
    tags: tuple[str, ...]
    stated_tags: tuple[str, ...]
    source: str | None
    """The name of the source that it belongs to."""
    content_hash: str
    size: int
    mtime_ns: int | None
    created_at: str
    modified_at: str
    extractor: str
    metadata: dict[str, Any]
    text: str
    """The file with its text, in the same folder."""
    text_sha256: str
    """Of that file, to tell when somebody has edited it."""
    original: str | None
    """The file itself, below the folder of the export."""
    original_name: str | None
    chunks: tuple[ExportedChunk, ...]


def stem(document_id: int, title: str) -> str:
    """A name for the files of a document: its number makes it one of its own, its title is for people."""
    words = re.sub(r"[^\w]+", "-", unicodedata.normalize("NFC", title)).strip("-").lower()
    return f"{document_id:05}-{_cut(words, LONGEST_SLUG_BYTES)}".rstrip("-")


def safe_name(name: str) -> str:
    """A file's own name, changed only where some file system would not take it."""
    name = FORBIDDEN.sub("_", unicodedata.normalize("NFC", name)).rstrip(". ") or "original"
    name = f"_{name}" if DEVICES.match(name) else name
    head, dot, suffix = name.rpartition(".")
    if not head:
        return _cut(name, LONGEST_NAME_BYTES)
    suffix = _cut(dot + suffix, LONGEST_NAME_BYTES // 2)
    return _cut(head, LONGEST_NAME_BYTES - len(suffix.encode())) + suffix


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode(errors="ignore")
