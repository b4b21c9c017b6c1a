"""Answers of several stores to the same queries, as one. Scores mean the same in every store, so they are compared as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

import msgspec

from kb.wire_search import CONFIDENCES, Hit, SearchAnswer, SearchAnswers

AnyHit = TypeVar("AnyHit", bound=Hit)
Answered = SearchAnswer | SearchAnswers
"""To one query, or to several."""


def merged(answers: Sequence[tuple[str, Answered]], top: int) -> Answered:
    """The answers of two stores or more, which are named by their paths and were asked the same."""
    single = [(store, answer) for store, answer in answers if isinstance(answer, SearchAnswer)]
    if single:
        return _of_one_query(single, top)
    several = [(store, answer) for store, answer in answers if isinstance(answer, SearchAnswers)]
    by_query = zip(*(answer.answers for _, answer in several), strict=True)
    stores = [store for store, _ in several]
    together = SearchAnswers.of(
        [_of_one_query(list(zip(stores, of_query, strict=True)), top) for of_query in by_query],
        _best(((store, answer.fused) for store, answer in several), top),
    )
    return msgspec.structs.replace(together, warnings=tuple(_warnings(answers)))


def _of_one_query(answers: Sequence[tuple[str, SearchAnswer]], top: int) -> SearchAnswer:
    results = _best(((store, answer.results) for store, answer in answers), top)
    alone = [answer for _, answer in answers]
    return msgspec.structs.replace(
        alone[0],
        results=results,
        returned=len(results),
        total_matches=sum(answer.total_matches for answer in alone),
        confidence=min((answer.confidence for answer in alone), key=CONFIDENCES.index),
        took_ms=round(sum(answer.took_ms for answer in alone), 3),
        warnings=tuple(_warnings(answers)),
    )


def _best(found: Iterable[tuple[str, Sequence[AnyHit]]], top: int) -> tuple[AnyHit, ...]:
    hits = chain.from_iterable((msgspec.structs.replace(hit, store=store) for hit in hits) for store, hits in found)
    return tuple(sorted(hits, key=lambda hit: -hit.score)[:top])


def _warnings(answers: Iterable[tuple[str, Answered]]) -> Iterator[str]:
    return (f"{store}: {warning}" for store, answer in answers for warning in answer.warnings)
