#!/usr/bin/env python3
"""Measure ways of ranking on the stores of scripts/eval: scripts/eval_levers.py LEVER [NAME ...]

fusion      every method of kb.fuse, with weights; and a weight that follows how selective the query's words are
keyword     what index.bm25 weighs, stop words, proximity, coverage, similar words; by words alone and fused
k1b         BM25's two constants, which tantivy fixes at 1.2 and 0.75, in a BM25 of one field
feedback    the best hits teach the query: Rocchio on vectors, RM3 on words
stage       a second look at the fused hits by signals at hand
windows     smaller windows of a chunk beside the whole; embeds them, which takes as long as the collections themselves
context     title and heading before the embedded text or not; embeds as much again

A row is nDCG@10: each collection, the mean of the five of the goal, and that mean on the half of the queries that settings are
chosen by and on the other half. docs/ranking.md has what came out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from ir_collections import GOAL, by_names
from ir_scores import Floats, Scored, best, scored, shares
from ir_vectors import embedded
from scipy import sparse
from tantivy import Occur, Query, Searcher

from index import bm25, query
from index.fields import SCHEMA, TEXT
from index.store import Reader, reading
from kb.fuse import Found, Knobs, fuse
from kb.settings import Fusion

CANDIDATES = 100
Ranking = Callable[[int], Sequence[int]]
"""The best chunks, as columns, of a query, as a row."""


class Table:
    """Rows of nDCG@10, printed as they are measured."""

    def __init__(self, collections: Sequence[Scored]) -> None:
        self.collections = collections
        self.goal = [number for number, one in enumerate(collections) if one.name in GOAL]
        print(
            f"{'':<34}"
            + "".join(f"{one.name[:9]:>10}" for one in collections)
            + f"{'five':>9}{'tuned on':>10}{'held out':>10}"
        )

    def row(self, label: str, ranking_of: Callable[[Scored], Ranking]) -> None:
        found = [one.ndcg(ranking_of(one)) for one in self.collections]
        five = [float(np.mean([found[number].mean() for number in self.goal]))]
        for tuning in (True, False):
            halves = [found[number][self.collections[number].tuning == tuning].mean() for number in self.goal]
            five.append(float(np.mean(halves)))
        print(
            f"{label:<34}"
            + "".join(f"{values.mean():>10.4f}" for values in found)
            + "".join(f"{value:>9.4f}" for value in five),
            flush=True,
        )


def by(scores: Floats) -> Ranking:
    return lambda row: best(scores[row], CANDIDATES).tolist()


def hybrid(
    one: Scored,
    method: Fusion = "weighted",
    *,
    weight: float | Floats = 0.4,
    words: Floats | None = None,
    meaning: Floats | None = None,
) -> Ranking:
    """As `kb.search` makes it, of other shares or cosines where they are given; `weight` of the meaning, or one a query."""
    words = one.shares if words is None else words
    meaning = one.cosines if meaning is None else meaning

    def ranking(row: int) -> list[int]:
        keyword, semantic = best(words[row], CANDIDATES), best(meaning[row], CANDIDATES)
        found = Found(
            keyword=list(zip(keyword.tolist(), words[row, keyword].tolist(), strict=True)),
            semantic=list(zip(semantic.tolist(), meaning[row, semantic].tolist(), strict=True)),
            cosines={int(column): float(meaning[row, column]) for column in np.setdiff1d(keyword, semantic)},
        )
        own = float(weight if isinstance(weight, float) else weight[row])
        return [hit.id for hit in fuse(found, method, Knobs(semantic_weight=own))]

    return ranking


def fusion(table: Table) -> None:
    table.row("keyword", lambda one: by(one.shares))
    table.row("semantic", lambda one: by(one.cosines))
    table.row("rrf, k 60", lambda one: hybrid(one, "rrf"))
    table.row("rrf, k 60, bonus", lambda one: hybrid(one, "rrf-bonus"))
    for method in ("min-max", "deviation", "weighted"):
        for weight in (0.3, 0.4, 0.5, 0.6, 0.7):
            table.row(f"{method} {weight}", lambda one, m=method, w=weight: hybrid(one, m, weight=w))
    middle = np.concatenate([selectivity(one) for one in table.collections])
    for slope in (-0.2, -0.1, 0.1, 0.2):

        def weights(one: Scored, slope: float = slope) -> Floats:
            return np.clip(0.4 + slope * (selectivity(one) - middle.mean()) / middle.std(), 0.05, 0.95)

        table.row(f"weighted 0.4 {slope:+} by selectivity", lambda one: hybrid(one, weight=weights(one)))


def selectivity(one: Scored) -> Floats:
    """Of each query: the mean inverse frequency of its words, as far as BM25's ceiling says."""
    with reading(one.store.data_dir) as reader:
        searcher = searcher_of(reader)
        parsed = [query.parse(text) for text in one.texts]
        return np.array(
            [bm25.plan(each, searcher, None).ceiling / max(1, len(each.words)) for each in parsed], np.float32
        )


def searcher_of(reader: Reader) -> Searcher:
    return reader.lexical()._index.searcher()  # noqa: SLF001  to look inside is the purpose


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

    def planned(parsed: query.ParsedQuery, searcher: Any, document_ids: Any) -> bm25.Plan:
        own = plan(parsed, searcher, document_ids)
        clauses = list(clauses_of(parsed, searcher, weight))
        whole = Query.boolean_query(
            [(Occur.Should, clause) for clause in (own.query, *(clause for clause, _ in clauses))]
        )
        return bm25.Plan(query=whole, ceiling=own.ceiling + sum(most for _, most in clauses), unknown=own.unknown)

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


def k1b(table: Table) -> None:
    """One field: title and text of each chunk."""
    counted = {one.name: OneField.of(one) for one in table.collections}
    for k1, b in ((1.2, 0.75), (0.9, 0.4), (1.2, 0.4), (1.2, 0.6), (1.2, 0.9), (0.7, 0.5), (2.0, 0.75)):
        table.row(f"k1 {k1} b {b}", lambda one, k1=k1, b=b: by(counted[one.name].scores(k1, b)))


class OneField(NamedTuple):
    counts: sparse.csr_matrix
    """(chunks, words)."""
    asked: sparse.csr_matrix
    """(queries, words)."""

    @classmethod
    def of(cls, one: Scored) -> OneField:
        with reading(one.store.data_dir) as reader:
            rows = reader.connection.execute(
                "SELECT text FROM chunks WHERE id IN (SELECT id FROM chunks) ORDER BY id"
            ).fetchall()
        known: dict[str, int] = {}
        counts = counted((Counter(TEXT.analyze(text)) for (text,) in rows), known)
        asked = counted((Counter(tokens(query.parse(text))) for text in one.texts), known)
        return cls(
            sparse.csr_matrix(counts, shape=(len(rows), len(known))),
            sparse.csr_matrix(asked, shape=(len(one.texts), len(known))),
        )

    def scores(self, k1: float, b: float) -> Floats:
        chunks, lengths = self.counts.shape[0], np.asarray(self.counts.sum(axis=1)).ravel()
        found_in = np.bincount(self.counts.indices, minlength=self.counts.shape[1])
        weights = np.log1p((chunks - found_in + 0.5) / (found_in + 0.5))
        entries = self.counts.tocoo()
        norm = k1 * (1 - b + b * lengths / lengths.mean())
        values = weights[entries.col] * entries.data * (k1 + 1) / (entries.data + norm[entries.row])
        return (
            self.asked @ sparse.csr_matrix((values, (entries.row, entries.col)), shape=self.counts.shape).T
        ).toarray()


def counted(texts: Iterable[Counter[str]], known: dict[str, int]) -> tuple[list[int], tuple[list[int], list[int]]]:
    """Entries of a sparse matrix: how often, (which text, which word)."""
    entries = [
        (count, row, known.setdefault(word, len(known)))
        for row, words in enumerate(texts)
        for word, count in words.items()
    ]
    counts, rows, columns = (list(part) for part in zip(*entries, strict=True))
    return counts, (rows, columns)


def feedback(table: Table) -> None:
    table.row("as it is", hybrid)
    for count in (3, 5, 10):
        for weight in (0.3, 0.6, 1.0):
            table.row(
                f"Rocchio, {count} hits, {weight}",
                lambda one, c=count, w=weight: hybrid(one, meaning=rocchio(one, c, w)),
            )
    for count, weight in ((5, 0.2), (5, 0.5), (10, 0.2)):
        table.row(
            f"RM3, {count} hits, 10 words, {weight}", lambda one, c=count, w=weight: hybrid(one, words=rm3(one, c, w))
        )


def rocchio(one: Scored, count: int, weight: float) -> Floats:
    """Cosines with the query's vector moved towards the mean of the best hits'."""
    ranking = hybrid(one)
    means = np.stack([one.vectors[ranking(row)[:count]].mean(axis=0) for row in range(len(one.texts))])
    moved = one.query_vectors + weight * means
    return np.maximum((moved / np.linalg.norm(moved, axis=1, keepdims=True)) @ one.vectors.T, 0)


def rm3(one: Scored, count: int, weight: float) -> Floats:
    """Shares of the query, mixed with those of the ten words that weigh most in the best hits."""
    ranking = hybrid(one)
    with reading(one.store.data_dir) as reader:
        texts = [text for (text,) in reader.connection.execute("SELECT text FROM chunks ORDER BY id")]
        lexical, searcher = reader.lexical(), searcher_of(reader)
        expansions = []
        for row in range(len(one.texts)):
            words = Counter(token for column in ranking(row)[:count] for token in set(TEXT.analyze(texts[column])))
            weighed = {
                token: number * bm25.idf(searcher.doc_freq("body", token), searcher.num_docs)
                for token, number in words.items()
            }
            expansions.append(" ".join(sorted(weighed, key=lambda token: -weighed[token])[:10]))
        return (1 - weight) * one.shares + weight * shares(lexical, expansions, one.chunk_ids)


def stage(table: Table) -> None:
    """On top of the fused score: a share of the query's words held, a share of BM25 in titles and headings alone, and the scores of
    hits that are near in meaning."""
    with changed((bm25, "plan", with_more(coverage, 1e6))):  # all other clauses vanish beside it
        covered = {one.name: asked_again(one) for one in table.collections}
    names = dict.fromkeys(bm25.FIELD_WEIGHTS, 1e-06) | {"title": 1.0, "heading": 1.0}
    with changed((bm25, "FIELD_WEIGHTS", names)):
        titled = {one.name: asked_again(one) for one in table.collections}
    table.row("as it is", hybrid)
    for weight in (0.05, 0.1, 0.2):
        table.row(f"+ {weight} coverage", lambda one, w=weight: hybrid(one, words=one.shares + w * covered[one.name]))
        table.row(
            f"+ {weight} title and heading", lambda one, w=weight: hybrid(one, words=one.shares + w * titled[one.name])
        )
    for weight in (0.1, 0.2, 0.4):
        table.row(f"{weight} of the 10 nearest hits", lambda one, w=weight: smoothed(one, w))


def smoothed(one: Scored, weight: float) -> Ranking:
    """A part of each score is the mean score of the hits nearest to it in meaning (Diaz, 2005)."""
    ranking = hybrid(one)

    def again(row: int) -> list[int]:
        columns = np.array(ranking(row))
        scores = 0.6 * one.shares[row, columns] + 0.4 * one.cosines[row, columns]
        near = np.maximum(one.vectors[columns] @ one.vectors[columns].T, 0)
        np.fill_diagonal(near, 0)
        near[near < np.sort(near, axis=1)[:, [-min(10, len(columns))]]] = 0
        mixed = (1 - weight) * scores + weight * (near @ scores) / np.maximum(near.sum(axis=1), 1e-9)
        return columns[np.argsort(-mixed, kind="stable")].tolist()

    return again


def windows(table: Table) -> None:
    """A chunk's cosine is a mean of the whole's and its best window's."""
    table.row("whole: semantic", lambda one: by(one.cosines))
    table.row("whole: hybrid", hybrid)
    for words in (70, 110):
        found = {one.name: of_windows(one, words) for one in table.collections}
        rows = sum(count for _, count in found.values()) / sum(len(one.owners) for one in table.collections)
        for share in (0.3, 0.5, 0.7):

            def mixed(one: Scored, share: float = share, found: dict[str, tuple[Floats, int]] = found) -> Floats:
                return (1 - share) * one.cosines + share * found[one.name][0]

            label = f"{words} words, +{rows:.1f} rows, {share}"
            table.row(f"{label}: semantic", lambda one, mixed=mixed: by(mixed(one)))
            table.row(f"{label}: hybrid", lambda one, mixed=mixed: hybrid(one, meaning=mixed(one)))


def of_windows(one: Scored, words: int) -> tuple[Floats, int]:
    """The cosine of each chunk's best window, the whole's where it is hardly longer than one; and how many windows that takes."""
    texts, owners = [], []
    for column, (_, text) in enumerate(passages(one)):
        for window in cut(text, words):
            texts.append(window)
            owners.append(column)
    scores = one.query_vectors @ embedded(texts).T
    most = np.where(np.isin(np.arange(len(one.owners)), owners), -1.0, one.cosines).astype(np.float32)
    for row in range(len(most)):
        np.maximum.at(most[row], owners, scores[row])
    return np.maximum(most, 0), len(texts)


def cut(text: str, words: int) -> Iterator[str]:
    """Windows of about as many words, of equal length; none of a text that is one itself."""
    found = text.split()
    count = round(len(found) / words)
    borders = [round(number * len(found) / count) for number in range(count + 1)] if count > 1 else []
    yield from (" ".join(found[first:last]) for first, last in pairwise(borders))


def context(table: Table) -> None:
    """What is embedded before a chunk's text."""
    table.row("as it is: semantic", lambda one: by(one.cosines))
    table.row("as it is: hybrid", hybrid)
    forms: dict[str, Callable[[str, str], str]] = {
        "nothing": lambda _, text: text,
        "whole chain, always": lambda chain, text: f"{chain}\n\n{text}" if chain else text,
    }
    for label, form in forms.items():
        found = {one.name: again_embedded(one, form) for one in table.collections}
        table.row(f"{label}: semantic", lambda one, found=found: by(found[one.name]))
        table.row(f"{label}: hybrid", lambda one, found=found: hybrid(one, meaning=found[one.name]))


def again_embedded(one: Scored, form: Callable[[str, str], str]) -> Floats:
    return np.maximum(one.query_vectors @ embedded([form(chain, text) for chain, text in passages(one)]).T, 0)


def passages(one: Scored) -> list[tuple[str, str]]:
    """Heading chain and text of each chunk."""
    with reading(one.store.data_dir) as reader:
        return reader.connection.execute("SELECT heading, text FROM chunks ORDER BY id").fetchall()


LEVERS = {
    "fusion": fusion,
    "keyword": keyword,
    "k1b": k1b,
    "feedback": feedback,
    "stage": stage,
    "windows": windows,
    "context": context,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lever", choices=LEVERS)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="collections; without: all but qmd's, which is too easy"
    )
    arguments = parser.parse_args()
    chosen = by_names(arguments.names or [one.name for one in by_names([]) if one.name != "qmd_eval"])
    LEVERS[arguments.lever](Table([scored(collection) for collection in chosen]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
