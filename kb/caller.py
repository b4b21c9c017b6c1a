"""Who asks: the environment, folder and streams of the `kb` that a person or an agent started.

That is this process, unless the daemon answers for another one (`answering_for`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TextIO

import msgspec

STARTED = perf_counter()
"""When this process was ready to work: Python's own start is over."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    environ: Mapping[str, str]
    folder: str
    """What relative paths are relative to; empty: the working directory of this process."""
    stdout: TextIO
    """Text, or bytes through its `buffer`."""
    stderr: TextIO
    on_terminal: bool
    """Whether standard output is looked at by a person."""
    started: float
    """`perf_counter` when the request came."""
    is_this_process: bool = True
    names_a_store: bool = False
    """Whether it said --store; then the environment here has that store's folder."""

    def absolute(self, path: str) -> str:
        """The path verbatim from the root: `~` expanded, links unresolved."""
        return os.path.abspath(os.path.join(self.folder, os.path.expanduser(path)))  # noqa: PTH100, PTH111, PTH118


_other: ContextVar[Caller | None] = ContextVar("caller", default=None)


def caller() -> Caller:
    return _other.get() or Caller(
        environ=os.environ,
        folder="",
        stdout=sys.stdout,
        stderr=sys.stderr,
        on_terminal=sys.stdout.isatty(),
        started=STARTED,
    )


@contextmanager
def answering_for(other: Caller) -> Iterator[None]:
    """What happens inside, in this thread, happens for another process."""
    token = _other.set(other)
    try:
        yield
    finally:
        _other.reset(token)
