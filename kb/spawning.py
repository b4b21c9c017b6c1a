"""Processes that do not run the program that starts them.

A spawned process first runs the main module of its parent again, so that what is defined there can be unpickled. A script that adds
documents without `if __name__ == "__main__"` around it would add them again in every worker, and fail. Our workers need nothing of
it: what they are sent is in modules of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Lock
from types import ModuleType
from typing import Any

_one_at_a_time = Lock()


class Worker(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  multiprocessing calls it so
        with _main_module_unnamed():
            return SpawnProcess._Popen(process_obj)  # noqa: SLF001  the one step that looks at it


class Spawning(SpawnContext):
    """As `multiprocessing.get_context("spawn")`."""

    Process = Worker


@contextmanager
def _main_module_unnamed() -> Iterator[None]:
    """Where the main module came from cannot be seen; all that is in it is there, for other threads that pickle meanwhile."""
    with _one_at_a_time:
        main = sys.modules["__main__"]
        unnamed = ModuleType("__main__")
        vars(unnamed).update(vars(main), __spec__=None, __file__=None)
        sys.modules["__main__"] = unnamed
        try:
            yield
        finally:
            sys.modules["__main__"] = main
