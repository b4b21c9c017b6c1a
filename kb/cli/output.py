"""Printing an answer: JSON on standard output, or lines for a person with warnings on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

import msgspec

from kb.cli.safe import printable
from kb.errors import Exit
from kb.wire import Answer

STARTED = perf_counter()
"""When this process was ready to work: Python's own start is over."""

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


def emit(answer: AnyAnswer, render: Callable[[AnyAnswer], Iterable[str]], *, as_json: bool) -> int:
    """Print the answer, as JSON or as `render` says it; returns the exit code of success."""
    if not answer.took_ms:
        answer = msgspec.structs.replace(answer, took_ms=round((perf_counter() - STARTED) * 1000, 3))
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    else:
        for line in render(answer):
            print(line)
        for warning in answer.warnings:
            print(f"kb: {printable(warning)}", file=sys.stderr)
    return Exit.OK
