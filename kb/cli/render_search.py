"""Hits as lines for a person. Passages that follow each other in a document are one entry, at the place of the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kb.citing import pages_together
from kb.cli.marks import Marks
from kb.cli.places import said_pages
from kb.cli.safe import one_line
from kb.cli.snippet import snippet
from kb.wire_search import ExplainedList, Explanation, Hit, SearchAnswer, SearchAnswers

if TYPE_CHECKING:
    from kb.wire_similar import SimilarAnswer

Run = list[Hit]
"""Neighbours, best first."""


def search(answer: SearchAnswer) -> Iterator[str]:
    """Rank, score, title, place, type and tags of each hit, and a snippet with the query's words marked."""
    yield from _page(answer.results, answer.query)
    if not answer.results:
        yield f"Nothing found for: {one_line(answer.query)}"


def searches(answer: SearchAnswers) -> Iterator[str]:
    """The hits of all queries in one list, and the queries that found none."""
    queries = [one.query for one in answer.answers]
    yield Marks.for_terminal().bold(f"== {one_line(' + '.join(queries))} ==")
    yield from _page(answer.fused, " ".join(queries))
    for one in answer.answers:
        if not one.results:
            yield f"Nothing found for: {one_line(one.query)}"


def similar(answer: SimilarAnswer) -> Iterator[str]:
    """What the hits are like, and these as in a search."""
    marks = Marks.for_terminal()
    to = answer.to
    chunk = "" if to.chunk_id is None else f", chunk {to.chunk_id}"
    yield marks.dim(f"Like {one_line(to.title)}{chunk}:")
    yield from _page(answer.results, "")
    if not answer.results:
        yield "Nothing found."


def _page(hits: Sequence[Hit], query: str) -> Iterator[str]:
    marks = Marks.for_terminal()
    for number, run in enumerate(_runs(hits), start=1):
        best = run[0]
        yield f"{marks.bold(f'{number}. {one_line(best.source.title)}')}  {'  '.join(_facts(run))}"
        yield marks.dim(f"   {_where(run)}")
        in_order = sorted(run, key=lambda hit: hit.source.chunk_index)
        yield from (f"   {line}" for line in snippet("\n\n".join(hit.text for hit in in_order), query, marks))
        for hit in run:
            yield from (marks.dim(f"   {line}") for line in _explained(hit))
            yield from (
                marks.dim(f"   tag {one_line(context.tag)}: {one_line(context.description)}")
                for context in hit.tag_contexts
                if hit is best
            )
        yield ""


def _runs(hits: Sequence[Hit]) -> list[Run]:
    """Hits of one document that follow each other in it, together; each run at the place of its best hit."""
    runs: list[Run] = []
    for hit in hits:
        beside = [run for run in runs if any(_are_neighbours(hit, other) for other in run)]
        if not beside:
            runs.append([hit])
            continue
        for run in beside[1:]:  # the hit fills the gap between two
            beside[0].extend(run)
            runs.remove(run)
        beside[0].append(hit)
    return runs


def _are_neighbours(one: Hit, other: Hit) -> bool:
    return (
        one.source.document_id == other.source.document_id
        and abs(one.source.chunk_index - other.source.chunk_index) <= 1
    )


def _where(run: Run) -> str:
    source = run[0].source
    where = f"document {source.document_id}"
    if source.path:
        where = Marks.for_terminal().link(one_line(source.path), source.path, source.page)
    ids = ", ".join(str(hit.chunk_id) for hit in sorted(run, key=lambda hit: hit.source.chunk_index))
    return f"{where}  chunk{'s' if len(run) > 1 else ''} {ids}"


def _facts(run: Run) -> list[str]:
    source = run[0].source
    facts = [f"{run[0].score:.2f}", source.type]
    pages = pages_together(hit.source.pages for hit in run)
    lines = [hit.source.lines for hit in run if hit.source.lines is not None]
    if pages:
        facts.append(said_pages(pages))
    elif lines:
        facts.append(f"lines {min(first for first, _ in lines)}-{max(last for _, last in lines)}")
    if source.heading:
        facts.append(one_line(source.heading))
    facts += ["ocr"] if any(hit.source.ocr for hit in run) else []
    facts += [f"#{one_line(tag)}" for tag in source.tags]
    facts += [one_line(f"{key}={value}") for key, value in source.meta.items()]
    facts += [f"in {one_line(run[0].source_context.name)}"] if run[0].source_context else []
    return [*facts, "STALE: the file has changed or is gone"] if source.stale else facts


def _explained(hit: Hit) -> Iterator[str]:
    if hit.explain is None:
        return
    why = hit.explain
    parts = [
        *([_part("keyword", "BM25", why.keyword)] if why.keyword else []),
        *([_part("semantic", "cosine", why.semantic)] if why.semantic else []),
        *([f"bonus {why.bonus:.4f}"] if why.bonus else []),
        *([f"hits like it {why.alike:.4f}"] if why.alike else []),
    ]
    yield f"chunk {hit.chunk_id}: {why.fused:.4f}, rank {why.fused_rank} by {why.fusion} = {' + '.join(parts)}"
    if why.rerank:
        read = "was not read" if why.rerank.score is None else f"gives {why.rerank.score:.4f}"
        weight = why.rerank.fused_weight
        yield f"reranker {read}: {hit.score:.4f} = {weight:.2f} x {why.fused:.4f} + {why.rerank.contribution:.4f}"
    yield f"terms: {'; '.join(_terms(why)) or 'none'}"


def _part(name: str, measure: str, said: ExplainedList) -> str:
    rank = f", rank {said.rank}" if said.rank else ""
    return f"{name} {said.contribution:.4f} ({measure} {said.score:.4f}{rank})"


def _terms(why: Explanation) -> Iterator[str]:
    for term in why.terms:
        yield f"{one_line(term.term)} in {', '.join(term.fields)}" if term.fields else f"{one_line(term.term)} nowhere"
