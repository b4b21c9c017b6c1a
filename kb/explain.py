"""How a hit came by its score, and which words of the query are where in it. Made only where somebody asks (--explain).

Where a word stands is looked up in the hit's own texts, by the analysis that the index was made with; what was found by a
similar spelling of it shows as found nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from index import terms
from index.fields import NAMES, TEXT
from index.query import ParsedQuery, Phrase, Word
from index.rows import ChunkRow
from kb.fuse import Fused
from kb.ranking import Ranking
from kb.wire_search import ExplainedList, ExplainedRerank, Explanation, HitSource, TermMatch

DIGITS = 9
"""More than scores have, so that the parts add up to the score in all of its digits."""

Field = tuple[str, frozenset[str]]
"""The words of a text in their order as the index has them, and its identifiers."""


class Explainer:
    """Explains hits of one ranking."""

    def __init__(self, ranking: Ranking, parsed: ParsedQuery, fusion: str) -> None:
        self._ranking = ranking
        self._parsed = parsed
        self._fusion = fusion
        self._parts = {hit.id: (rank, hit) for rank, hit in enumerate(_parts(ranking), start=1)}
        self._words = {
            chunk_id: (rank, score)
            for rank, (chunk_id, score) in enumerate(zip(ranking.words.chunk_ids, ranking.words.scores, strict=True), 1)
        }
        self._nearest = {chunk_id: rank for rank, (chunk_id, _) in enumerate(ranking.nearest, start=1)}

    def explain(self, chunk: ChunkRow, source: HitSource) -> Explanation:
        rank, parts = self._parts[chunk.id]
        keyword = semantic = None
        if chunk.id in self._words:
            place, bm25 = self._words[chunk.id]
            keyword = ExplainedList(score=_rounded(bm25), rank=place, contribution=_rounded(parts.keyword))
        if chunk.id in self._ranking.cosines:
            semantic = ExplainedList(
                score=_rounded(self._ranking.cosines[chunk.id]),
                rank=self._nearest.get(chunk.id),
                contribution=_rounded(parts.semantic),
            )
        return Explanation(
            fusion=self._fusion, keyword=keyword, semantic=semantic, bonus=_rounded(parts.bonus), fused=_rounded(parts.score),
            fused_rank=rank, rerank=self._rerank(chunk.id), terms=tuple(_matches(self._parsed, chunk, source)),
        )  # fmt: skip

    def _rerank(self, chunk_id: int) -> ExplainedRerank | None:
        blended = self._ranking.blended.get(chunk_id)
        if blended is None:
            return None
        return ExplainedRerank(
            score=None if blended.rerank is None else _rounded(blended.rerank),
            fused_weight=blended.weight,
            contribution=_rounded(blended.score - blended.weight * blended.fused),
        )


def _parts(ranking: Ranking) -> Sequence[Fused]:
    """Of every hit; where one search ran alone, its score is the whole."""
    if ranking.fused:
        return ranking.fused
    if ranking.nearest:
        return tuple(Fused(id=chunk_id, keyword=0.0, semantic=score) for chunk_id, score in ranking.nearest)
    return tuple(Fused(id=chunk_id, keyword=share, semantic=0.0) for chunk_id, share in ranking.shares.items())


def _matches(parsed: ParsedQuery, chunk: ChunkRow, source: HitSource) -> Iterator[TermMatch]:
    texts = {"title": source.title, "heading": source.heading, "body": chunk.text, "path": source.path or ""}
    fields = {name: _field(text) for name, text in texts.items()}
    asked: tuple[Word | Phrase, ...] = (*parsed.words, *parsed.phrases)
    for term in dict.fromkeys(asked):
        found = tuple(name for name, field in fields.items() if _is_in(term, field))
        yield TermMatch(term=term.text, fields=found)  # type: ignore[arg-type]  # the names are the keys above


def _field(text: str) -> Field:
    normal = terms.normalise(text)
    return _tokens(normal), frozenset(NAMES.analyze(terms.identifiers(normal)))


def _is_in(term: Word | Phrase, field: Field) -> bool:
    tokens, names = field
    if isinstance(term, Phrase):
        return _has_run(tokens, _asked_tokens(term.text))
    return bool(names.intersection(_asked_names(term.whole))) or any(
        _has_run(tokens, _asked_tokens(form)) for form in (*term.spellings, *term.loose)
    )


def _tokens(text: str) -> str:
    """Each between line ends, which no token holds: so a run of them is a part of the string."""
    return "".join(f"\n{token}\n" for token in TEXT.analyze(terms.spaced(text)))


# A thousand hits may be explained, and each asks the same of the same words.
_asked_tokens = lru_cache(maxsize=1024)(_tokens)


@lru_cache(maxsize=1024)
def _asked_names(text: str) -> frozenset[str]:
    return frozenset(NAMES.analyze(text))


def _has_run(tokens: str, wanted: str) -> bool:
    """Whether the words stand together, in this order."""
    return bool(wanted) and wanted in tokens


def _rounded(number: float) -> float:
    return round(number, DIGITS)
