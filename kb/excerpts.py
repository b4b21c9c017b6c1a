"""The lines of a text document around a passage, those of the passage marked. What shows them is `kb.view`; nothing is rendered here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from index.rows import ChunkRow, DocumentRow
from kb.browse import LINE_TYPES
from kb.chunk.pack import joined
from kb.read.decode import read_text
from kb.wire_view import ExcerptLine

AROUND = 5
"""Lines before and after a passage."""
MOST_LINES = 60
"""Of a document of which no passage was asked for."""
LONGEST_LINE = 2000
"""Characters: a file with longer ones (minified code, JSON in one line) is no text to look at, its chunks are."""


def excerpt(
    document: DocumentRow, path: str | None, chunks: Sequence[ChunkRow], here: Sequence[ChunkRow]
) -> tuple[ExcerptLine, ...]:
    """`here`: the passage, one or more of `chunks`; none: the beginning of the document is wanted, and nothing marked.

    The lines of the file at `path` where it is a text whose lines are known, else those of the stored chunks.
    """
    if path and document.doc_type in LINE_TYPES:
        lines = _of_file(path, here)
        if lines and all(len(line.text) <= LONGEST_LINE for line in lines):
            return lines
    return _of_chunks(chunks, here)


def of_page(chunks: Sequence[ChunkRow]) -> tuple[ExcerptLine, ...]:
    """All of a page, of which these are the chunks: nothing around it, and no passage to mark."""
    return tuple(_lines(_text(chunks), marked=False))


def _of_file(path: str, here: Sequence[ChunkRow]) -> tuple[ExcerptLine, ...]:
    starts = [chunk.start_line for chunk in here if chunk.start_line]
    ends = [chunk.end_line for chunk in here if chunk.end_line]
    if here and not (starts and ends):
        return ()
    first, last = (min(starts), max(ends)) if here else (1, 0)
    stop = last + AROUND if here else MOST_LINES
    lines = enumerate(read_text(path).text.removesuffix("\n").split("\n"), start=1)
    return tuple(
        ExcerptLine(number=number, text=text.rstrip("\r"), marked=first <= number <= last)
        for number, text in islice(lines, max(0, first - 1 - AROUND), stop)
    )


def _of_chunks(chunks: Sequence[ChunkRow], here: Sequence[ChunkRow]) -> tuple[ExcerptLine, ...]:
    if not here:
        return tuple(islice(_lines(joined((chunk.text, chunk.metadata) for chunk in chunks), marked=False), MOST_LINES))
    first, last = here[0].chunk_index, here[-1].chunk_index
    before = _text([chunk for chunk in chunks if chunk.chunk_index == first - 1])
    after = _text([chunk for chunk in chunks if chunk.chunk_index == last + 1])
    repeated = here[0].metadata.get("overlap", 0)
    next_repeats = next((chunk.metadata.get("overlap", 0) for chunk in chunks if chunk.chunk_index == last + 1), 0)
    return (
        *[*_lines(before[: len(before) - repeated].rstrip(), marked=False)][-AROUND:],
        *_lines(_text(here), marked=True),
        *[*_lines(after[next_repeats:].lstrip("\n"), marked=False)][:AROUND],
    )


def _text(chunks: Sequence[ChunkRow]) -> str:
    return joined((chunk.text, chunk.metadata) for chunk in chunks)


def _lines(text: str, *, marked: bool) -> Iterator[ExcerptLine]:
    return (ExcerptLine(number=None, text=line, marked=marked) for line in (text.split("\n") if text else ()))
