"""The answer of `kb import` as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator

from kb.cli.places import counted
from kb.cli.safe import one_line
from kb.wire_moving import ImportAnswer


def imported(answer: ImportAnswer) -> Iterator[str]:
    for document in answer.documents:
        if document.status == "skipped":
            reason = f": {one_line(document.reason)}" if document.reason else ""
            yield f"Skipped: {one_line(document.title)} (already here{reason})"
    yield (
        f"Imported {counted(answer.added, 'document')} with {counted(answer.chunks, 'chunk')},"
        f" {counted(answer.originals, 'original')}."
        f" {answer.skipped} skipped (already here). {counted(answer.embedded, 'text')} embedded."
    )
    if answer.redacted:
        yield f"{answer.redacted} secrets were replaced by [redacted: kind]."
