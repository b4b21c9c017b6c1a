"""`kb jobs list|show|wait|cancel|retry|remove|run`: what is added in the background."""

from __future__ import annotations

import sys
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from kb.cli.options import EnvFile, Json
from kb.cli.output import emit
from kb.errors import BadRequest, Exit
from kb.opening import setup

if TYPE_CHECKING:
    from pathlib import Path

    from kb.wire_jobs import Job, JobAnswer

MOST = 2**31 - 1
LOOK_S = 0.2
"""Between two looks of `kb jobs wait`."""

JobId = Annotated[int, typer.Argument(metavar="ID", help="A job's id, as kb jobs list shows it.", min=1, max=MOST)]
Top = Annotated[int, typer.Option("--top", "-n", min=1, max=MOST, help="How many on this page.")]
Offset = Annotated[int, typer.Option("--offset", min=0, max=MOST, help="How many to pass over first.")]
Every = Annotated[bool, typer.Option("--all", help="All of them, on one page.")]


def list_(
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="S",
            help="Only jobs that are waiting, running, done, failed or cancelled; repeated: any of them.",
        ),
    ] = None,
    top: Top = 50,
    offset: Offset = 0,
    every: Every = False,
    as_json: Json = False,
) -> int:
    """List the jobs, the newest first, and say whether a worker is at them."""
    from kb import queue
    from kb.cli import render_jobs as render

    answer = queue.jobs(setup().data_dir, states or (), limit=None if every else top, offset=offset)
    return emit(answer, render.listing, as_json=as_json)


def show(
    job_id: JobId,
    statuses: Annotated[
        list[str] | None,
        typer.Option(
            "--status", metavar="S", help="Only files that are waiting, added, failed, skipped ...; repeated: any of them."
        ),
    ] = None,
    top: Top = 50,
    offset: Offset = 0,
    every: Every = False,
    as_json: Json = False,
) -> int:  # fmt: skip
    """Show how a job goes on, and what became of each of its files."""
    from kb import queue
    from kb.cli import render_jobs as render

    answer = queue.job(setup().data_dir, job_id, statuses=statuses or (), limit=None if every else top, offset=offset)
    return emit(answer, render.details, as_json=as_json)


def wait(
    job_id: JobId,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", metavar="S", min=0, help="Give up after so many seconds.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Wait until a job has ended, and show what failed of it; starts a worker where none is at it.

    Exit code 7 unless the job is done.
    """
    from kb.cli import render_jobs as render

    answer = _when_ended(setup().data_dir, job_id, timeout_s)
    emit(answer, render.details, as_json=as_json)
    return Exit.OK if answer.job.state == "done" else Exit.PARTIAL


def _when_ended(data_dir: Path, job_id: int, timeout_s: float | None) -> JobAnswer:
    """The job with its files that failed, ended or not. Raises NotFound."""
    from kb import background, queue

    until = None if timeout_s is None else monotonic() + timeout_s
    answer = queue.job(data_dir, job_id, statuses=("failed",))
    trouble = "" if answer.job.ended_at else background.leave_worker(data_dir, None)
    while not (answer.job.ended_at or trouble or (until is not None and monotonic() >= until)):
        sleep(LOOK_S)
        answer = queue.job(data_dir, job_id, statuses=("failed",))
    return with_warning(answer, trouble)


def cancel(job_id: JobId, as_json: Json = False) -> int:
    """End a job: one that waits at once, one that runs at its next file. What was added stays."""
    from kb import queue
    from kb.cli import render_jobs as render

    return emit(queue.cancel(setup().data_dir, job_id), render.summary, as_json=as_json)


def retry(job_id: JobId, env_file: EnvFile = None, as_json: Json = False) -> int:
    """Do again what failed of a job, and what it never came to; nothing that is done."""
    from kb import background, queue
    from kb.cli import render_jobs as render

    data_dir = setup(env_file).data_dir
    answer = queue.retry(data_dir, job_id)
    return emit(with_warning(answer, background.leave_worker(data_dir, env_file)), render.summary, as_json=as_json)


def remove(
    job_ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]...", help="Jobs that have ended.", min=1, max=MOST)
    ] = None,
    done: Annotated[bool, typer.Option("--done", help="All jobs that are done.")] = False,
    ended: Annotated[bool, typer.Option("--ended", help="All that are done, failed or cancelled.")] = False,
    as_json: Json = False,
) -> int:
    """Forget jobs that have ended, and what was uploaded for them. Documents stay."""
    from kb import queue
    from kb.cli import render_jobs as render

    data_dir = setup().data_dir
    if not (job_ids or done or ended):
        raise BadRequest("which jobs?", "name them, or say --done or --ended")
    states = queue.ENDED if ended else ("done",) if done else ()
    ids = [*(job_ids or ()), *(queue.ended(data_dir, states) if states else ())]
    return emit(queue.remove(data_dir, ids), render.removed, as_json=as_json)


def run(
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="End when no job waits; else wait for the next ones.")
    ] = False,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Work the queue off, one job at a time. Exit code 7 if a job failed.

    Under -j a line of JSON for each job that ends; with --until-empty one for all of them.
    """
    from kb import worker
    from kb.cli import render_jobs as render
    from kb.wire_jobs import JobAnswer, WorkedAnswer

    here = setup(env_file)
    ended: list[Job] = []

    def tell(job: Job) -> None:
        if until_empty:
            ended.append(job)
        if not (until_empty and as_json):
            emit(JobAnswer(job=job), render.summary, as_json=as_json)
            sys.stdout.flush()

    if until_empty:
        worker.run(here.data_dir, here.settings, until="empty", tell=tell)
        emit(WorkedAnswer(jobs=tuple(ended)), render.worked, as_json=as_json)
    else:
        with suppress(KeyboardInterrupt):
            worker.run(here.data_dir, here.settings, tell=tell)
    return Exit.PARTIAL if any(job.state == "failed" for job in ended) else Exit.OK


def with_warning(answer: JobAnswer, trouble: str) -> JobAnswer:
    return msgspec.structs.replace(answer, warnings=(*answer.warnings, trouble)) if trouble else answer
