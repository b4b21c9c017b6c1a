"""Progress on standard error, on a terminal only: what has been done, how fast, and what is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
from typing import Self

from kb.cli.render import added_file
from kb.wire import AddedFile


class _Bar:
    """A rich progress bar, or nothing where nobody looks."""

    def __init__(self, *, shown: bool, unit: str) -> None:
        self.shown = shown
        self.unit = unit

    def __enter__(self) -> Self:
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                BarColumn(), MofNCompleteColumn(), TextColumn(self.unit), TextColumn("{task.description}"), TimeRemainingColumn()
            )  # fmt: skip
            self.progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self.progress.start()
            self.task = self.progress.add_task("", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            self.progress.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Out of the way of a question."""
        if self.shown:
            self.progress.stop()
        yield
        if self.shown:
            self.progress.start()


class EmbeddingBar(_Bar):
    """Texts embedded so far."""

    @classmethod
    def for_terminal(cls) -> EmbeddingBar:
        return cls(shown=sys.stderr.isatty(), unit="texts")

    def start(self, total: int) -> None:
        if self.shown:
            self.progress.update(self.task, total=total)

    def advance(self, count: int) -> None:
        if self.shown:
            self.progress.advance(self.task, count)


class AddBar(_Bar):
    """Documents added so far, with pages and chunks a second; says each file as it goes by."""

    def __init__(self, *, shown: bool, say: Callable[[str], None]) -> None:
        super().__init__(shown=shown, unit="documents")
        self.say = say
        self.started = monotonic()
        self.found_count = 0
        self.page_count = 0
        self.chunk_count = 0

    def found(self) -> None:
        self.found_count += 1
        if self.shown:
            self.progress.update(self.task, total=self.found_count)

    def done(self, file: AddedFile, *, pages: int) -> None:
        self.page_count += pages
        self.chunk_count += file.chunks
        self.say(added_file(file))
        if self.shown:
            rate = self.chunk_count / max(monotonic() - self.started, 0.001)
            said = f"{self.page_count} pages, {self.chunk_count} chunks, {rate:.0f} chunks/s"
            self.progress.update(self.task, advance=1, description=said)
