"""Which of the files that were named are to be read: those whose content is not in the store.

The others are settled on the way, by size and time first, by hash second: skipped, moved, or failed before. Does not read
documents.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from index import documents, failures, meta, originals, sources, store, tags
from index.originals import Packed
from index.rows import DocumentRow, FailureRow
from index.store import Reader
from kb import journal, transcripts
from kb.dating import modified_at
from kb.detect import detect
from kb.errors import KbError, UnreadableFile
from kb.meta import said as meta_said
from kb.originals import packed
from kb.settings import Settings
from kb.sourcerules import owner
from kb.transcripts import TYPE as TRANSCRIPT
from kb.transcripts import Grown
from kb.walk import Rules, Walk
from kb.wire import AddedFile

PIECE_BYTES = 1 << 20
GROWTH_BYTES = 64 << 20
"""A file that is written to faster than it is read has an end all the same: so much more than it had when it was opened."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What `kb add` was asked to do."""

    paths: tuple[Path, ...] = ()
    recursive: bool = False
    doc_type: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()
    title: str | None = None
    excludes: tuple[str, ...] = ()
    replace: bool = False
    """A changed file's new version takes the place of the old one."""
    retry: bool = False
    """Try again what failed before and has not changed."""
    dry_run: bool = False
    follow_symlinks: bool = False
    password: str | None = None
    pdf_engine: Literal["auto", "docling", "pymupdf"] | None = None
    """Overrides the setting."""
    keep_original: bool | None = None
    """Overrides the setting."""
    scrub: bool | None = None
    """Overrides the setting."""
    meta: dict[str, str] = {}
    """What the documents are given besides what their readers find."""

    @property
    def tries_again(self) -> bool:
        """A password or a type is something new to try."""
        return self.retry or self.password is not None or self.doc_type is not None

    def keeps_originals(self, settings: Settings) -> bool:
        return settings.ingestion.keep_original if self.keep_original is None else self.keep_original


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is to be read: it is new, or it has changed."""

    path: str
    """Absolute; empty for a text that is in no file."""
    content_hash: str
    mtime_ns: int
    size: int
    doc_type: str
    earlier: tuple[DocumentRow, ...] = ()
    """The versions of this file that are in the store, newest first."""
    warning: str | None = None
    grown: Grown | None = None
    """The version of it that this one only adds to."""
    original: Packed | None = None
    """Its bytes, where they are to be kept."""
    uploaded_as: str | None = None
    """What somebody calls it who sent it: `path` is where its bytes wait, and no place to be remembered."""

    @property
    def called(self) -> str | None:
        """By which its answer names it: its path, or what an upload was sent as; None for a text that is in no file."""
        return self.uploaded_as or self.path or None


class Candidates:
    """The files of one request, looked at one by one."""

    def __init__(self, data_dir: Path, settings: Settings, request: Request, reader: Reader | None) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.request = request
        self.reader = reader
        """None where there is no store yet."""
        rules = Rules(
            recursive=request.recursive,
            excludes=request.excludes,
            follow_symlinks=request.follow_symlinks,
            any_type=request.doc_type is not None,
        )
        self.walk = Walk(rules, avoid=data_dir)
        self._seen: dict[str, str] = {}

    def each(self) -> Iterator[Candidate | AddedFile]:
        """A candidate for each file to be read, an `AddedFile` for each that is settled.

        Raises KbError only where one file was named and cannot be looked at.
        """
        yield from self.look_at(self.walk.files(self.request.paths))

    def look_at(self, files: Iterable[tuple[str, bool]]) -> Iterator[Candidate | AddedFile]:
        """The same of these files: absolute paths, and whether each was named by the user."""
        for name, named in files:
            path = Path(name)
            try:
                yield self._look(path)
            except OSError as error:
                yield self._failed(path, f"{path}: {error.strerror}")
            except KbError as error:
                if named and len(self.request.paths) == 1:
                    raise
                yield self._failed(path, f"{error.message} ({error.hint})" if error.hint else error.message)

    def _failed(self, path: Path, reason: str) -> AddedFile:
        name = printable_path(path)
        if not self.request.dry_run:
            journal.write(self.data_dir, name, reason)
        return AddedFile(path=name, title=Path(name).name, status="failed", reason=reason)

    def _look(self, path: Path) -> Candidate | AddedFile:
        if str(path) != printable_path(path):
            raise UnreadableFile(f"{printable_path(path)}: its name is not UTF-8", "rename the file")
        status = path.stat()
        earlier, failure = self._known(path)
        unchanged = next((row for row in earlier if _same_stat(row, status)), None)
        grown = None
        if unchanged:
            content_hash, size = unchanged.content_hash, unchanged.size
        else:
            content_hash, size, grown = self._hashed(path, status, earlier)
        if failure and failure.content_hash == content_hash and not self.request.tries_again:
            return _failed_before(path, failure)
        if content_hash in self._seen:
            return skipped(path, None, f"the same content as {self._seen[content_hash]}")
        self._seen[content_hash] = str(path)
        if settled := self._settled(path, content_hash, status, earlier):
            return settled
        detected = detect(path, doc_type=TRANSCRIPT if grown else self.request.doc_type)
        return Candidate(
            path=str(path), content_hash=content_hash, mtime_ns=status.st_mtime_ns, size=size,
            doc_type=detected.doc_type, earlier=tuple(earlier), warning=detected.warning, grown=grown,
        )  # fmt: skip

    def _hashed(
        self, path: Path, status: os.stat_result, earlier: Sequence[DocumentRow]
    ) -> tuple[str, int, Grown | None]:
        """The hash of a file, of how many bytes that is, and which transcript it goes on with, if it does."""
        last = earlier[0] if earlier else None
        may_go_on = self.request.doc_type in {None, TRANSCRIPT}
        if self.reader and last and last.doc_type == TRANSCRIPT and may_go_on and status.st_size > last.size:
            found = transcripts.look(self.reader.connection, last, path)
            return found.content_hash, found.size, found.grown
        return *hash_file(path), None

    def _known(self, path: Path) -> tuple[list[DocumentRow], FailureRow | None]:
        if self.reader is None:
            return [], None
        connection = self.reader.connection
        return documents.by_path(connection, str(path)), failures.by_path(connection, str(path))

    def _settled(
        self, path: Path, content_hash: str, status: os.stat_result, earlier: Sequence[DocumentRow]
    ) -> AddedFile | None:
        """What is to be said of content that is in the store already; None if it is not."""
        row = documents.by_hash(self.reader.connection, content_hash) if self.reader else None
        if row is None:
            return None
        moved = row.source_path not in {None, str(path)} and not os.path.lexists(row.source_path or "")
        outdated = [other.id for other in earlier if other.id != row.id] if self.request.replace else []
        said = self._note_changes(row, path, status, outdated, moved=moved)
        if moved:
            reason = "; ".join([f"was {row.source_path}", *said])
            return AddedFile(path=str(path), title=row.title, status="moved", document_id=row.id, reason=reason)
        elsewhere = [] if row.source_path == str(path) else [f"the same content as {row.source_path or row.title}"]
        return skipped(path, row.id, "; ".join([*elsewhere, *said]))

    def _note_changes(
        self, row: DocumentRow, path: Path, status: os.stat_result, outdated: Sequence[int], *, moved: bool
    ) -> list[str]:
        """The new path of a moved file, the new time of a touched one, tags, meta and an original that it does not have yet.

        `outdated`: other versions of the file, which `--replace` takes away. Returns what is to be said of it.
        """
        touched = row.source_path == str(path) and not _same_stat(row, status)
        new_tags = set(self.request.tags) - set(row.tags)
        new_meta = self.request.meta.items() - meta.given(row.metadata).items()
        lacks_original = self._lacks_original(row)
        if self.request.dry_run or not (moved or touched or new_tags or new_meta or outdated or lacks_original):
            return []
        original = packed(str(path), row.content_hash) if lacks_original else None
        with (
            store.writing(self.data_dir, self.settings.storage.lock_timeout_s) as writer,
            writer.transaction() as seq,
        ):
            if moved:
                title = title_after_move(row, str(path))
                documents.rename(writer.connection, row.id, str(path), title, seq=seq)
                source = owner(writer.connection, str(path), self.data_dir)
                sources.adopt(writer.connection, row.id, source.id if source else None)
            if moved or touched:
                written = modified_at(status.st_mtime_ns, row.metadata)
                documents.touch(writer.connection, row.id, status.st_mtime_ns, written)
            documents.delete(writer.connection, outdated)
            tags.attach(writer.connection, row.id, sorted(new_tags))
            said = [meta_said(meta.merge(writer.connection, row.id, self.request.meta))] if new_meta else []
            if isinstance(original, Packed):
                originals.keep(writer.connection, original)
                return [*said, "its original is kept now"]
        return [*said, original] if original else said

    def _lacks_original(self, row: DocumentRow) -> bool:
        return (
            self.reader is not None
            and self.request.keeps_originals(self.settings)
            and not row.metadata.get("redacted")
            and originals.name_of(self.reader.connection, row.content_hash) is None
        )


def title_after_move(row: DocumentRow, path: str) -> str:
    """A title that is the file's name goes with the file."""
    is_name = row.title_is_name
    if is_name is None:
        is_name = row.title == Path(row.source_path or "").stem
    return Path(path).stem if is_name else row.title


def printable_path(path: Path) -> str:
    """The path with U+FFFD for what is not UTF-8 in it, which neither SQLite nor JSON can hold."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def hash_file(path: Path) -> tuple[str, int]:
    """sha256 of the file's bytes, hex, and how many they are: more than a moment before, where somebody writes to it."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        size, most = 0, os.fstat(file.fileno()).st_size + GROWTH_BYTES
        while size < most and (piece := file.read(min(PIECE_BYTES, most - size))):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


def skipped(path: Path, document_id: int | None, reason: str) -> AddedFile:
    return AddedFile(path=str(path), title=path.name, status="skipped", document_id=document_id, reason=reason)


def _failed_before(path: Path, failure: FailureRow) -> AddedFile:
    reason = f"{failure.reason} (failed before and has not changed; --retry tries again)"
    return AddedFile(path=str(path), title=path.name, status=failure.kind, reason=reason)


def _same_stat(row: DocumentRow, status: os.stat_result) -> bool:
    return (row.mtime_ns, row.size) == (status.st_mtime_ns, status.st_size)
