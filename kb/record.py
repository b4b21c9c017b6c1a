"""What was read of a file, as the store keeps it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from index import vectors
from index.rows import NewChunk, NewDocument
from index.store import utc_now
from kb.candidates import Candidate, Request
from kb.chunk.context import ARROW
from kb.reading import Passages
from kb.types import Chunk


def document_of(candidate: Candidate, passages: Passages, request: Request, carried: Sequence[str] = ()) -> NewDocument:
    """`carried`: tags of the earlier version that this one replaces."""
    own_tags = (*request.tags, *passages.tags, *carried)
    return NewDocument(
        title=request.title or passages.title or Path(candidate.path).stem,
        source_path=candidate.path or None,
        content_hash=candidate.content_hash,
        doc_type=candidate.doc_type,
        modified_at=modified_at(candidate, passages.metadata),
        size=candidate.size,
        extractor=passages.extractor,
        chunks=tuple(_chunk(chunk) for chunk in passages.chunks),
        language=request.language or passages.language,
        mtime_ns=candidate.mtime_ns if candidate.path else None,
        metadata=passages.metadata,
        tags=tuple(dict.fromkeys(own_tags)),
    )


def modified_at(candidate: Candidate, metadata: dict[str, Any]) -> str:
    """The date that the document states itself, else its file's, else now; UTC, ISO 8601."""
    stated = _moment(metadata.get("date"))
    if stated is None and not candidate.path:
        return utc_now()
    moment = stated or datetime.fromtimestamp(candidate.mtime_ns / 1e9, UTC)
    return moment.isoformat(timespec="seconds")


def _moment(stated: Any) -> datetime | None:
    """In UTC. A date in words ("last spring"), or outside the calendar, orders nothing: None."""
    try:
        moment = datetime.fromisoformat(str(stated))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


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
