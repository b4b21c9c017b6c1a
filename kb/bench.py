"""Bench: questions whose answers are known to how well each way of searching finds them, and what changed since another run.

It is asked as a user asks, and a document counts at the place of its best passage. Not here: the measures themselves
(`kb.measures`), the file of questions (`kb.fixture`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

import msgspec

from index import documents
from index.atomic import replace_file
from index.store import reading
from kb import fixture, measures, rerank
from kb.errors import BadRequest, NotFound
from kb.fixture import Library, Question
from kb.retrieve import Mode
from kb.search import Request, search
from kb.settings import Settings
from kb.wire_bench import BenchAnswer, BenchChange, BenchComparison, BenchOutcome, BenchQuery, BenchSummary
from kb.wire_search import SearchAnswer

BACKENDS: dict[str, tuple[Mode, bool]] = {
    "keyword": ("keyword", False),
    "semantic": ("semantic", False),
    "hybrid": ("hybrid", False),
    "rerank": ("hybrid", True),
}
"""How each is searched, and whether a reranker reads the hits, whatever the settings say."""
NOT_RERANKED = "not reranked"
"""How the warning of such a search begins (`kb.search`)."""
NDCG_AT = 10
CHANGED = 1e-6
"""A greater difference of nDCG is a change; a smaller one is rounding."""


def bench(data_dir: Path, settings: Settings, path: Path, backends: Sequence[str], k: int) -> BenchAnswer:
    """Ask each backend every question of the fixture. `k`: of precision and recall, where a question has none of its own.

    No backend named: all of them, `rerank` where there is a reranker. Raises NotFound and BadRequest for the fixture,
    StoreMissing, and ModelMissing where `semantic` is asked.
    """
    backends = backends or [name for name in BACKENDS if name != "rerank" or not rerank.unavailable(settings.search)]
    questions = fixture.load(path).queries
    with reading(data_dir, settings.storage.lock_timeout_s) as reader:
        library = Library(documents.page_of(reader.connection, None, limit=None, offset=0))
    answers = {backend: _ask(data_dir, settings, backend, questions, k) for backend in dict.fromkeys(backends)}
    queries = tuple(
        BenchQuery(
            id=question.name, query=question.query, type=question.type, k=question.cutoff or k,
            outcomes={backend: _outcome(question, given[number], library, k) for backend, given in answers.items()},
        )
        for number, question in enumerate(questions)
    )  # fmt: skip
    return BenchAnswer(
        fixture=str(path), backends=tuple(answers), summary=tuple(_summary(queries, tuple(answers))), queries=queries,
        warnings=(*_absent(questions, library), *_other_modes(answers), *_not_reranked(answers)),
    )  # fmt: skip


def compare(now: BenchAnswer, path: Path) -> BenchAnswer:
    """The run, with what became better or worse since the one saved in `path`. Raises NotFound and BadRequest."""
    then = load(path)
    backends = [backend for backend in now.backends if backend in then.backends]
    before = {query.id: query for query in then.queries}
    both = [(before[query.id], query) for query in now.queries if query.id in before]
    if not backends or not both:
        raise BadRequest(f"{path} has no backend and query in common with this run", "compare runs of one fixture")
    changes = [
        BenchChange(backend=backend, id=new.id, query=new.query, before=_ndcg(old, backend), after=_ndcg(new, backend))
        for backend in backends
        for old, new in both
    ]
    changes.sort(key=lambda change: -abs(change.after - change.before))
    comparison = BenchComparison(
        with_run=str(path),
        ndcg_at_10={
            backend: (_mean(_ndcg(old, backend) for old, _ in both), _mean(_ndcg(new, backend) for _, new in both))
            for backend in backends
        },
        better=tuple(change for change in changes if change.after - change.before > CHANGED),
        worse=tuple(change for change in changes if change.before - change.after > CHANGED),
    )
    alone = len(now.queries) + len(then.queries) - 2 * len(both)
    note = [f"{alone} queries are in one of the two runs only, and were not compared"] if alone else []
    return msgspec.structs.replace(now, comparison=comparison, warnings=(*now.warnings, *note))


def save(run: BenchAnswer, path: Path) -> None:
    """Raises BadRequest where the file cannot be written."""
    try:
        replace_file(path, msgspec.json.format(msgspec.json.encode(run)))
    except OSError as error:
        raise BadRequest(
            f"{path} cannot be written: {error.strerror}", "name a file in a folder that is there"
        ) from error


def load(path: Path) -> BenchAnswer:
    """A saved run. Raises NotFound and BadRequest."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=BenchAnswer)
    except FileNotFoundError:
        raise NotFound(f"no such file: {path}", "kb bench FIXTURE --save FILE writes one") from None
    except (OSError, msgspec.DecodeError) as error:
        raise BadRequest(f"{path} is no saved run: {error}", "kb bench FIXTURE --save FILE writes one") from error


def _ask(data_dir: Path, settings: Settings, backend: str, questions: Sequence[Question], k: int) -> list[SearchAnswer]:
    mode, reranks = BACKENDS[backend]
    requests = [
        Request(query=question.query, top=max(NDCG_AT, question.cutoff or k), mode=mode, group=True, rerank=reranks)
        for question in questions
    ]
    return search(data_dir, settings, [requests[0], *requests])[1:]  # the first one loads the model


def _outcome(question: Question, answer: SearchAnswer, library: Library, k: int) -> BenchOutcome:
    ranks = _ranks(question, answer, library)
    grades = question.grades
    places = {rank: grades[called] for called, rank in ranks.items()}
    ranking = [places.get(rank, 0) for rank in range(1, len(answer.results) + 1)]
    k = question.cutoff or k
    return BenchOutcome(
        precision_at_k=_rounded(measures.precision(ranking, k)),
        recall_at_k=_rounded(measures.recall(ranking, grades.values(), k)),
        reciprocal_rank=_rounded(measures.reciprocal_rank(ranking)),
        ndcg_at_10=_rounded(measures.ndcg(ranking, grades.values(), NDCG_AT)),
        latency_ms=answer.took_ms,
        ranks=ranks,
        missed=tuple(called for called in grades if called not in ranks),
    )


def _ranks(question: Question, answer: SearchAnswer, library: Library) -> dict[str, int]:
    """The first rank of each relevant document; no rank is given twice."""
    ranks: dict[str, int] = {}
    wanted = {called: library.find(called) for called in question.grades}
    for rank, hit in enumerate(answer.results, start=1):
        for called, ids in wanted.items():
            if called not in ranks and hit.source.document_id in ids:
                ranks[called] = rank
                break
    return ranks


def _summary(queries: Sequence[BenchQuery], backends: Sequence[str]) -> Iterator[BenchSummary]:
    types = [kind for kind in dict.fromkeys(query.type for query in queries) if kind]
    for backend in backends:
        for kind in (None, *types):
            yield _row(backend, kind, [query.outcomes[backend] for query in queries if kind in {None, query.type}])


def _row(backend: str, kind: str | None, outcomes: Sequence[BenchOutcome]) -> BenchSummary:
    latencies = sorted(outcome.latency_ms for outcome in outcomes)
    return BenchSummary(
        backend=backend,
        type=kind,
        queries=len(outcomes),
        precision_at_k=_mean(outcome.precision_at_k for outcome in outcomes),
        recall_at_k=_mean(outcome.recall_at_k for outcome in outcomes),
        mrr=_mean(outcome.reciprocal_rank for outcome in outcomes),
        ndcg_at_10=_mean(outcome.ndcg_at_10 for outcome in outcomes),
        latency_ms=median(latencies),
        latency_p95_ms=latencies[math.ceil(len(latencies) * 0.95) - 1],
    )


def _absent(questions: Sequence[Question], library: Library) -> Iterator[str]:
    called = dict.fromkeys(name for question in questions for name in question.grades)
    absent = [name for name in called if not library.find(name)]
    if absent:
        named = ", ".join(absent[:3]) + (" ..." if len(absent) > 3 else "")  # noqa: PLR2004  enough to see what is wrong
        yield f"{len(absent)} of {len(called)} relevant documents are not in the store and count as missed: {named}"


def _other_modes(answers: dict[str, list[SearchAnswer]]) -> Iterator[str]:
    """Where something else ran than was asked for, such as keyword for hybrid without a model."""
    for backend, given in answers.items():
        if given[0].mode != BACKENDS[backend][0]:
            yield f"{backend} was run as {given[0].mode}: {' '.join(given[0].warnings)}"


def _not_reranked(answers: dict[str, list[SearchAnswer]]) -> Iterator[str]:
    """How often the fused order stood, and the first reason for it."""
    given = answers.get("rerank", [])
    reasons = [warning for answer in given for warning in answer.warnings if warning.startswith(NOT_RERANKED)]
    if reasons:
        yield f"{len(reasons)} of {len(given)} queries were {reasons[0]}"


def _ndcg(query: BenchQuery, backend: str) -> float:
    return query.outcomes[backend].ndcg_at_10


def _mean(values: Iterator[float]) -> float:
    return _rounded(fmean(values))


def _rounded(value: float) -> float:
    return round(value, 6)
