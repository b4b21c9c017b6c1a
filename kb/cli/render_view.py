"""What `kb view` shows a person: what it is of, where the picture is, and the lines of an excerpt, those of the passage marked."""

from __future__ import annotations

from collections.abc import Iterator

from kb.cli.marks import Marks
from kb.cli.safe import one_line, printable
from kb.wire_view import ExcerptLine, ViewAnswer


def view(answer: ViewAnswer) -> Iterator[str]:
    marks = Marks.for_terminal()
    yield f"{marks.bold(one_line(answer.document.title))}  {'  '.join(_facts(answer))}".rstrip()
    if answer.document.path:
        yield marks.dim(one_line(answer.document.path))
    if answer.picture:
        yield f"{marks.link(one_line(answer.picture), answer.picture)}  ({', '.join(_shown(answer))})"
    if answer.excerpt:
        yield ""
        yield from _lines(answer.excerpt, marks)


def _shown(answer: ViewAnswer) -> Iterator[str]:
    yield f"{answer.width} x {answer.height}"
    if answer.table_rows:
        yield f"{answer.table_rows_marked} of {answer.table_rows} rows of the table marked"
    if answer.marks:
        yield f"{len(answer.marks)} places marked"


def _facts(answer: ViewAnswer) -> Iterator[str]:
    if answer.page is not None:
        yield f"page {answer.page}" + (f" of {answer.page_count}" if answer.page_count else "")
    elif answer.lines:
        yield f"lines {answer.lines[0]}-{answer.lines[1]}"
    if answer.heading:
        yield one_line(answer.heading)


def _lines(lines: tuple[ExcerptLine, ...], marks: Marks) -> Iterator[str]:
    digits = max((len(str(line.number)) for line in lines if line.number), default=0)
    for line in lines:
        number = f"{line.number or '':>{digits}} " if digits else ""
        text = printable(line.text)
        yield f"{'>' if line.marked else ' '} {marks.dim(number)}{marks.match(text) if line.marked else text}".rstrip()
