"""What a sync does without reading any file: renames, removals, new times, copies, and what cannot be opened, in one transaction.

Not here: what has changed (`kb.scan`), what is to be done about it (`kb.plan`), and the files that are read (`kb.sync`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from index import documents, failures, sources, store, tags
from index.rows import FailureRow
from index.sources import CopyRow
from index.writer import Writer, utc_now
from kb import journal
from kb.candidates import printable_path, title_after_move
from kb.dating import modified_at
from kb.plan import Claim, Move, Plan
from kb.scan import Seen, is_storable
from kb.sourcerules import SourceRules
from kb.wire import AddedFile


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync knows before it changes anything."""

    seen: tuple[Seen, ...]
    """Of the sources that are to be synced."""
    refused: dict[int, str]
    """Of the others: why not, by id."""
    hashed: dict[str, Claim]
    """What the new and different files hold, by path."""
    plan: Plan
    unreadable: dict[str, str]
    """Why a file could not be opened, by path."""


def settle(data_dir: Path, lock_timeout_s: float, found: Looked) -> None:
    """All that needs no reading, in one transaction."""
    plan = found.plan
    work = (plan.moves, plan.touched, plan.removed, plan.copies, plan.cleared, found.unreadable)
    if any(work):
        with store.writing(data_dir, lock_timeout_s) as writer, writer.transaction() as seq:
            for move in plan.moves:
                title = title_after_move(move.row, move.to.path)
                documents.rename(writer.connection, move.row.id, move.to.path, title, seq=seq)
            for move in (*plan.moves, *plan.touched):
                _carry_over(writer, move)
            documents.delete(writer.connection, [row.id for row in plan.removed])
            tags.forget_unused(writer.connection)
            _remember(data_dir, writer, found)


def settled(found: Looked) -> Iterator[tuple[int, AddedFile]]:
    """What is to be said of each file that needed no reading, with the id of its source."""
    plan = found.plan
    for move in plan.moves:
        to, row = move.to, move.row
        title, reason = title_after_move(row, to.path), f"was {row.source_path}"
        yield to.source.id, AddedFile(path=to.path, title=title, status="moved", document_id=row.id, reason=reason)
    for move in plan.touched:
        file = AddedFile(path=move.to.path, title=move.row.title, status="touched", document_id=move.row.id)
        yield move.to.source.id, file
    for row in plan.removed:
        file = AddedFile(path=row.source_path, title=row.title, status="removed", document_id=row.id)
        yield row.source_id or 0, file
    for claim in plan.copies:
        if claim.path in found.hashed:
            yield claim.source.id, AddedFile(path=claim.path, title=Path(claim.path).name, status="copy")
    for one in found.seen:
        for path in (path for path in found.unreadable if path in _paths_of(one)):
            name, reason = printable_path(Path(path)), found.unreadable[path]
            yield one.source.id, AddedFile(path=name, title=Path(name).name, status="unreadable", reason=reason)


def _paths_of(one: Seen) -> set[str]:
    return {path for path, _ in (*one.new, *one.different)} | set(one.unreadable)


def _remember(data_dir: Path, writer: Writer, found: Looked) -> None:
    """Which files are copies, and which could not be opened."""
    connection, plan = writer.connection, found.plan
    before = {row.source_path: row for row in failures.every(connection)}
    for path in plan.cleared:
        failures.forget(connection, path)
    sources.forget_copies(connection, plan.cleared)
    for claim in plan.copies:
        copy = CopyRow(
            source_path=claim.path, content_hash=claim.content_hash, mtime_ns=claim.mtime_ns, size=claim.size
        )
        sources.remember_copy(connection, copy)
    for claim in plan.still_failing:
        failure = msgspec.structs.replace(before[claim.path], mtime_ns=claim.mtime_ns, size=claim.size)
        failures.record(connection, failure)
    for path, reason in found.unreadable.items():
        _remember_unreadable(data_dir, writer, path, reason, before)


def _remember_unreadable(
    data_dir: Path, writer: Writer, path: str, reason: str, before: Mapping[str, FailureRow]
) -> None:
    """So that it is tried again though neither its time nor its size changes. Told in the log once."""
    try:
        status = Path(path).lstat()
    except OSError:
        return
    last = before.get(path)
    is_known = last is not None and last.content_hash and last.mtime_ns == status.st_mtime_ns
    if is_known or not is_storable(path) or Path(path).is_dir():
        return
    failure = FailureRow(
        source_path=path, content_hash="", mtime_ns=status.st_mtime_ns, size=status.st_size, kind="failed",
        reason=reason, failed_at=utc_now(),
    )  # fmt: skip
    failures.record(writer.connection, failure)
    if last is None or last.content_hash:
        journal.write(data_dir, path, reason)


def _carry_over(writer: Writer, move: Move) -> None:
    """Time, source and the source's tags of a file whose document is known already."""
    row, to = move.row, move.to
    connection = writer.connection
    documents.touch(connection, row.id, to.mtime_ns, modified_at(to.mtime_ns, row.metadata))
    if row.source_id != to.source.id:
        before = next((SourceRules.of(one).tags for one in sources.every(connection) if one.id == row.source_id), ())
        tags.detach(connection, row.id, [tag for tag in before if tag not in row.stated_tags])
        sources.adopt(connection, row.id, to.source.id)
        tags.attach(connection, row.id, SourceRules.of(to.source).tags)
