"""How a hit came by its score, and which words of the query are where in it. Made only where somebody asks (--explain).

Where a word stands is looked up in the hit's own texts, by the analysis that the index was made with; what was found by a
similar spelling of it shows as found nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from index import terms
from index.bm25 import LONGEST_RUN
from index.fields import NAMES, TEXT
from index.query import ParsedQuery, Phrase, Word
from index.rows import ChunkRow
from kb.fuse import Fused
from kb.ranking import Ranking
from kb.wire_search import ExplainedList, ExplainedRerank, Explanation, FieldName, HitSource, TermMatch

DIGITS = 9
"""More than scores have, so that the parts add up to the score in all of its digits."""

Field = tuple[str, frozenset[str]]
"""The words of a text in their order as the index has them, and its identifiers."""


class Asked(NamedTuple):
    """A word or phrase of the query, made ready once: a thousand hits may be explained."""

    text: str
    names: frozenset[str]
    """What it is as an identifier; empty where it is none."""
    runs: tuple[str, ...]
    """Words that stand together, in this order, in each of its spellings."""

    def is_in(self, field: Field) -> bool:
        tokens, names = field
        if self.names and not self.names.isdisjoint(names):
            return True
        for run in self.runs:  # noqa: SIM110  asked for each word of each hit: any() takes three times as long
            if run in tokens:
                return True
        return False


class Explainer:
    """Explains hits of one ranking."""

    def __init__(self, ranking: Ranking, parsed: ParsedQuery, fusion: str) -> None:
        self._ranking = ranking
        self._asked = tuple(_asked(parsed))
        self._nowhere = tuple(TermMatch(term=asked.text, fields=()) for asked in self._asked)
        """Of a pasted page most words are in no field of a hit: made once."""
        self._has_names = any(asked.names for asked in self._asked)
        self._held_in_short: dict[str, frozenset[int]] = {}
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
            fusion=self._fusion, keyword=keyword, semantic=semantic, bonus=_rounded(parts.bonus), alike=_rounded(parts.alike), fused=_rounded(parts.score),
            fused_rank=rank, rerank=self._rerank(chunk.id), terms=self._matches(chunk, source),
        )  # fmt: skip

    def _matches(self, chunk: ChunkRow, source: HitSource) -> tuple[TermMatch, ...]:
        held: dict[FieldName, frozenset[int]] = {
            "title": self._held_by_short(source.title),
            "heading": self._held_by_short(source.heading),
            "body": self._held(_field(chunk.text, self._has_names)),
            "path": self._held_by_short(source.path or ""),
        }
        fields: defaultdict[int, tuple[FieldName, ...]] = defaultdict(tuple)
        for name, places in held.items():
            for place in places:
                fields[place] += (name,)
        return tuple(
            TermMatch(term=self._asked[place].text, fields=fields[place]) if place in fields else nowhere
            for place, nowhere in enumerate(self._nowhere)
        )

    def _held(self, field: Field) -> frozenset[int]:
        """The places, in what is asked, of what the field holds."""
        return frozenset(place for place, asked in enumerate(self._asked) if asked.is_in(field))

    def _held_by_short(self, text: str) -> frozenset[int]:
        """Looked for once: the chunks of a document have its title and path, and many their heading."""
        if text not in self._held_in_short:
            self._held_in_short[text] = self._held(_short_field(text, self._has_names))
        return self._held_in_short[text]

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


def _asked(parsed: ParsedQuery) -> Iterator[Asked]:
    wanted: tuple[Word | Phrase, ...] = (*parsed.words, *parsed.phrases)
    for term in dict.fromkeys(wanted):
        whole, forms = ("", (term.text,)) if isinstance(term, Phrase) else (term.whole, (*term.spellings, *term.loose))
        runs = tuple(run for form in forms if (run := _tokens(form, LONGEST_RUN)))
        yield Asked(text=term.text, names=frozenset(NAMES.analyze(whole)), runs=runs)


def _field(text: str, has_names: bool) -> Field:
    """`has_names`: whether an identifier is asked for. Seldom, and to find those of a text is half of the work."""
    normal = terms.normalise(text)
    return _tokens(normal), frozenset(NAMES.analyze(terms.identifiers(normal))) if has_names else frozenset()


_short_field = lru_cache(maxsize=4096)(_field)


def _tokens(text: str, most: int | None = None) -> str:
    """Each between line ends, which no token holds: so a run of them is a part of the string."""
    return "".join(f"\n{token}\n" for token in TEXT.analyze(terms.spaced(text))[:most])


def _rounded(number: float) -> float:
    return round(number, DIGITS)
