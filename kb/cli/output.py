"""Printing an answer: JSON on standard output, or lines for a person with warnings on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

import msgspec

from kb.caller import caller
from kb.cli.safe import printable
from kb.errors import Exit
from kb.wire import Answer

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


def emit(answer: AnyAnswer, render: Callable[[AnyAnswer], Iterable[str]], *, as_json: bool) -> int:
    """Print the answer, as JSON or as `render` says it; returns the exit code of success."""
    asking = caller()
    if not answer.took_ms:
        answer = msgspec.structs.replace(answer, took_ms=round((perf_counter() - asking.started) * 1000, 3))
    if as_json:
        asking.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    else:
        for line in render(answer):
            print(line, file=asking.stdout)
        for warning in answer.warnings:
            print(f"kb: {printable(warning)}", file=asking.stderr)
    return Exit.OK
