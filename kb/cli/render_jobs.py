"""What `kb add --background` and `kb jobs` say to a person."""

from __future__ import annotations

from collections.abc import Iterator

from kb.cli.render import added_file
from kb.cli.safe import one_line
from kb.wire import AddedFile
from kb.wire_jobs import Job, JobAnswer, JobFile, JobsAnswer, JobsRemovedAnswer, WorkedAnswer

MOST_NAMED = 3
"""Paths of a job that its line says."""


def submitted(answer: JobAnswer) -> Iterator[str]:
    job = answer.job
    yield f"Job {job.job_id}: {_what(job)} will be added. kb jobs show {job.job_id} says how it goes on."


def summary(answer: JobAnswer) -> Iterator[str]:
    yield _line(answer.job)


def listing(answer: JobsAnswer) -> Iterator[str]:
    for job in answer.jobs:
        yield _line(job)
    counts = ", ".join(f"{count} {state}" for state, count in answer.by_state.items() if count)
    yield counts or "There are no jobs. kb add --background makes one."
    if answer.worker is not None:
        yield f"Process {answer.worker} works them off."
    elif answer.by_state["waiting"]:
        yield "Nobody works them off: kb jobs run does."


def details(answer: JobAnswer) -> Iterator[str]:
    job = answer.job
    yield _line(job)
    yield f"{'submitted':<10} {job.created_at}"
    for name, moment in (("started", job.started_at), ("ended", job.ended_at)):
        if moment:
            yield f"{name:<10} {moment}"
    for warning in job.warnings:
        yield f"note       {one_line(warning)}"
    for file in answer.files:
        yield _file(file)
    left = answer.total_files - answer.offset - len(answer.files)
    if left > 0:
        yield f"{left} more files: --all shows them"


def removed(answer: JobsRemovedAnswer) -> Iterator[str]:
    yield f"Forgot {len(answer.removed)} jobs."


def worked(answer: WorkedAnswer) -> Iterator[str]:
    yield f"{len(answer.jobs)} jobs have ended."


def _line(job: Job) -> str:
    state = "cancelling" if job.is_cancelling else job.state
    of = "" if job.total is None else f" of {job.total}"
    counts = ", ".join(f"{count} {status}" for status, count in job.counts.items() if status != "waiting")
    facts = [f"{job.job_id:>6}", f"{state:<10}", f"{job.finished}{of} files", _what(job), counts, one_line(job.error)]
    return "  ".join(filter(None, facts))


def _what(job: Job) -> str:
    if not job.what:
        return "what can be read better" if job.kind == "reread" else job.kind
    more = " ..." if len(job.what) > MOST_NAMED else ""
    return one_line(", ".join(job.what[:MOST_NAMED]) + more)


def _file(file: JobFile) -> str:
    if file.status == "waiting":
        return f"  Waiting: {one_line(file.path)}"
    said = AddedFile(
        path=file.path, title=file.title, status=file.status, document_id=file.document_id, chunks=file.chunks,
        reason=file.reason, redacted=file.redacted,
    )  # fmt: skip
    return f"  {added_file(said)}"
