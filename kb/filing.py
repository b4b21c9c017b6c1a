"""Filing: what was read of one file written to the store, in a transaction of its own, and what is said of it.

Not here: reading, embedding, and when the write lock is held (`kb.add`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from index import documents, failures, meta, originals, sources, tags, vectors
from index.rows import FailureRow, NewDocument
from index.sources import SourceRow
from index.writer import Writer, utc_now
from kb import journal
from kb.appending import append
from kb.candidates import Candidate, Request
from kb.meta import said as meta_said
from kb.reading import Passages, Unread
from kb.record import document_of
from kb.sourcerules import SourceRules, owner
from kb.transcripts import Grown
from kb.wire import AddedFile


class Filing:
    """Of one run of `kb add`."""

    def __init__(self, data_dir: Path, request: Request, model_key: str, warn: Callable[[str], None]) -> None:
        self.data_dir = data_dir
        self.request = request
        self.model_key = model_key
        self.warn = warn
        self.source: SourceRow | None = None
        """Of all that is added; None: each file's own is looked up."""
        self.chunk_count = 0
        """Those that are new."""

    def write(
        self, writer: Writer, candidate: Candidate, passages: Passages, new_vectors: dict[bytes, vectors.Vectors]
    ) -> AddedFile:
        if candidate.grown is not None:
            return self._append(writer, candidate, candidate.grown, passages, new_vectors)
        replaced = candidate.earlier if self.request.replace else ()
        with writer.transaction() as seq:
            there = documents.by_hash(writer.connection, candidate.content_hash)
            if there is not None and there.id not in {row.id for row in replaced}:  # another process was faster
                tags.attach(writer.connection, there.id, self.request.tags)
                changed = meta.merge(writer.connection, there.id, self.request.meta)
                if candidate.original is not None:
                    originals.keep(writer.connection, candidate.original)
                title = Path(candidate.path).name or there.title
                reason = meta_said(changed) if changed else ""
                return AddedFile(
                    path=candidate.called, title=title, status="skipped", document_id=there.id, reason=reason
                )
            documents.delete(writer.connection, [row.id for row in replaced])
            carried = [tag for row in replaced for tag in row.tags if tag not in row.stated_tags]
            document = document_of(candidate, passages, self.request, carried)
            document, is_as_ruled = self._owned(writer, document)
            document_id = writer.insert(document, new_vectors, self.model_key, seq=seq)
            if not is_as_ruled:
                sources.outdate(writer.connection, document_id)
            failures.forget(writer.connection, candidate.path)
        self.chunk_count += len(document.chunks)
        for warning in passages.warnings:
            self.warn(f"{document.title}: {warning}")
        if candidate.warning:
            self.warn(candidate.warning)
        return AddedFile(
            path=candidate.called,
            title=document.title,
            status="replaced" if replaced else "added",
            document_id=document_id,
            chunks=len(document.chunks),
            redacted=sum(passages.redacted.values()),
            reason="" if replaced else _earlier_stays(candidate),
        )

    def _append(
        self, writer: Writer, candidate: Candidate, grown: Grown, passages: Passages, new: dict[bytes, vectors.Vectors]
    ) -> AddedFile:
        file = append(writer, candidate, grown, passages, self.request, new, self.model_key)
        self.chunk_count += file.chunks
        for warning in passages.warnings:
            self.warn(f"{file.title}: {warning}")
        return file

    def _owned(self, writer: Writer, document: NewDocument) -> tuple[NewDocument, bool]:
        """The document with its source and that one's tags, and whether it was read as the source's rules say."""
        source = self.source
        if source is None and document.source_path:
            source = owner(writer.connection, document.source_path, self.data_dir)
        if source is None:
            return document, True
        rules = SourceRules.of(source)
        tags_of_all = tuple(dict.fromkeys((*document.tags, *rules.tags)))
        owned = msgspec.structs.replace(document, source_id=source.id, tags=tags_of_all)
        return owned, self.source is not None or rules.reads_as_usual

    def remember(self, writer: Writer, candidate: Candidate, outcome: Unread) -> AddedFile:
        """Record a file that gave no passages, so that it is not tried again until it changes; an upload is not there again."""
        name = candidate.called or ""
        reason = f"{outcome.reason} ({outcome.hint})" if outcome.hint else outcome.reason
        failure = FailureRow(
            source_path=candidate.path,
            content_hash=candidate.content_hash,
            mtime_ns=candidate.mtime_ns,
            size=candidate.size,
            kind="no_text" if outcome.no_text else "failed",
            reason=reason,
            failed_at=utc_now(),
        )
        if candidate.path:
            with writer.transaction():
                failures.record(writer.connection, failure)
        if not outcome.no_text:
            journal.write(self.data_dir, name, outcome.reason)
        return AddedFile(path=name, title=Path(name).name, status=failure.kind, reason=reason)


def _earlier_stays(candidate: Candidate) -> str:
    if not candidate.earlier:
        return ""
    ids = ", ".join(str(row.id) for row in candidate.earlier)
    return f"changed: the earlier version stays as document {ids} (--replace replaces it)"
