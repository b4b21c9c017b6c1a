"""Answers as markdown to paste: what was found as a quotation or a listing, and below it where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb.citing import pages_together
from kb.cli.items import items
from kb.cli.places import said_pages
from kb.cli.safe import one_line, printable
from kb.wire import Answer, DocumentSummary, GetAnswer, ListAnswer
from kb.wire_failed import FailedAnswer, FailedFile
from kb.wire_search import Hit, HitSource

SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")
LISTED = frozenset({"code", "data"})
"""Types of which the text is a listing, not prose."""
ORIGIN = "source"
"""The key of `kb add --meta` under which a note says where it is from (SKILL.md)."""


def lines(answer: Answer) -> Iterator[str]:
    """Of `kb list` a table, of `kb get` the text, of searches a numbered list."""
    if isinstance(answer, ListAnswer):
        yield from _table(answer.documents)
    elif isinstance(answer, FailedAnswer):
        yield from _failed(answer.files)
    elif isinstance(answer, GetAnswer):
        yield from _quoted(answer.text, answer.document.type)
        yield ""
        yield _place(answer.document, pages_together(chunk.pages for chunk in answer.chunks), None)
    else:
        yield from _hits(answer)


def _hits(answer: Answer) -> Iterator[str]:
    for rank, hit in enumerate(items(answer), start=1):
        number = f"{rank}. "
        yield number + _title(hit)
        yield ""
        for line in (*_quoted(hit.text, hit.source.type), "", _cited(hit)):
            yield f"{' ' * len(number)}{line}".rstrip()
        yield ""


def _title(hit: Hit) -> str:
    heading = f", {_escaped(hit.source.heading)}" if hit.source.heading else ""
    return f"**{_escaped(hit.source.title)}**{heading}"


def _cited(hit: Hit) -> str:
    source = hit.source
    facts = [
        f"chunk {hit.chunk_id}",
        f"score {hit.score:.2f}",
        *(["read by OCR"] if source.ocr else []),
        *(["the file has changed or is gone"] if source.stale else []),
    ]
    return f"{_place(source, source.pages, source.lines)} ({', '.join(facts)})"


def _place(
    document: HitSource | DocumentSummary, pages: tuple[int, int] | None, of_lines: tuple[int, int] | None
) -> str:
    where = _code(document.path) if document.path else f"{document.type}: {_escaped(document.title)}"
    if document.type == "note" and ORIGIN in document.meta:  # a note is no witness itself
        where += f", from {_escaped(document.meta[ORIGIN])}"
    if pages:
        return f"{where}, {said_pages(pages)}"
    return f"{where}, lines {of_lines[0]}-{of_lines[1]}" if of_lines else where


def _quoted(text: str, doc_type: str) -> Iterator[str]:
    safe = printable(text).strip("\n").split("\n")
    if doc_type in LISTED:
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        yield from (fence, *safe, fence)
    else:
        yield from (f"> {line}".rstrip() for line in safe)


def _table(documents: Sequence[DocumentSummary]) -> Iterator[str]:
    yield "| id | type | title | tags | path |"
    yield "| ---: | --- | --- | --- | --- |"
    for each in documents:
        cells = (str(each.document_id), each.type, _escaped(each.title), _escaped(", ".join(each.tags)))
        path = _code(each.path).replace("|", "\\|") if each.path else ""
        yield f"| {' | '.join(cells)} | {path} |"


def _failed(files: Sequence[FailedFile]) -> Iterator[str]:
    yield "| status | path | reason |"
    yield "| --- | --- | --- |"
    for file in files:
        path = _code(file.path).replace("|", "\\|")
        yield f"| {file.status} | {path} | {_escaped(file.reason)} |"


def _code(text: str) -> str:
    """A code span, whatever backticks it holds."""
    text = one_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\1", one_line(text))
