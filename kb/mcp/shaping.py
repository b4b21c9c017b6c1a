"""What `kb.knowledgebase` answers as what the tools answer: by default a part of each text, and the fields that are read first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kb.browse import lines_of_text
from kb.citing import pages_together
from kb.mcp.answers import (
    Alike,
    Asked,
    Extract,
    Failed,
    Folder,
    Kept,
    Listed,
    Listing,
    Overview,
    Passage,
    Passages,
    Shown,
)
from kb.mcp.arguments import Get
from kb.mcp.snippets import beginnings, snippet
from kb.wire import AddAnswer, DocumentSummary, GetAnswer, ListAnswer, StatusAnswer, TagAnswer
from kb.wire_failed import FailedAnswer
from kb.wire_search import Explanation, FusedHit, Hit, SearchAnswer, SearchAnswers
from kb.wire_similar import SimilarAnswer
from kb.wire_view import ViewAnswer

NOTE = "note"
CUT_WITHIN = 200
"""Characters at the end of a part among which the best place to cut is looked for."""


def passages(answer: SearchAnswer | SearchAnswers, offset: int, top: int, *, full: bool) -> Passages:
    """Of an answer that was asked for `offset + top` hits, those after the first `offset`."""
    answers = answer.answers if isinstance(answer, SearchAnswers) else (answer,)
    hits: Sequence[Hit] = answer.fused if isinstance(answer, SearchAnswers) else answer.results
    words = beginnings(one.query for one in answers)
    asked = (
        Asked(query=one.query, mode=one.mode, confidence=one.confidence, total_matches=one.total_matches)
        for one in answers
    )
    shown = (
        passage(hit, hit.text if full else snippet(hit.text, words), _explanation(hit, answers), full=full)
        for hit in hits[offset:]
    )
    return Passages(
        confidence=answer.confidence, queries=tuple(asked), results=tuple(shown),
        next_offset=offset + top if len(hits) == offset + top else None, warnings=answer.warnings, took_ms=answer.took_ms,
    )  # fmt: skip


def alike(answer: SimilarAnswer, *, full: bool) -> Alike:
    shown = (passage(hit, hit.text if full else snippet(hit.text, ()), full=full) for hit in answer.results)
    what = f"document {answer.to.document_id}" if answer.to.chunk_id is None else f"chunk {answer.to.chunk_id}"
    return Alike(
        to=f"{what}, {answer.to.title}", results=tuple(shown), warnings=answer.warnings, took_ms=answer.took_ms
    )


def passage(hit: Hit, text: str, explanation: Explanation | None = None, *, full: bool) -> Passage:
    source = hit.source
    found = Passage(
        chunk_id=hit.chunk_id, document_id=source.document_id, score=hit.score, title=source.title, path=source.path,
        type=source.type, page=source.page, pages=_several(source.pages), lines=source.lines, heading=source.heading, tags=source.tags, stale=source.stale,
        ocr=bool(source.ocr), text=text, found_by=tuple(by.query for by in hit.found_by) if isinstance(hit, FusedHit) else (), explain=explanation,
        meta=source.meta if source.type == NOTE else {},  # where it is from: a note is no witness itself
    )  # fmt: skip
    if not full:
        return found
    return msgspec.structs.replace(
        found, score_breakdown=hit.score_breakdown, chunk_index=source.chunk_index, total_chunks=source.total_chunks,
        tag_contexts=hit.tag_contexts, source_context=hit.source_context, meta=source.meta,
    )  # fmt: skip


def _explanation(hit: Hit, answers: Sequence[SearchAnswer]) -> Explanation | None:
    """Its own, or that of the query which found it best, where the answer to that shows it."""
    if not isinstance(hit, FusedHit):
        return hit.explain
    best = max(hit.found_by, key=lambda by: by.contribution)
    return next((one.explain for one in answers[best.query].results if one.chunk_id == hit.chunk_id), None)


def extract(answer: GetAnswer, asked: Get) -> Extract:
    """A part of the text, at most `max_characters`, cut between lines or words where it can be."""
    offset, most = asked.offset, asked.max_characters
    document, chunks = answer.document, answer.chunks
    text = _until_a_break(answer.text[offset : offset + most], is_all=offset + most >= len(answer.text))
    end = offset + len(text)
    return Extract(
        document_id=document.document_id, title=document.title, path=document.path, type=document.type,
        page=chunks[0].page if chunks else None, pages=_several(pages_together(chunk.pages for chunk in chunks)), lines=lines_of_text(answer, asked.lines),
        heading=chunks[0].heading if chunks else "", tags=document.tags, stale=document.stale,
        ocr=any(chunk.ocr for chunk in chunks), text=text, characters=len(answer.text), next_offset=end if end < len(answer.text) else None, chunks=chunks if asked.detail == "full" else (),
        warnings=answer.warnings, took_ms=answer.took_ms,
    )  # fmt: skip


def _several(pages: tuple[int, int] | None) -> tuple[int, int] | None:
    """Where it is one, `page` says it."""
    return None if pages is None or pages[0] == pages[1] else pages


def _until_a_break(text: str, *, is_all: bool) -> str:
    if is_all:
        return text
    best = text.rfind("\n", -CUT_WITHIN) + 1 or text.rfind(" ", -CUT_WITHIN) + 1
    return text[:best] if best else text


def listing(answer: ListAnswer, *, full: bool) -> Listing:
    end = answer.offset + answer.returned
    return Listing(
        documents=tuple(_listed(document, full=full) for document in answer.documents), total=answer.total,
        next_offset=end if end < answer.total else None, warnings=answer.warnings, took_ms=answer.took_ms,
    )  # fmt: skip


def _listed(document: DocumentSummary, *, full: bool) -> Listed:
    found = Listed(
        document_id=document.document_id, title=document.title, path=document.path, type=document.type, tags=document.tags,
        chunks=document.chunks, modified_at=document.modified_at, stale=document.stale,
    )  # fmt: skip
    if not full:
        return found
    return msgspec.structs.replace(
        found, language=document.language, size=document.size, created_at=document.created_at, meta=document.meta
    )


def failures(answer: FailedAnswer, *, full: bool) -> Listing:
    end = answer.offset + answer.returned
    files = (
        Failed(
            path=file.path,
            status=file.status,
            reason=file.reason.removeprefix(f"{file.path}: "),
            failed_at=file.failed_at if full else None,
        )
        for file in answer.files
    )
    return Listing(
        documents=(), files=tuple(files), total=answer.total, next_offset=end if end < answer.total else None,
        warnings=answer.warnings, took_ms=answer.took_ms,
    )  # fmt: skip


def overview(answer: StatusAnswer, tags: TagAnswer, *, can_write: bool, full: bool) -> Overview:
    folders = (
        Folder(name=one.name, path=one.path, documents=one.documents, synced_at=one.synced_at) for one in answer.sources
    )
    return Overview(
        documents=answer.documents, chunks=answer.chunks, by_type=answer.by_type, tags=tags.tags, sources=tuple(folders),
        last_added_at=answer.last_added_at, by_meaning=bool(answer.embedding and answer.embedding.available),
        can_rerank=bool(answer.rerank and answer.rerank.available), can_write=can_write,
        failed=answer.failed_files + answer.no_text_files, store=answer if full else None,
        warnings=answer.warnings, took_ms=answer.took_ms,
    )  # fmt: skip


def shown(answer: ViewAnswer) -> Shown:
    document = answer.document
    return Shown(
        document_id=document.document_id, title=document.title, path=document.path, page=answer.page,
        page_count=answer.page_count, lines=answer.lines, stale=document.stale, text=snippet(answer.text, ()),
        warnings=answer.warnings, took_ms=answer.took_ms,
    )  # fmt: skip


def kept(answer: AddAnswer) -> Kept:
    note = answer.documents[0]
    return Kept(
        status=note.status, document_id=note.document_id, title=note.title, redacted=note.redacted, warnings=answer.warnings,
        took_ms=answer.took_ms,
    )  # fmt: skip
