"""The log of `kb serve`: standard error."""

from __future__ import annotations

import sys
from contextlib import suppress


def say(line: str) -> None:
    """Where nobody takes it any more, such as a pipe that was closed, the server goes on without a log."""
    with suppress(OSError):
        print(f"kb: {line}", file=sys.stderr, flush=True)
