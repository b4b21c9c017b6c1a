"""Answers for other eyes than a person's or a program's that reads JSON: lines of JSON, CSV, XML, paths, markdown.

The fields are those of the answers (`kb.wire`), by the same names. Loaded only where one of these formats was asked for. What is not part of
the items, such as warnings, goes to standard error.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from kb.cli.items import items
from kb.wire import Answer, ChunkText, DocumentSummary, GetAnswer
from kb.wire_failed import FailedAnswer, FailedFile
from kb.wire_search import Hit

NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write."""
Row = dict[str, object]


def encoded(answer: Answer, name: str) -> bytes:
    return "".join(FORMATS[name](answer)).encode("utf-8", "replace")


def jsonl(answer: Answer) -> Iterator[str]:
    """An item a line."""
    return (msgspec.json.encode(item).decode() + "\n" for item in items(answer))


def table(answer: Answer) -> Iterator[str]:
    """CSV with a header; an empty answer has one too."""
    rows = _rows(answer)
    file = io.StringIO()
    writer = csv.DictWriter(file, [*next(rows)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    yield file.getvalue()


def _rows(answer: Answer) -> Iterator[Row]:
    """The first has the names of the columns alone."""
    if isinstance(answer, GetAnswer):
        yield _chunk_row(answer.document, EMPTY_CHUNK)
        yield from (_chunk_row(answer.document, chunk) for chunk in answer.chunks)
    elif isinstance(answer, FailedAnswer):
        yield dict.fromkeys(FailedFile.__struct_fields__)
        yield from (msgspec.structs.asdict(file) for file in answer.files)
    elif "documents" in answer.__struct_fields__:
        yield dict.fromkeys(DOCUMENT_COLUMNS)
        yield from (_document_row(document) for document in items(answer))
    else:
        yield dict.fromkeys(HIT_COLUMNS)
        yield from (_hit_row(rank, hit) for rank, hit in enumerate(items(answer), start=1))


HIT_COLUMNS = (
    *("rank", "score", "chunk_id", "document_id", "title", "path", "type", "page", "last_page"),
    *("first_line", "last_line", "heading", "tags", "stale", "ocr", "store", "text"),
)
DOCUMENT_COLUMNS = (
    *(
        "document_id",
        "title",
        "path",
        "type",
        "tags",
        "language",
        "chunks",
        "size",
        "created_at",
        "modified_at",
        "stale",
    ),
)
EMPTY_CHUNK = ChunkText(
    chunk_id=0, chunk_index=0, text="", heading="", page=None, lines=None, token_count=0, metadata={}
)


def _hit_row(rank: int, hit: Hit) -> Row:
    source = hit.source
    first, last = source.lines or (None, None)
    values = (
        *(
            rank,
            hit.score,
            hit.chunk_id,
            source.document_id,
            source.title,
            source.path,
            source.type,
            *(source.pages or (None, None)),
            first,
            last,
        ),
        *(
            source.heading,
            ", ".join(source.tags),
            _yes_or_no(source.stale),
            _yes_or_no(bool(source.ocr)),
            hit.store,
            hit.text,
        ),
    )
    return dict(zip(HIT_COLUMNS, values, strict=True))


def _document_row(document: DocumentSummary) -> Row:
    row = {name: getattr(document, name) for name in DOCUMENT_COLUMNS}
    return {**row, "tags": ", ".join(document.tags), "stale": _yes_or_no(document.stale)}


def _chunk_row(document: DocumentSummary, chunk: ChunkText) -> Row:
    first, last = chunk.lines or (None, None)
    return {
        "chunk_id": chunk.chunk_id, "document_id": document.document_id, "title": document.title, "path": document.path,
        "page": chunk.page, "last_page": chunk.pages and chunk.pages[1], "first_line": first, "last_line": last, "heading": chunk.heading,
        "ocr": _yes_or_no(bool(chunk.ocr)), "text": chunk.text,
    }  # fmt: skip


def _yes_or_no(value: bool) -> str:
    return str(value).lower()


def xml(answer: Answer) -> Iterator[str]:
    """An element a field; what JSON calls null is left out, and U+FFFD stands for what XML cannot say."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield from _element(type(answer).__name__, answer)
    yield "\n"


def _element(name: str, value: Any, attributes: str = "") -> Iterator[str]:
    if value is None or value is msgspec.UNSET:
        return
    yield f"<{name}{attributes}>"
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from _element(field, getattr(value, field))
    elif isinstance(value, dict):  # its keys are anything
        for key, child in value.items():
            yield from _element("entry", child, f" name={quoteattr(_sayable(str(key)))}")
    elif isinstance(value, tuple | list):
        for child in value:
            yield from _element(type(child).__name__ if isinstance(child, msgspec.Struct) else "item", child)
    else:
        yield escape(_sayable(_yes_or_no(value) if isinstance(value, bool) else str(value)), {"\r": "&#13;"})
    yield f"</{name}>"


def _sayable(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)


def paths(answer: Answer) -> Iterator[str]:
    """Each file once, in the order of its best item; notes have none."""
    return (f"{path}\n" for path in _paths(answer))


def paths0(answer: Answer) -> Iterator[str]:
    """For `xargs -0`: a name may hold a line end."""
    return (f"{path}\0" for path in _paths(answer))


def _paths(answer: Answer) -> Iterable[str]:
    if isinstance(answer, GetAnswer):
        found = [answer.document.path]
    else:
        found = [item.source.path if isinstance(item, Hit) else item.path for item in items(answer)]
    return dict.fromkeys(path for path in found if path)


def markdown(answer: Answer) -> Iterator[str]:
    from kb.cli.render_markdown import lines

    return (f"{line}\n" for line in lines(answer))


FORMATS: dict[str, Callable[[Answer], Iterator[str]]] = {
    "jsonl": jsonl,
    "markdown": markdown,
    "csv": table,
    "xml": xml,
    "paths": paths,
    "paths0": paths0,
}
