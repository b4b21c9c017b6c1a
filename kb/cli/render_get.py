"""The text of `kb get` for a person. Where a part of it stands is said on standard error: what goes through a pipe is the text alone."""

from __future__ import annotations

from collections.abc import Iterator

from kb.browse import LINE_TYPES, Part, lines_of_text
from kb.caller import caller
from kb.citing import pages_together
from kb.cli.columns import with_columns
from kb.cli.places import counted, said_pages
from kb.cli.safe import one_line, printable
from kb.wire import GetAnswer


def get(answer: GetAnswer) -> Iterator[str]:
    """The plain text: safe on a terminal, as it is in a pipe. Tables that a reader made are columns."""
    text = answer.text if answer.document.type in LINE_TYPES else with_columns(answer.text)
    yield printable(text) if caller().on_terminal else text.encode("utf-8", "replace").decode()


def say_where(answer: GetAnswer, part: Part) -> None:
    """Above a part: what it is cited by, as `kb search` has it."""
    document, chunks = answer.document, answer.chunks
    pages = pages_together(chunk.pages for chunk in chunks)
    lines = None if pages else lines_of_text(answer, part.lines)
    facts = [
        one_line(document.path or f"document {document.document_id}, {document.title}"),
        said_pages(pages) if pages else "",
        f"lines {lines[0]}-{lines[1]}" if lines else "",
        f"chunk {chunks[0].chunk_id}" if len(chunks) == 1 else f"chunks {chunks[0].chunk_id}-{chunks[-1].chunk_id}",
        "read by OCR" if any(chunk.ocr is True for chunk in chunks) else "",
        "STALE: the file has changed or is gone" if document.stale else "",
    ]
    _say("  ".join(filter(None, facts)))


def say_what_follows(answer: GetAnswer) -> None:
    """Below a chunk with its neighbours: whether there is more to ask for."""
    left = answer.document.chunks - answer.chunks[-1].chunk_index - 1
    _say(f"{counted(left, 'more chunk')} to the end of the document" if left else "the document ends here")


def _say(text: str) -> None:
    print(f"kb: {text}", file=caller().stderr)
