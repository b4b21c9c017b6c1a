"""From a parsed query to tantivy's: what each word weighs in each field, and the most that the whole can score.

Every clause is a BM25 term or phrase query (k1 1.2 and b 0.75 are fixed in tantivy), and a chunk's score is their weighted
sum. BM25 of one clause stays below idf * (k1 + 1), so the sum of these bounds is a `ceiling` no chunk reaches, and
score / ceiling is a share in [0, 1] that says how much of what was asked for a chunk holds. A word the index does not know
counts with the idf of a word in no chunk: a query of nonsense and one known word gets low shares.

Not here: running the query (`index.lexical`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection
from functools import lru_cache, partial

import msgspec
import tantivy
from tantivy import Occur, Query

from index import terms
from index.fields import BODY, CHUNK_ID, DOCUMENT_ID, HEADING, IDENTIFIERS, NAMES, PATH, SCHEMA, TEXT, TITLE
from index.query import ParsedQuery, Phrase, Word

K1 = 1.2

# Chosen by the mean nDCG@10 over nine rows (seven collections, claude_docs' pages whole and split), 0.668; measured again by
# scripts/eval_levers.py keyword. Halving or doubling any one of these costs 0.000 to 0.006, so they stand on a plateau and are
# round. The sum of fields gave 0.658 over five collections where the best field with a tie breaker of 0.3 gave 0.654 and
# without one 0.651, and a sum lets tantivy skip what cannot reach the top.
FIELD_WEIGHTS = {BODY: 1.0, TITLE: 0.35, HEADING: 0.35, PATH: 0.15, IDENTIFIERS: 0.15}
OF_A_TOKEN = sorted(FIELD_WEIGHTS)
OF_A_RUN = [field for field in OF_A_TOKEN if field != IDENTIFIERS]
WHOLE_WEIGHT = 1.0
"""An identifier as it is; relative, like the next two, to a plain word."""
SPELLING_WEIGHT = 0.5
"""Its parts side by side, or joined."""
LOOSE_WEIGHT = 0.5
"""Its parts one by one. 0.3 -> 0.5: claude_docs 0.782 -> 0.786, codebase_chunks 0.742 -> 0.748; 1.0 loses both."""
FUZZY_WEIGHT = 0.5
"""A similar word, relative to a word found once in a chunk of average length. 0 to 1 differ by 0.001."""
HELD_WEIGHT = 0.2
"""What a word adds by being in the body at all, however often and in however long a text, relative to its rarity. Without: words
alone 0.524 and 0.523 with it, fused with the meaning 0.584 and 0.589 (scripts/eval_levers.py keyword, mean of five collections);
claude_docs 0.820 and 0.818."""

LONGEST_RUN = 128
"""Tokens that are looked for side by side: a chunk that holds so many in this order holds what was copied from it. Of 20,000 in a
single word tantivy needed 4 s."""
WORDS_KEPT = 4096
"""Whose tokens, and what an index says of them, are not asked for again: queries share their words."""
FUZZY_FIELDS = (BODY, PATH)
ONE_ERROR_LETTERS, TWO_ERRORS_LETTERS = 4, 8
MOST_ERROR_LETTERS = 40
"""What is longer is data, no word that somebody typed; the automaton for 80 letters takes 10 ms."""
MOST_SIMILAR = 16
"""Unknown words for which similar ones are looked for: a page in another language has hundreds."""


Tokens = tuple[str, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    query: Query
    ceiling: float
    """More than any chunk can score."""
    unknown: tuple[str, ...]
    """The words, as typed, that no chunk holds."""
    missing: float
    """Of those that are names or phrases the part of the ceiling."""
    tokens: tuple[str, ...]
    """Each is enough for a chunk to match, unless it holds what is excluded."""


class Statistics:
    """What an opened index says of tokens."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self.searcher = searcher
        self.bounds = lru_cache(WORDS_KEPT)(partial(_bounds, searcher))
        """By tokens; kept, since tantivy takes 2 us to look one up in a field."""

    def bound(self, field: str, tokens: Tokens) -> float:
        """The least upper bound of BM25 for tokens side by side; 0 where one of them is in no chunk."""
        return _bound(self.searcher, field, tokens)

    def bound_of_unknown(self, count: int) -> float:
        """As high as if each of so many tokens were in no chunk, and had been found in one."""
        return (K1 + 1) * count * idf(0, self.searcher.num_docs)


def _bounds(searcher: tantivy.Searcher, tokens: Tokens) -> tuple[tuple[str, float], ...]:
    """The fields that may hold them side by side, each with its bound."""
    fields = OF_A_TOKEN if len(tokens) == 1 else OF_A_RUN
    return tuple((field, bound) for field in fields if (bound := _bound(searcher, field, tokens)))


def _bound(searcher: tantivy.Searcher, field: str, tokens: Tokens) -> float:
    total = 0.0
    for token in tokens:
        frequency = searcher.doc_freq(field, token)
        if not frequency:
            return 0.0
        total += idf(frequency, searcher.num_docs)
    return (K1 + 1) * total


def plan(parsed: ParsedQuery, statistics: Statistics) -> Plan:
    clauses = _Clauses(statistics)
    for word, count in Counter(parsed.words).items():
        clauses.add_word(word, count)
    for phrase in parsed.phrases:
        clauses.add_phrase(phrase)
    return Plan(
        query=_without(parsed.excluded, clauses.query()),
        ceiling=clauses.ceiling,
        unknown=tuple(dict.fromkeys(clauses.unknown)),
        missing=clauses.missing / clauses.ceiling if clauses.ceiling else 0.0,
        tokens=clauses.tokens,
    )


def holding(phrases: tuple[Phrase, ...]) -> Query:
    """Every chunk that `plan` leaves out where these are excluded; all alike, since to score them is most of the work."""
    query = Query.boolean_query([(Occur.Should, held) for phrase in phrases for held in _exclusions(phrase)])
    return Query.const_score_query(query, 0.0)


def among(document_ids: Collection[int] | None, chunk_ids: Collection[int], query: Query) -> Query:
    """The same, with the same scores, for chunks of these documents, and these chunks of others; None: for all."""
    if document_ids is None:
        return query
    admitted = _admitted(frozenset(document_ids), frozenset(chunk_ids))
    return Query.boolean_query([(Occur.Must, query), (Occur.Must, admitted)])


@lru_cache(maxsize=1)
def _admitted(document_ids: frozenset[int], chunk_ids: frozenset[int]) -> Query:
    """Kept for the next query with the same filter: of 50,000 documents 20 ms, of which 3 are left."""
    admitted = Query.term_set_query(SCHEMA, DOCUMENT_ID, list(document_ids))
    if chunk_ids:
        chunks = Query.term_set_query(SCHEMA, CHUNK_ID, list(chunk_ids))
        admitted = Query.boolean_query([(Occur.Should, admitted), (Occur.Should, chunks)])
    return Query.const_score_query(admitted, 0.0)


class _Clauses:
    """The weighted alternatives of one query, each once however often it is asked for, and the sum of their bounds.

    Parts of identifiers come again and again: a third of the clauses of a pasted page, and of what tantivy takes for it.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        self.ceiling = 0.0
        self.missing = 0.0
        """What of it names and phrases weigh that no chunk holds, parts that it does hold included."""
        self.unknown: list[str] = []
        self._weights: defaultdict[tuple[str, Tokens, Tokens], float] = defaultdict(float)
        """By field, tokens, and the identifiers that must be there too."""
        self._held: defaultdict[str, float] = defaultdict(float)
        self._similar: defaultdict[str, float] = defaultdict(float)

    def query(self) -> Query:
        clauses = [
            _with_names(Query.boost_query(_sequence(field, tokens), weight), names)
            for (field, tokens, names), weight in self._weights.items()
        ]
        clauses += [
            Query.const_score_query(Query.term_query(SCHEMA, BODY, token), score) for token, score in self._held.items()
        ]
        clauses += [
            Query.const_score_query(
                Query.fuzzy_term_query(SCHEMA, field, token, distance=_typing_errors(token)),
                score * FIELD_WEIGHTS[field],
            )
            for token, score in self._similar.items()
            for field in FUZZY_FIELDS
        ]
        return Query.boolean_query([(Occur.Should, clause) for clause in clauses])

    @property
    def tokens(self) -> tuple[str, ...]:
        return tuple(self._held)

    def add_word(self, word: Word, count: int) -> None:
        before = self.ceiling
        is_known = self._add_whole(word, count)
        weight = SPELLING_WEIGHT if word.whole else 1.0
        for tokens in dict.fromkeys(tokens_of(spelling) for spelling in word.spellings):
            is_known |= self._add_everywhere(tokens, weight * count)
        loose = [token for part in word.loose for token in tokens_of(part)]
        missing = [token for token in dict.fromkeys(loose) if not self._add_everywhere((token,), LOOSE_WEIGHT * count)]
        if not word.loose and not is_known:
            missing = [token for spelling in word.spellings for token in tokens_of(spelling)]
        if missing and not is_known:
            self.unknown.append(word.text)
            for token in dict.fromkeys(missing):
                self._add_similar(token, count * (LOOSE_WEIGHT if word.loose else 1.0))
            if _is_name(word):
                self.missing += self.ceiling - before

    def add_phrase(self, phrase: Phrase) -> None:
        tokens = tokens_of(phrase.text)
        names = tuple(name_of(symbol) for symbol in phrase.symbols)
        if not self._add_everywhere(tokens, 1.0, names):
            self.unknown.append(phrase.text)
            bound = self.statistics.bound_of_unknown(max(1, len(tokens)))
            self.ceiling += bound
            self.missing += bound

    def _add_whole(self, word: Word, count: int) -> bool:
        name = name_of(word.whole)
        bound = self.statistics.bound(IDENTIFIERS, (name,)) if name else 0.0
        if bound:
            self._add(IDENTIFIERS, (name,), WHOLE_WEIGHT * count, bound)
        return bool(bound)

    def _add_everywhere(self, tokens: Tokens, weight: float, names: Tokens = ()) -> bool:
        """Where the dictionary says that something can match."""
        bounds = self.statistics.bounds(tokens)
        for field, bound in bounds:
            self._add(field, tokens, weight * FIELD_WEIGHTS[field], bound, names)
        return bool(bounds)

    def _add(self, field: str, tokens: Tokens, weight: float, bound: float, names: Tokens = ()) -> None:
        self._weights[field, tokens, names] += weight
        self.ceiling += weight * bound
        if field == BODY and len(tokens) == 1 and not names:
            score = weight * HELD_WEIGHT * bound / (K1 + 1)
            self._held[tokens[0]] += score
            self.ceiling += score

    def _add_similar(self, token: str, weight: float) -> None:
        """What differs by a typing error from a word that no chunk holds."""
        bound = weight * self.statistics.bound_of_unknown(1)
        self.ceiling += bound
        if _typing_errors(token) and (token in self._similar or len(self._similar) < MOST_SIMILAR):
            self._similar[token] += FUZZY_WEIGHT * bound / (K1 + 1)


@lru_cache(maxsize=WORDS_KEPT)
def idf(frequency: int, chunk_count: int) -> float:
    """As in tantivy. Deleted chunks count there until they are merged away, so `frequency` may exceed the live chunks."""
    return math.log1p((max(chunk_count, frequency) - frequency + 0.5) / (frequency + 0.5))


def _is_name(word: Word) -> bool:
    """By how it was typed: a capital, a digit, the form of an identifier."""
    return bool(word.whole) or any(letter.isupper() or letter.isdigit() for letter in word.text)


def _typing_errors(token: str) -> int:
    """How many edits away from this stem a word may be. What is short or holds digits is another thing after each edit."""
    if not token.isalpha() or not ONE_ERROR_LETTERS <= len(token) <= MOST_ERROR_LETTERS:
        return 0
    return 1 if len(token) < TWO_ERRORS_LETTERS else 2


@lru_cache(maxsize=WORDS_KEPT)
def tokens_of(text: str) -> Tokens:
    """A word or phrase of a query as the fields of text hold it."""
    return tuple(TEXT.analyze(terms.spaced(text))[:LONGEST_RUN])


@lru_cache(maxsize=WORDS_KEPT)
def name_of(identifier: str) -> str:
    """An identifier as the identifiers field holds it; empty where there is none."""
    return "".join(NAMES.analyze(identifier))


def _sequence(field: str, tokens: Tokens) -> Query:
    if len(tokens) == 1:
        return Query.term_query(SCHEMA, field, tokens[0])
    return Query.phrase_query(SCHEMA, field, list(tokens))


def _with_names(query: Query, names: Collection[str]) -> Query:
    """The query, where every one of these identifiers is there too."""
    if not names:
        return query
    required = [Query.const_score_query(Query.term_query(SCHEMA, IDENTIFIERS, name), 0.0) for name in names]
    return Query.boolean_query([(Occur.Must, part) for part in (query, *required)])


def _without(excluded: tuple[Phrase, ...], query: Query) -> Query:
    if not excluded:
        return query  # a bare union lets tantivy skip what cannot reach the top
    left_out = [(Occur.MustNot, exclusion) for phrase in excluded for exclusion in _exclusions(phrase)]
    return Query.boolean_query([(Occur.Must, query), *left_out])


def _exclusions(phrase: Phrase) -> list[Query]:
    """One for each field in which the phrase would find it; the body holds title and headings as well, but for what reaches from one to the next."""
    tokens = tokens_of(phrase.text)
    names = [name_of(symbol) for symbol in phrase.symbols]
    fields = (BODY, PATH, IDENTIFIERS if len(tokens) == 1 else HEADING)
    return [_with_names(_sequence(field, tokens), names) for field in fields] if tokens else []
