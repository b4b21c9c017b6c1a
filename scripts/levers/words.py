"""What `index.bm25` weighs, asked again with other constants and further clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import msgspec
from ir_scores import Floats, Scored, shares
from levers.table import Table, by, hybrid
from tantivy import Occur, Query, Searcher

from index import bm25, query
from index.fields import SCHEMA, TEXT
from index.store import Reader, reading


def keyword(table: Table) -> None:
    def variant(label: str, *changes: tuple[Any, str, Any]) -> None:
        with changed(*changes):
            words = {one.name: asked_again(one) for one in table.collections}
        table.row(f"{label}: keyword", lambda one: by(words[one.name]))
        table.row(f"{label}: hybrid", lambda one: hybrid(one, words=words[one.name]))

    weights = bm25.FIELD_WEIGHTS
    variant("as it is")
    for field, weight in (
        ("title", 0.0),
        ("title", 0.7),
        ("heading", 0.0),
        ("heading", 0.7),
        ("path", 0.0),
        ("identifiers", 0.0),
    ):
        variant(f"{field} {weight}", (bm25, "FIELD_WEIGHTS", {**weights, field: weight}))
    variant("stop words searched", (query, "STOP_WORDS", frozenset()))
    variant("no similar words", (bm25, "FUZZY_WEIGHT", 0.0))
    for weight in (0.1, 0.2, 0.4):
        variant(f"coverage {weight}", (bm25, "plan", with_more(coverage, weight)))
    for weight in (0.1, 0.3):
        variant(f"neighbours within 3 {weight}", (bm25, "plan", with_more(proximity, weight)))


@contextmanager
def changed(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Modules with other constants, for a while."""
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def asked_again(one: Scored) -> Floats:
    with reading(one.store.data_dir) as reader:
        return shares(reader.lexical(), one.texts, one.chunk_ids)


def with_more(clauses_of: Callable[..., Iterator[tuple[Query, float]]], weight: float) -> Callable[..., bm25.Plan]:
    """`bm25.plan` with further clauses, each with the most it can score."""
    plan = bm25.plan

    def planned(parsed: query.ParsedQuery, statistics: bm25.Statistics) -> bm25.Plan:
        own = plan(parsed, statistics)
        clauses = list(clauses_of(parsed, statistics.searcher, weight))
        whole = Query.boolean_query(
            [(Occur.Should, clause) for clause in (own.query, *(clause for clause, _ in clauses))]
        )
        return msgspec.structs.replace(own, query=whole, ceiling=own.ceiling + sum(most for _, most in clauses))

    return planned


def coverage(parsed: query.ParsedQuery, searcher: Any, weight: float) -> Iterator[tuple[Query, float]]:
    """The same for every chunk that holds a word, however often."""
    for token, count in Counter(tokens(parsed)).items():
        if frequency := searcher.doc_freq("body", token):
            most = weight * count * bm25.idf(frequency, searcher.num_docs)
            yield Query.const_score_query(Query.term_query(SCHEMA, "body", token), most), most


def proximity(parsed: query.ParsedQuery, searcher: Any, weight: float) -> Iterator[tuple[Query, float]]:
    """Words that stand side by side in the query, within three of each other."""
    for pair in pairwise(tokens(parsed)):
        frequencies = [searcher.doc_freq("body", token) for token in pair]
        if all(frequencies) and len(set(pair)) == len(pair):
            near = Query.phrase_query(SCHEMA, "body", list(pair), slop=3)
            most = weight * (bm25.K1 + 1) * sum(bm25.idf(frequency, searcher.num_docs) for frequency in frequencies)
            yield Query.boost_query(near, weight), most


def tokens(parsed: query.ParsedQuery) -> list[str]:
    return [token for word in parsed.words for token in TEXT.analyze(word.text)]


def searcher_of(reader: Reader) -> Searcher:
    return reader.lexical()._index.searcher()  # noqa: SLF001  to look inside is the purpose
