"""A second look at what was found: the best hits teach the query, and signals at hand mend the order."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
from ir_scores import Floats, Scored, shares
from levers.table import Ranking, Table, hybrid
from levers.words import asked_again, changed, coverage, searcher_of, with_more

from index import bm25
from index.fields import TEXT
from index.store import reading
from kb.regularize import LITTLE


def feedback(table: Table) -> None:
    table.row("as it is", hybrid)
    for count in (3, 5, 10):
        for weight in (0.3, 0.6, 1.0):
            table.row(
                f"Rocchio, {count} hits, {weight}",
                partial(by_rocchio, count=count, weight=weight),
            )
    for count, weight in ((5, 0.2), (5, 0.5), (10, 0.2)):
        table.row(f"RM3, {count} hits, 10 words, {weight}", partial(by_rm3, count=count, weight=weight))


def by_rocchio(one: Scored, count: int, weight: float) -> Ranking:
    return hybrid(one, meaning=rocchio(one, count, weight))


def by_rm3(one: Scored, count: int, weight: float) -> Ranking:
    return hybrid(one, words=rm3(one, count, weight))


def rocchio(one: Scored, count: int, weight: float) -> Floats:
    """Cosines with the query's vector moved towards the mean of the best hits'."""
    ranking = hybrid(one)
    means = np.stack([one.vectors[ranking(row)[:count]].mean(axis=0) for row in range(len(one.texts))])
    moved = one.query_vectors + weight * means
    found: Floats = np.maximum((moved / np.linalg.norm(moved, axis=1, keepdims=True)) @ one.vectors.T, 0)
    return found


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
    """On top of the fused score: a share of the query's words held, and a share of BM25 in titles and headings alone."""
    with changed((bm25, "plan", with_more(coverage, 1e6))):  # all other clauses vanish beside it
        covered = {one.name: asked_again(one) for one in table.collections}
    names = dict.fromkeys(bm25.FIELD_WEIGHTS, 1e-06) | {"title": 1.0, "heading": 1.0}
    with changed((bm25, "FIELD_WEIGHTS", names)):
        titled = {one.name: asked_again(one) for one in table.collections}

    def with_share(one: Scored, weight: float, more: dict[str, Floats]) -> Ranking:
        return hybrid(one, words=one.shares + weight * more[one.name])

    table.row("as it is", hybrid)
    for weight in (0.05, 0.1, 0.2):
        table.row(f"+ {weight} coverage", partial(with_share, weight=weight, more=covered))
        table.row(f"+ {weight} title and heading", partial(with_share, weight=weight, more=titled))


def regularization(table: Table) -> None:
    """The hits most like a hit have a say in its score: upwards alone, or both ways."""
    table.row("none", lambda one: hybrid(one, lifted=0.0))
    for weight in (0.3, 0.5, 0.7):
        table.row(f"{weight} upwards", partial(hybrid, lifted=weight))
    for count in (20, 40, 60, 200):
        table.row(f"0.5 upwards, of {count} hits", partial(regularized, weight=0.5, count=5, first=count))
    for alike in (3, 8, 10):
        table.row(f"0.5 upwards, {alike} most alike", partial(regularized, weight=0.5, count=alike, first=30))
    for weight in (0.2, 0.25, 0.3):
        table.row(f"{weight} both ways", partial(regularized, weight=weight, count=5, first=30, upwards=False))


def regularized(one: Scored, weight: float, count: int, first: int, *, upwards: bool = True) -> Ranking:
    """As `kb.regularize` has it, of other numbers."""
    ranking = hybrid(one, lifted=0.0)

    def again(row: int) -> list[int]:
        columns = np.array(ranking(row))
        head, rest = columns[:first], columns[first:]
        scores = 0.6 * one.shares[row, head] + 0.4 * one.cosines[row, head]
        near = np.maximum(one.vectors[head] @ one.vectors[head].T, 0)
        np.fill_diagonal(near, 0)
        near[near < np.sort(near, axis=1)[:, [-min(count, len(head))]]] = 0
        alike = near.sum(axis=1)
        above = (near @ scores - alike * scores) / np.maximum(alike, LITTLE)
        mixed = scores + weight * (np.maximum(above, 0) if upwards else above)
        return [*head[np.argsort(-mixed, kind="stable")].tolist(), *rest.tolist()]

    return again
