"""What stands for a chunk in the vector space: its neighbours beside it, windows of it, what is embedded before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from ir_scores import Floats, Scored
from ir_vectors import embedded
from ir_windows import blocks_of
from ir_windows import windows as windows_of
from levers.table import Ranking, Table, by, hybrid
from levers.words import changed

from index import neighbours as mixing
from index.neighbours import Placed
from index.store import reading
from index.windows import texts

RESCORED = 20
"""Hits whose windows are looked at. With all chunks' windows, and with those of 100 and of 200 hits by meaning, each row was the same to
the fourth digit on the four collections where that was tried: what reaches the first ten is among these."""

WORDS = 70
"""A window that is embedded: what the goal's own prototype had."""


class Passage(NamedTuple):
    placed: Placed
    heading: str
    context: str
    text: str

    @property
    def embedded(self) -> str:
        return f"{self.context}\n\n{self.text}" if self.context else self.text


def passages(one: Scored) -> list[Passage]:
    with reading(one.store.data_dir) as reader:
        rows = reader.connection.execute(
            "SELECT c.document_id, c.chunk_index, c.id, v.vector, c.heading, c.context, c.text FROM chunks c"
            " JOIN vectors v ON v.text_hash = c.text_hash ORDER BY c.id"
        )
        return [Passage(Placed(*row[:4]), *row[4:]) for row in rows]


def cosines(one: Scored, vectors: Floats) -> Floats:
    found: Floats = np.maximum(one.query_vectors @ vectors.T, 0)
    return found


def both(table: Table, label: str, meaning: dict[str, Floats]) -> None:
    table.row(f"{label}: semantic", lambda one: by(meaning[one.name]))
    table.row(f"{label}: hybrid", lambda one: hybrid(one, meaning=meaning[one.name]))


def in_place(found: list[Passage], weight: float) -> Floats:
    """Rows of the matrix where each neighbour weighs so much."""
    with changed((mixing, "WEIGHT", weight)):
        batches = mixing.rows((passage.placed for passage in found), len(found[0].placed.vector) // 4, len(found))
        return np.concatenate([rows for _, rows in batches])


def neighbours(table: Table) -> None:
    """A part of the vectors of the chunks before and after; and of the mean of the whole document."""
    found = {one.name: passages(one) for one in table.collections}
    for weight in (0.0, 0.1, 0.15, 0.2, 0.3, 0.5):
        rows = {one.name: cosines(one, in_place(found[one.name], weight)) for one in table.collections}
        both(table, f"{weight} of each", rows)
    for weight in (0.2, 0.35, 0.5):

        def ranking(one: Scored, weight: float = weight) -> Ranking:
            return hybrid(one, meaning=cosines(one, with_document(found[one.name], weight)))

        table.row(f"{weight} of the document: hybrid", ranking)


def with_document(found: list[Passage], weight: float) -> Floats:
    vectors = in_place(found, 0.0)
    numbers = np.unique([passage.placed.document_id for passage in found], return_inverse=True)[1]
    means = np.zeros((numbers.max() + 1, vectors.shape[1]), np.float32)
    np.add.at(means, numbers, vectors)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    mixed = (1 - weight) * vectors + weight * means[numbers]
    rows: Floats = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return rows


def windows(table: Table) -> None:
    """Of the first hits, the cosine is a mean of the whole chunk's and its best window's.

    Windows are texts that are embedded again, as `embedding.windows` makes them; or parts of the whole's token vectors.
    """
    table.row("whole: hybrid", hybrid)
    table.row(
        f"{WORDS} words, embedded: hybrid",
        lambda one: hybrid(one, meaning=0.5 * (one.cosines + best_of(one, embedded_windows(one, WORDS)))),
    )
    blocks = {one.name: blocks_of_first(one) for one in table.collections}
    for tokens, overlap in ((48, 0), (64, 0), (64, 32), (96, 0), (128, 0), (128, 64)):
        best = {
            one.name: best_of(
                one, {column: windows_of(own, tokens, overlap) for column, own in blocks[one.name].items()}
            )
            for one in table.collections
        }
        for share in (0.3, 0.5, 0.7, 1.0):

            def ranking(one: Scored, share: float = share, best: dict[str, Floats] = best) -> Ranking:
                return hybrid(one, meaning=(1 - share) * one.cosines + share * best[one.name])

            table.row(f"{tokens} tokens, overlap {overlap}, {share}", ranking)


def first_hits(one: Scored) -> list[list[int]]:
    ranking = hybrid(one)
    return [list(ranking(row)[:RESCORED]) for row in range(len(one.texts))]


def columns_of_first(one: Scored) -> list[int]:
    """Of all chunks that are among the first hits of any query."""
    return sorted({column for hits in first_hits(one) for column in hits})


def embedded_windows(one: Scored, words: int) -> dict[int, Floats]:
    """By column, the windows of each of these chunks, float32 (n, dim)."""
    columns, found = columns_of_first(one), passages(one)
    parts = {column: texts(found[column].context, found[column].text, words) for column in columns}
    rows = embedded([text for own in parts.values() for text in own])
    ends = np.cumsum([len(own) for own in parts.values()])
    return dict(zip(parts, np.split(rows, ends[:-1]), strict=True))


def blocks_of_first(one: Scored) -> dict[int, Floats]:
    """By column, of these chunks."""
    columns, found = columns_of_first(one), passages(one)
    return dict(zip(columns, blocks_of([found[column].embedded for column in columns]), strict=True))


def best_of(one: Scored, found: dict[int, Floats]) -> Floats:
    """Cosines, where a chunk among the first hits has that of its best window, if it has any. `found`: windows by column."""
    best = one.cosines.copy()
    for row, hits in enumerate(first_hits(one)):
        for column in hits:
            if len(found[column]):
                best[row, column] = max(0.0, float((found[column] @ one.query_vectors[row]).max()))
    return best


def context(table: Table) -> None:
    """What is embedded before a chunk's text."""
    table.row("as it is: semantic", lambda one: by(one.cosines))
    table.row("as it is: hybrid", hybrid)
    forms: dict[str, Callable[[Passage], str]] = {
        "nothing": lambda passage: passage.text,
        "whole chain, always": lambda passage: f"{passage.heading}\n\n{passage.text}".strip(),
    }
    for label, form in forms.items():
        found = {one.name: cosines(one, again_embedded(passages(one), form)) for one in table.collections}
        both(table, label, found)


def again_embedded(found: list[Passage], form: Callable[[Passage], str]) -> Floats:
    """Rows of the matrix, each text in another form; where that is the one it has, its vector is taken."""
    other = [passage for passage in found if form(passage) != passage.embedded]
    vectors = iter(embedded([form(passage) for passage in other]) if other else ())
    again = [
        passage if form(passage) == passage.embedded
        else passage._replace(placed=passage.placed._replace(vector=next(vectors).tobytes()))
        for passage in found
    ]  # fmt: skip
    return in_place(again, mixing.WEIGHT)
