"""The answers of `kb add --background` and `kb jobs`, as `kb.wire` has those of the other commands."""

from __future__ import annotations

from typing import Literal

import msgspec

from kb.wire import Answer

State = Literal["waiting", "running", "done", "failed", "cancelled"]


class JobFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """Absolute; of an upload the name it was sent under, of a note its title."""
    status: str
    """`waiting`, or what became of it, as in the answer of `kb add`."""
    title: str = ""
    document_id: int | None = None
    chunks: int = 0
    reason: str = ""
    redacted: int = 0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    job_id: int
    kind: Literal["paths", "reread", "note", "stream", "uploads"]
    state: State
    """failed: some of its files failed, or `error` says why it could not be done at all."""
    is_cancelling: bool
    """It was told to end, and does at the next file."""
    what: tuple[str, ...]
    """The paths or names that it was given; at most the first ten."""
    total: int | None
    """Files; null: not known before it has begun."""
    finished: int
    """Files done with, whatever became of them."""
    counts: dict[str, int]
    """How many files of each status."""
    chunks: int
    redacted: int
    created_at: str
    started_at: str | None
    """When it was taken up the first time."""
    ended_at: str | None
    error: str
    warnings: tuple[str, ...]
    """What should be known of what it did, one sentence each."""


class JobAnswer(Answer, frozen=True):
    """Of a job that was asked for, submitted, cancelled or told to try again."""

    job: Job
    files: tuple[JobFile, ...] = ()
    total_files: int = 0
    """Those that were asked for; `files` may be a page of them."""
    offset: int = 0


class JobsAnswer(Answer, frozen=True):
    """The newest first."""

    jobs: tuple[Job, ...]
    total: int
    """Jobs of the states that were asked for."""
    by_state: dict[str, int]
    """How many jobs are in each state, whatever was asked for."""
    worker: int | None
    """The process that works the queue off now; null: none does."""


class JobsRemovedAnswer(Answer, frozen=True):
    removed: tuple[int, ...]
    """Ids of jobs."""


class WorkedAnswer(Answer, frozen=True):
    """Of `kb jobs run`: the jobs that it ended, in that order."""

    jobs: tuple[Job, ...]
