"""Answers as lines for a person. Whatever comes from documents is made safe for a terminal first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from index.meta import GIVEN
from kb.cli.marks import Marks
from kb.cli.places import counted, said_pages
from kb.cli.safe import one_line
from kb.wire import (
    AddAnswer,
    AddedFile,
    Answer,
    CompactAnswer,
    ConfigAnswer,
    DoctorAnswer,
    DocumentSummary,
    ListAnswer,
    ReindexAnswer,
    RemoveAnswer,
    ShowAnswer,
    TagAnswer,
)
from kb.wire_failed import FailedAnswer


def added_file(file: AddedFile) -> str:
    """What became of one file, in one line."""
    name = one_line(file.path.rpartition("/")[2] if file.path else file.title)
    reason = one_line(file.reason)
    held = counted(file.chunks, "chunk") + (f", {file.redacted} redacted" if file.redacted else "")
    lines = {
        "added": f"Added: {name} ({held})" + (f", {reason}" if reason else ""),
        "replaced": f"Replaced: {name} ({held})",
        "appended": f"Appended: {name} ({held})",
        "moved": f"Moved: {name} ({reason})",
        "skipped": f"Skipped: {name} (already indexed{': ' + reason if reason else ''})",
        "no_text": f"Skipped: {name} (no text: {reason})",
        "failed": f"Failed: {reason}" if name in reason else f"Failed: {name}: {reason}",
        "copy": f"Copy: {name} (another file with this content is the document)",
        "removed": f"Removed: {name} (the file is gone)",
        "unreadable": f"Unreadable: {name}: {reason}",
        "would_add": f"Would add: {one_line(file.path or file.title)}",
    }
    return lines[file.status]


def added(answer: AddAnswer) -> Iterator[str]:
    """The summary; the files themselves were said as they went by."""
    would = sum(file.status == "would_add" for file in answer.documents)
    if would:
        yield f"Would add {counted(would, 'document')}. {answer.skipped} skipped (already indexed)."
        return
    yield f"Added {counted(answer.added, 'document')}. {answer.failed} failed. {answer.skipped} skipped (already indexed)."
    for count, what in (
        (answer.no_text, "without text"),
        (answer.unsupported, "of unsupported types"),
        (answer.ignored, "left out by ignore rules"),
        (answer.redacted, "secrets redacted"),
    ):
        if count:
            yield f"{count} {what}."


def listing(answer: ListAnswer) -> Iterator[str]:
    for document in answer.documents:
        yield _document_line(document)
    yield f"{_shown(answer)} documents"


def failures(answer: FailedAnswer) -> Iterator[str]:
    for file in answer.files:
        yield f"{file.status:<8}  {one_line(file.path)}  {one_line(_without(file.path, file.reason))}"
    yield f"{_shown(answer)} files that are not in the store"


def _without(path: str, reason: str) -> str:
    """Most reasons begin with the path."""
    return reason.removeprefix(f"{path}: ")


def _shown(answer: ListAnswer | FailedAnswer) -> str:
    if not answer.returned:
        return f"0 of {answer.total}"
    return f"{answer.offset + 1}-{answer.offset + answer.returned} of {answer.total}"


def _document_line(document: DocumentSummary) -> str:
    facts = [f"{document.document_id:>6}", f"{document.type:<8}", one_line(document.title)]
    facts += [f"#{one_line(tag)}" for tag in document.tags]
    facts += [one_line(f"{key}={value}") for key, value in document.meta.items()]
    facts += ["STALE"] if document.stale else []
    path = Marks.for_terminal().link(one_line(document.path), document.path) if document.path else ""
    return "  ".join([*facts, path]).rstrip()


def show(answer: ShowAnswer) -> Iterator[str]:
    yield from _pairs(answer.document)
    yield f"{'extractor':<18} {answer.extractor}"
    yield f"{'content_hash':<18} {answer.content_hash}"
    yield f"{'original':<18} {one_line(answer.original or '-')}"
    for name, value in answer.metadata.items():
        if name == GIVEN:  # said above
            continue
        yield f"{one_line(name):<18} {one_line(value if isinstance(value, str) else msgspec.json.encode(value).decode())}"
    yield ""
    for chunk in answer.chunks:
        place = (
            said_pages(chunk.pages)
            if chunk.pages
            else f"lines {chunk.lines[0]}-{chunk.lines[1]}"
            if chunk.lines
            else ""
        )
        yield "  ".join(
            filter(
                None,
                [
                    f"{chunk.chunk_id:>6}",
                    place,
                    f"{chunk.token_count} tokens",
                    one_line(chunk.heading),
                    "ocr" if chunk.ocr else "",
                ],
            )
        )


def removed(answer: RemoveAnswer) -> Iterator[str]:
    for document in answer.removed:
        yield f"Removed: {one_line(document.path or document.title)}"
    yield f"Removed {counted(len(answer.removed), 'document')} with {counted(answer.chunks, 'chunk')}."


def tags(answer: TagAnswer) -> Iterator[str]:
    for tag in answer.tags:
        yield f"{one_line(tag.name):<24} {tag.documents:>6}  {one_line(tag.description)}".rstrip()
    if not answer.tags:
        yield "There are no tags."


def compacted(answer: CompactAnswer) -> Iterator[str]:
    yield (
        f"Compacted: {answer.rows_before} rows became {answer.rows_after}, {answer.vectors_purged} vectors were forgotten,"
        f" {answer.reclaimed_bytes / 1e6:.1f} MB reclaimed."
    )
    if not answer.vacuumed:
        yield "The file kb.db keeps its size; --vacuum rewrites it too."


def reindexed(answer: ReindexAnswer) -> Iterator[str]:
    yield f"Embedded {answer.embedded} texts, reused {answer.reused}. The store's model is {answer.model}."
    if answer.windows != answer.previous_windows:
        now = f"vectors of {answer.windows} words each beside" if answer.windows else "no vectors of parts beside"
        yield f"Its chunks have {now} that of the whole (embedding.windows)."
    if answer.chunks_over_limit:
        yield f"{answer.chunks_over_limit} chunks are longer than the model sees; their end is found by words only."


def diagnosis(answer: DoctorAnswer) -> Iterator[str]:
    for found in answer.checks:
        verdict = "mended" if found.mended else "ok" if found.ok else "WRONG"
        yield f"{verdict:<7} {found.name}"
        yield from (f"        {one_line(problem)}" for problem in found.problems)
    for name, engine in answer.engines.items():
        yield f"        {name}: {one_line(engine)}"
    if not answer.ok:
        yield "kb doctor --fix mends what can be made anew from kb.db."


def configuration(answer: ConfigAnswer) -> Iterator[str]:
    yield f"data directory: {answer.data_dir}"
    for setting in answer.settings:
        value = msgspec.json.encode(setting.value).decode()
        yield f"{setting.key:<32} {value:<24} {setting.origin:<14} {setting.variable}".rstrip()
        if setting.note:
            yield f"    {setting.note}"


def fields(answer: Answer) -> Iterator[str]:
    """Any flat answer, a field a line."""
    yield from _pairs(answer)


def _pairs(value: msgspec.Struct) -> Iterator[str]:
    for name, child in msgspec.structs.asdict(value).items():
        if name not in {"warnings", "took_ms"}:
            yield f"{name:<18} {one_line(_said(child))}"


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {child}" for name, child in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(_said, value))
    if isinstance(value, msgspec.Struct):
        return _said({name: _said(child) for name, child in msgspec.structs.asdict(value).items() if child != ""})
    return "-" if value is None else str(value)
