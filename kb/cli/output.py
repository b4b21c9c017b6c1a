"""Printing an answer: JSON on standard output, or lines for a person with warnings on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from time import perf_counter
from typing import TypeVar

import msgspec

from kb.caller import caller
from kb.cli.safe import printable
from kb.errors import BadRequest, Exit
from kb.wire import Answer

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)
_has_begun: ContextVar[bool] = ContextVar("answer has begun", default=False)
OTHERS = frozenset({"jsonl", "markdown", "csv", "xml", "paths", "paths0"})
"""Formats that `kb.cli.formats` knows; it is loaded for them alone."""


def emit(
    answer: AnyAnswer, render: Callable[[AnyAnswer], Iterable[str]], *, as_json: bool, format_: str | None = None
) -> int:
    """Print the answer, as JSON, in another format, or as `render` says it; returns the exit code of success."""
    if as_json and format_ not in {None, "auto", "json"}:
        raise BadRequest("-j is --format json", f"say -j, or --format {format_}")
    asking = caller()
    if not answer.took_ms:
        answer = msgspec.structs.replace(answer, took_ms=round((perf_counter() - asking.started) * 1000, 3))
    _has_begun.set(True)
    if as_json or format_ == "json":
        asking.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        return Exit.OK
    if format_ in OTHERS:
        from kb.cli.formats import encoded

        asking.stdout.buffer.write(encoded(answer, format_))
    else:
        for line in render(answer):
            print(line, file=asking.stdout)
    for warning in answer.warnings:
        print(f"kb: {printable(warning)}", file=asking.stderr)
    return Exit.OK


def begin() -> None:
    """A command begins, and no part of its answer has been printed."""
    _has_begun.set(False)


def has_begun() -> bool:
    """Whether standard output has an answer, or a part of one: what goes wrong later cannot take its place."""
    return _has_begun.get()
