"""What was read of a file, as the store keeps it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from index import meta, vectors
from index.rows import NewChunk, NewDocument
from index.writer import utc_now
from kb import dating
from kb.candidates import Candidate, Request
from kb.chunk.context import ARROW
from kb.meta import metadata_of
from kb.reading import Passages
from kb.transcripts import TYPE as TRANSCRIPT
from kb.types import WARNINGS, Chunk


def document_of(candidate: Candidate, passages: Passages, request: Request, carried: Sequence[str] = ()) -> NewDocument:
    """`carried`: tags of the earlier version that this one replaces."""
    own_tags = (*request.tags, *passages.tags, *carried)
    return NewDocument(
        title=request.title or candidate.uploaded_as or passages.title or Path(candidate.path).stem,
        source_path=candidate.path or None,
        content_hash=candidate.content_hash,
        doc_type=candidate.doc_type,
        modified_at=_modified_at(candidate, passages.metadata),
        size=candidate.size,
        extractor=passages.extractor,
        chunks=tuple(_chunk(chunk) for chunk in passages.chunks),
        language=request.language or passages.language,
        mtime_ns=candidate.mtime_ns if candidate.path else None,
        metadata=metadata_of(_read(candidate, passages), {**_carried_meta(candidate, request), **request.meta}),
        tags=tuple(dict.fromkeys(own_tags)),
        stated_tags=passages.tags,
        title_is_name=not (request.title or passages.title),
        original=candidate.original,
    )


def _read(candidate: Candidate, passages: Passages) -> dict[str, Any]:
    """What the reader found, and its warnings; not a transcript's: the line that was torn is whole when it has grown."""
    found = {key: value for key, value in passages.metadata.items() if key != WARNINGS}  # which front matter may have
    if passages.warnings and candidate.doc_type != TRANSCRIPT:
        found[WARNINGS] = list(passages.warnings)
    return found


def _carried_meta(candidate: Candidate, request: Request) -> dict[str, str]:
    """What was given to the versions that this one replaces or goes on with, the newest last."""
    followed = candidate.earlier if request.replace or candidate.grown else ()
    return {key: value for row in reversed(followed) for key, value in meta.given(row.metadata).items()}


def _modified_at(candidate: Candidate, metadata: dict[str, Any]) -> str:
    """The date that the document states itself, else its file's, else now; UTC, ISO 8601."""
    if not candidate.path:
        return dating.stated(metadata) or utc_now()
    return dating.modified_at(candidate.mtime_ns, metadata)


def _chunk(chunk: Chunk) -> NewChunk:
    return NewChunk(
        text=chunk.text,
        heading=ARROW.join(chunk.heading),
        context=chunk.context,
        text_hash=vectors.text_hash(chunk.embedded_text),
        token_count=chunk.token_count,
        page=chunk.page,
        start_line=chunk.lines.first if chunk.lines else None,
        end_line=chunk.lines.last if chunk.lines else None,
        metadata=chunk.metadata,
    )
