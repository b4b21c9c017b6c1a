"""A ranking to the hits of an answer: which of its chunks are shown, joined with what the store knows of them.

Call inside a snapshot of the store (`index.store.Reader.moment`).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from index import documents, meta, sources, tags
from index.rows import ChunkRow, DocumentRow
from kb.citing import by_ocr, heading_of, is_stale, lines_of, pages_of
from kb.explain import Explainer
from kb.fuse import shown
from kb.ranking import Ranking
from kb.together import Together
from kb.wire_search import FusedHit, Hit, HitSource, ScoreBreakdown, SourceContext, TagContext

ROWS_A_QUERY = 500
"""Chunks looked up in SQLite at once."""
PER_DOCUMENT = 3
"""Hits of one document on a page, where nothing else is said and other documents have hits: three show that it is about the
matter, and ten would be all that is seen."""
REACH = 3
"""Times the page: so far down the ranking other documents are looked for. What is further down is no better than another passage
of the same document."""

Scored = tuple[ChunkRow, DocumentRow, float]
Owned = tuple[tuple[int, float], int]
"""A chunk's id with its score, and its document."""


def chosen(
    connection: sqlite3.Connection, ranked: Sequence[tuple[int, float]], top: int, limit: int | None
) -> list[Scored]:
    """The best chunks that exist, best first, at most `limit` a document; None: PER_DOCUMENT, and more to fill the page."""
    first = ranked[:top]
    rows = documents.cited(connection, [chunk_id for chunk_id, _ in first])
    most = max(Counter(chunk.document_id for chunk, _ in rows.values()).values(), default=0)
    if len(rows) < len(first) or most > (limit or PER_DOCUMENT):  # seldom, and then only ids are looked at
        owned = _owned(connection, ranked, top * REACH)
        first = _spread(owned, top) if limit is None else _at_most(limit, owned, top)
        rows |= documents.cited(connection, [chunk_id for chunk_id, _ in first if chunk_id not in rows])
    return [(*rows[chunk_id], score) for chunk_id, score in first]


def _at_most(limit: int, owned: Iterator[Owned], top: int) -> list[tuple[int, float]]:
    return list(islice((hit for hit, nth in _counted(owned) if nth <= limit), top))


def _spread(owned: Iterator[Owned], top: int) -> list[tuple[int, float]]:
    page: list[int] = []
    over: list[int] = []
    seen: list[tuple[int, float]] = []
    for place, (hit, nth) in enumerate(_counted(owned)):
        seen.append(hit)
        (page if nth <= PER_DOCUMENT else over).append(place)
        if len(page) == top or (place + 1 >= top * REACH and len(seen) >= top):
            break
    return [seen[place] for place in sorted(page + over[: top - len(page)])]


def hits_of(
    connection: sqlite3.Connection, page: Sequence[Scored], ranking: Ranking, explainer: Explainer | None
) -> list[Hit]:
    """The chunks of a page as hits of one query."""
    return [
        Hit(
            chunk_id=chunk.id, score=_shown(score),
            score_breakdown=_breakdown(ranking.shares.get(chunk.id), ranking.cosines.get(chunk.id)),
            text=chunk.text, source=source, tag_contexts=contexts, source_context=context,
            explain=None if explainer is None else explainer.explain(chunk, source),
        )
        for (chunk, _, score), (source, contexts, context) in zip(page, _cited(connection, page), strict=True)
    ]  # fmt: skip


def fused_hits_of(
    connection: sqlite3.Connection,
    page: Sequence[Scored],
    rankings: Sequence[Ranking],
    found: Mapping[int, Together],
) -> list[FusedHit]:
    """The chunks of a page as hits of several queries."""
    return [
        FusedHit(
            chunk_id=chunk.id, score=_shown(score),
            score_breakdown=_breakdown(
                _most(ranking.shares.get(chunk.id) for ranking in rankings),
                _most(ranking.cosines.get(chunk.id) for ranking in rankings),
            ),
            text=chunk.text, source=source, tag_contexts=contexts, source_context=context, found_by=found[chunk.id].found_by,
        )
        for (chunk, _, score), (source, contexts, context) in zip(page, _cited(connection, page), strict=True)
    ]  # fmt: skip


def _cited(
    connection: sqlite3.Connection, page: Sequence[Scored]
) -> Iterator[tuple[HitSource, tuple[TagContext, ...], SourceContext | None]]:
    """Where each chunk stands, and what its document's tags and source mean."""
    described = tags.descriptions(connection, {tag for _, document, _ in page for tag in document.tags})
    of = {document.source_id for _, document, _ in page if document.source_id is not None}
    named = {
        source_id: SourceContext(name=name, description=description)
        for source_id, (name, description) in sources.described(connection, of).items()
    }
    once = {document.id: document for _, document, _ in page}.values()
    stale = {document.id: is_stale(document) for document in once}
    contexts = {
        document.id: tuple(TagContext(tag=tag, description=described[tag]) for tag in document.tags if tag in described)
        for document in once
    }
    for chunk, document, _ in page:
        source = HitSource(
            document_id=document.id, title=document.title, path=document.source_path, type=document.doc_type,
            page=chunk.page, pages=pages_of(chunk), lines=lines_of(chunk), heading=heading_of(chunk), chunk_index=chunk.chunk_index,
            total_chunks=document.chunk_count, tags=document.tags, stale=stale[document.id], ocr=by_ocr(chunk, document),
            meta=meta.given(document.metadata),
        )  # fmt: skip
        yield source, contexts[document.id], None if document.source_id is None else named.get(document.source_id)


def _breakdown(share: float | None, cosine: float | None) -> ScoreBreakdown:
    return ScoreBreakdown(
        fts=None if share is None else _shown(share), vector=None if cosine is None else _shown(cosine)
    )


def _most(scores: Iterable[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)


def _shown(score: float) -> float:
    return shown(min(1.0, max(0.0, score)))


def _counted(owned: Iterator[Owned]) -> Iterator[tuple[tuple[int, float], int]]:
    """Each with how many of its document have come by now."""
    seen: dict[int, int] = {}
    for hit, document_id in owned:
        nth = seen[document_id] = seen.get(document_id, 0) + 1
        yield hit, nth


def _owned(connection: sqlite3.Connection, ranked: Sequence[tuple[int, float]], likely: int) -> Iterator[Owned]:
    """Those of the ranked chunks that the store still has; as many as are `likely` wanted are looked up at first."""
    first, count = 0, likely
    while first < len(ranked):
        part = ranked[first : first + count]
        owners = documents.owners_of(connection, [chunk_id for chunk_id, _ in part])
        yield from ((hit, owners[hit[0]]) for hit in part if hit[0] in owners)
        first, count = first + count, ROWS_A_QUERY
