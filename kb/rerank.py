"""A second look at the best hits: a reranker reads them beside the query, and its scores are blended with the fused ones.

Whatever goes wrong with it (it is not here, it raises, it is slow, its scores are none) the hits stay as they were and a
warning says why. Not here: the models (`models.reranker`, `models.remote`), and where passages come from (`kb.search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from kb.caller import caller
from kb.envfile import secret
from kb.errors import BadConfig
from kb.settings import RERANK_KEY, Search
from models.errors import ModelError
from models.locate import is_folder
from models.rerankerfiles import RerankerFiles, full_name, locate_reranker

if TYPE_CHECKING:
    from models.reranker import CrossEncoder, Reranker

BLEND = ((3, 0.75), (10, 0.60))
"""Last rank, from 1, and what the fused score weighs up to it. The searches are surest of their first hits: there a reranker may
only correct, further down it decides."""
BLEND_AFTER = 0.40


class Blended(msgspec.Struct, frozen=True, kw_only=True):
    """A hit after the second look: `weight * fused + (1 - weight) * rerank`."""

    fused: float
    rank: int
    """By the fused score, from 1."""
    weight: float
    rerank: float | None
    """In [0, 1]; None where it was not read, which counts as 0."""

    @property
    def score(self) -> float:
        return self.weight * self.fused + (1 - self.weight) * (self.rerank or 0.0)


class NotReranked(Exception):
    """Why the hits stay as they were."""


def blend(ranked: Sequence[tuple[int, float]], scores: Mapping[int, float]) -> dict[int, Blended]:
    """Every hit once, best first, ties by id. `ranked`: ids and fused scores, best first; `scores`: the reranker's, by id."""
    hits = {
        item: Blended(fused=score, rank=rank, weight=_weight(rank), rerank=scores.get(item))
        for rank, (item, score) in enumerate(ranked, start=1)
    }
    return dict(sorted(hits.items(), key=lambda hit: (-hit[1].score, hit[0])))


def read(reranker: Reranker, query: str, passages: Mapping[int, str], until: float) -> dict[int, float]:
    """The score of each passage, by id. Raises NotReranked, also when it is not done `until` then (`perf_counter`)."""
    ids = list(passages)
    try:
        found = dict(_watched(reranker.scores(query, list(passages.values())), len(ids), until))
    except NotReranked:
        raise
    except ModelError as error:
        raise NotReranked(f"{error.message} {error.hint}".strip()) from error
    except Exception as error:  # other people's models fail in ways of their own, and the hits are good without
        raise NotReranked(f"{type(error).__name__}: {error}") from error
    if len(found) < len(ids):
        raise NotReranked(f"it gave scores to {len(found)} of {len(ids)} passages")
    return {ids[place]: score for place, score in found.items()}


def _watched(scores: Iterator[tuple[int, float]], count: int, until: float) -> Iterator[tuple[int, float]]:
    """Those that are scores of one of `count` passages, while there is time."""
    for done, (place, score) in enumerate(scores):
        if perf_counter() > until:
            raise NotReranked(f"it had read {done} of {count} passages when the time was up")
        if not 0 <= score <= 1 or not 0 <= place < count:  # nan is in no range
            raise NotReranked(f"it gave passage {place} of {count} the score {score}")
        yield place, score


def reranker_for(wanted: Search) -> Reranker:
    """What the settings name, for whoever asks. Raises NotReranked."""
    if reason := unavailable(wanted):
        raise NotReranked(reason)
    if wanted.rerank_url:
        from models.remote import RemoteReranker

        key = secret(RERANK_KEY)
        return RemoteReranker(
            url=wanted.rerank_url, model=wanted.rerank_model, key=key, timeout_s=wanted.rerank_timeout_s
        )
    try:
        files = located(wanted.rerank_model)
        status = files.onnx.stat()
        return _session(files, (status.st_ino, status.st_size, status.st_mtime_ns))
    except (ModelError, OSError) as error:
        raise NotReranked(str(error)) from error


def unavailable(wanted: Search) -> str:
    """Why there is no reranker, with what mends it; empty if there is one. Loads nothing."""
    try:
        if not wanted.rerank_url:
            located(wanted.rerank_model)
            return ""
        from models.remote import checked

        host = checked(wanted.rerank_url).hostname
        return "" if secret(RERANK_KEY) else f"there is no key for {host}: set {RERANK_KEY}"
    except (ModelError, BadConfig) as error:
        return f"{error.message} {error.hint}".strip()


def located(name: str) -> RerankerFiles:
    """As `locate_reranker`, for whoever asks."""
    return locate_reranker(caller().absolute(name) if is_folder(name) else full_name(name))


@lru_cache(maxsize=1)
def _session(files: RerankerFiles, _state: tuple[int, int, int]) -> CrossEncoder:
    """Loaded once in a process, as long as the file stays as it is."""
    from models.reranker import CrossEncoder

    return CrossEncoder.load(files, spinning=True)


def _weight(rank: int) -> float:
    return next((weight for last, weight in BLEND if rank <= last), BLEND_AFTER)
