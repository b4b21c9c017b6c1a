"""What `kb source`, `kb scan` and `kb sync` say to a person."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kb.cli.places import counted
from kb.cli.safe import one_line
from kb.wire_sources import ScanAnswer, ScannedSource, SourceAnswer, SourceSummary, SyncAnswer, SyncedSource


def registered(answer: SourceAnswer) -> Iterator[str]:
    yield from listing(answer)
    if answer.changed:
        names = " ".join(one_line(source.name) for source in answer.sources)
        yield f"Nothing was read yet: kb sync {names}"


def listing(answer: SourceAnswer) -> Iterator[str]:
    for source in answer.sources:
        yield _line(source)
    if not answer.sources:
        yield "There are no sources. kb source add PATH registers one."


def _line(source: SourceSummary) -> str:
    facts = [f"{one_line(source.name):<16}", f"{source.documents:>6} documents", one_line(source.path)]
    facts += [f"#{one_line(tag)}" for tag in source.tags]
    facts += [] if source.exists else ["NOT THERE"]
    return "  ".join([*facts, one_line(source.description)]).rstrip()


def details(answer: SourceAnswer) -> Iterator[str]:
    for source in answer.sources:
        for name, value in msgspec.structs.asdict(source).items():
            said = ", ".join(value) if isinstance(value, tuple) else "-" if value in {None, ""} else str(value)
            yield f"{name:<16} {one_line(said or '-')}"


def removed(answer: SourceAnswer) -> Iterator[str]:
    for source in answer.sources:
        fate = (
            f"with its {counted(answer.documents_removed, 'document')}"
            if answer.documents_removed
            else f"its {counted(source.documents, 'document')} stay{'s' * (source.documents == 1)}"
        )
        yield f"Forgot the source {one_line(source.name)}; {fate}."


def scanned(answer: ScanAnswer) -> Iterator[str]:
    for source in answer.sources:
        yield f"{one_line(source.name)}: {_found(source)}"
        for file in source.files:
            yield f"  {file.state:<10} {one_line(file.path)}" + (f" (was {one_line(file.was)})" if file.was else "")
    if answer.sources:
        yield "In step." if answer.in_step else "Out of step: kb sync"


def _found(source: ScannedSource) -> str:
    if not source.exists:
        return f"{one_line(source.path)} is not there; the store has {source.documents} documents of it"
    counts = {state: getattr(source, state) for state in ("new", "changed", "moved", "gone", "touched", "unreadable")}
    return ", ".join(
        [f"{source.unchanged} unchanged", *(f"{count} {state}" for state, count in counts.items() if count)]
    )


def synced(answer: SyncAnswer) -> Iterator[str]:
    for source in answer.sources:
        yield f"{one_line(source.name)}: {_done(source)}"


def _done(source: SyncedSource) -> str:
    if source.refused:
        return "left as it was"
    counts = {
        "added": source.added, "replaced": source.replaced, "moved": source.moved, "removed": source.removed,
        "touched": source.touched, "copies": source.copies, "without text": source.no_text, "failed": source.failed,
        "unreadable": source.unreadable,
    }  # fmt: skip
    return ", ".join([f"{source.unchanged} unchanged", *(f"{count} {what}" for what, count in counts.items() if count)])
