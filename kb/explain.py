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
from index.bm25 import name_of, tokens_of
from index.fields import NAMES, TEXT
from index.query import ParsedQuery, Phrase, Word
from index.rows import ChunkRow
from kb.fuse import Fused
from kb.ranking import Ranking
from kb.wire_search import ExplainedList, ExplainedRerank, Explanation, FieldName, HitSource, TermMatch

DIGITS = 9
"""More than scores have, so that the parts add up to the score in all of its digits."""


class Field(NamedTuple):
    run: str
    """The words of a text in their order, as the index has them."""
    words: frozenset[str]
    names: frozenset[str]
    """Its identifiers."""


class Asked(NamedTuple):
    """A word or phrase of the query, made ready once: a thousand hits may be explained."""

    text: str
    words: frozenset[str]
    """Its spellings that are one word."""
    runs: tuple[tuple[str, str], ...]
    """And those that are several, which stand together in this order: the first of the words, and all as a `Field` has them."""
    names: frozenset[str]
    """What it is as an identifier; empty where it is none."""


class Explainer:
    """Explains hits of one ranking."""

    def __init__(self, ranking: Ranking, parsed: ParsedQuery, fusion: str) -> None:
        self._ranking = ranking
        self._asked = tuple(_asked(parsed))
        self._nowhere = tuple(TermMatch(term=asked.text, fields=()) for asked in self._asked)
        """Of a pasted page most words are in no field of a hit: made once."""
        # Places in what is asked. Of a pasted page hundreds of words and runs are looked for in each field, by the words that it has.
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._by_name: defaultdict[str, list[int]] = defaultdict(list)
        self._runs_from: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for place, asked in enumerate(self._asked):
            for word in asked.words:
                self._by_word[word].append(place)
            for name in asked.names:
                self._by_name[name].append(place)
            for first, run in asked.runs:
                self._runs_from[first].append((place, run))
        self._has_names = bool(self._by_name)
        self._held_in_short: dict[str, set[int]] = {}
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
        held: dict[FieldName, set[int]] = {
            "title": self._held_by_short(source.title),
            "heading": self._held_by_short(source.heading),
            "body": self._held(_field(chunk.text, self._has_names)),
            "path": self._held_by_short(source.path or ""),
        }
        fields: defaultdict[int, tuple[FieldName, ...]] = defaultdict(tuple)
        for name, places in held.items():
            for place in places:
                fields[place] += (name,)
        matches = list(self._nowhere)
        for place, names in fields.items():
            matches[place] = TermMatch(term=self._asked[place].text, fields=names)
        return tuple(matches)

    def _held(self, field: Field) -> set[int]:
        """The places, in what is asked, of what the field holds."""
        found = {place for word in field.words & self._by_word.keys() for place in self._by_word[word]}
        found |= {place for name in field.names & self._by_name.keys() for place in self._by_name[name]}
        for first in field.words & self._runs_from.keys():
            found |= {place for place, run in self._runs_from[first] if run in field.run}
        return found

    def _held_by_short(self, text: str) -> set[int]:
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
        spellings = [tokens for form in forms if (tokens := tokens_of(form))]
        words = frozenset(tokens[0] for tokens in spellings if len(tokens) == 1)
        runs = tuple((tokens[0], _run(tokens)) for tokens in spellings if len(tokens) > 1)
        yield Asked(text=term.text, words=words, runs=runs, names=frozenset(filter(None, (name_of(whole),))))


def _field(text: str, has_names: bool) -> Field:
    """`has_names`: whether an identifier is asked for. Seldom, and to find those of a text is half of the work."""
    normal = terms.normalise(text)
    tokens = _tokens(normal)
    names = NAMES.analyze(terms.identifiers(normal)) if has_names else ()
    return Field(run=_run(tokens), words=frozenset(tokens), names=frozenset(names))


_short_field = lru_cache(maxsize=4096)(_field)


def _tokens(text: str) -> list[str]:
    return TEXT.analyze(terms.spaced(text))


def _run(tokens: Sequence[str]) -> str:
    """Each between line ends, which no token holds: so a run of them is a part of the string."""
    return "".join(f"\n{token}\n" for token in tokens)


def _rounded(number: float) -> float:
    return round(number, DIGITS)
