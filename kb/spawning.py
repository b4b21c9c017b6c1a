"""Processes that do not run the program that starts them, and of which nothing is heard but what they answer.

A spawned process first runs the main module of its parent again, so that what is defined there can be unpickled. A script that adds
documents without `if __name__ == "__main__"` around it would add them again in every worker, and fail. Our workers need nothing of
it: what they are sent is in modules of ours.

What libraries print there must not get into the answer on standard output. And one that is still starting when the others have done all the
work finds its locks gone, of which Python prints a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Lock
from types import ModuleType
from typing import Any

_one_at_a_time = Lock()


class Worker(SpawnProcess):
    def __reduce__(self) -> tuple[Any, ...]:
        """What is done first in the new process, before anything that may fail is unpickled."""
        return _silent, (), vars(self)

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  multiprocessing calls it so
        with _main_module_unnamed():
            return SpawnProcess._Popen(process_obj)  # noqa: SLF001  the one step that looks at it


def _silent() -> Worker:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    return Worker.__new__(Worker)


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
