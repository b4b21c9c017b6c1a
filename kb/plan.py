"""What a sync has to do: for each content that came, went or changed its place, which file is its document now.

One rule decides, so that a store kept in step equals one made anew: of the files with the same content, the document is the first one
in the order of sources and of their walks; the others are copies. A document outside of every source keeps its content as long as
its file is there. Reads the store, opens no file, changes nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import msgspec

from index import documents, failures, sources
from index.rows import DocumentRow, FailureRow
from index.sources import CopyRow, SourceRow
from kb.detect import type_of_name
from kb.read import languages
from kb.scan import Seen
from kb.sourcerules import SourceRules, is_at_or_below
from kb.walk import place


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is there, and what it holds."""

    path: str
    content_hash: str
    mtime_ns: int
    size: int
    source: SourceRow


class Move(msgspec.Struct, frozen=True):
    """A document and the file that it is of from now on."""

    row: DocumentRow
    to: Claim


class Reading(msgspec.Struct, frozen=True):
    """A file to be read, and the documents that it takes the place of."""

    claim: Claim
    earlier: tuple[DocumentRow, ...] = ()


class Plan(msgspec.Struct, kw_only=True):
    moves: list[Move] = []
    touched: list[Move] = []
    """The same file, with another time, or not of the source until now."""
    readings: list[Reading] = []
    removed: list[DocumentRow] = []
    copies: list[Claim] = []
    still_failing: list[Claim] = []
    """Files that could not be read before, and hold the same."""
    cleared: set[str] = set()
    """Paths of which nothing but a document is to be remembered any more."""

    def vanished(self, source: SourceRow, gone: AbstractSet[str]) -> int:
        """Documents of a source that would be removed for want of a file."""
        return sum(row.source_id == source.id and row.source_path in gone for row in self.removed)


class Planner:
    """One look at the sources that are to be synced, and the plan that follows."""

    def __init__(
        self, connection: sqlite3.Connection, seen: Sequence[Seen], hashed: Mapping[str, Claim], held: AbstractSet[int]
    ) -> None:
        self.connection = connection
        self.seen = seen
        self.hashed = hashed
        """What the new and different files hold; one that could not be read is left out, and is taken to hold what it did."""
        self.held = held
        """Ids of sources that are to be left as they are."""
        self.order = {row.id: number for number, row in enumerate(sources.every(connection))}
        self.rows = {one.source.id: one.source for one in seen}
        self.gone = {path for one in seen for path in one.gone}
        self.unowned = {path for one in seen for path, _ in one.unowned}
        self.failed = failures.every(connection)

    def plan(self) -> Plan:
        plan = Plan()
        for content_hash in sorted(self._in_question()):
            self._settle(plan, content_hash)
        plan.cleared |= self.gone | self.hashed.keys()
        by_path = {reading.claim.path: number for number, reading in enumerate(plan.readings)}
        for row in [row for row in plan.removed if row.source_path in by_path]:
            number = by_path[row.source_path or ""]
            reading = plan.readings[number]
            plan.readings[number] = Reading(reading.claim, (*reading.earlier, row))
            plan.removed.remove(row)
        plan.readings.sort(key=lambda reading: self._rank(reading.claim))
        return plan

    def _in_question(self) -> set[str]:
        """The contents that came, and those of files that went or changed."""
        found = {claim.content_hash for claim in self.hashed.values()}
        for path in (*self.gone, *self.hashed, *self.unowned):
            found |= {row.content_hash for row in documents.by_path(self.connection, path)}
            copy = sources.copy_at(self.connection, path)
            found |= {copy.content_hash} if copy else set()
        found |= {row.content_hash for row in self.failed if row.source_path in self.gone | self.hashed.keys()}
        return found - {""}

    def _settle(self, plan: Plan, content_hash: str) -> None:
        row = documents.by_hash(self.connection, content_hash)
        claims = sorted(self._claims(content_hash, row), key=self._rank)
        if row is not None and self._is_held(row, claims):
            plan.copies += claims
            return
        if not claims:
            plan.removed += [row] if row else []
            return
        first, *others = claims
        plan.copies += others
        plan.cleared.update(other.path for other in others)
        if row is not None:
            self._place(plan, row, first)
        elif any(failure.source_path == first.path and failure.content_hash == content_hash for failure in self.failed):
            plan.still_failing.append(first)
        else:
            plan.cleared.add(first.path)
            plan.readings.append(Reading(first))

    def _place(self, plan: Plan, row: DocumentRow, first: Claim) -> None:
        """Let the document of a content be of this file."""
        plan.cleared.add(first.path)
        if not self._reads_alike(row, first):
            plan.readings.append(Reading(first, (row,)))
        elif row.source_path != first.path:
            plan.moves.append(Move(row, first))
        elif first.path in self.hashed or first.path in self.unowned:
            plan.touched.append(Move(row, first))

    def _claims(self, content_hash: str, row: DocumentRow | None) -> Iterator[Claim]:
        """The files in the sources at hand that hold this content, each once."""
        claimed: set[str] = set()
        remembered: list[DocumentRow | CopyRow | FailureRow] = [
            *([row] if row else []),
            *sources.copies_of(self.connection, content_hash),
            *(failure for failure in self.failed if failure.content_hash == content_hash),
        ]
        for claim in (
            *(claim for claim in self.hashed.values() if claim.content_hash == content_hash),
            *(claim for one in remembered if (claim := self._still_there(one))),
        ):
            if claim.path not in claimed:
                claimed.add(claim.path)
                yield claim

    def _still_there(self, one: DocumentRow | CopyRow | FailureRow) -> Claim | None:
        path = one.source_path
        if path is None or path in self.gone or path in self.hashed:
            return None
        if isinstance(one, DocumentRow):
            source = self.rows.get(one.source_id or 0) or (self._source_of(path) if path in self.unowned else None)
        else:
            source = self._source_of(path)
        if source is None:
            return None
        return Claim(path=path, content_hash=one.content_hash, mtime_ns=one.mtime_ns or 0, size=one.size, source=source)

    def _source_of(self, path: str) -> SourceRow | None:
        return next((row for row in self.rows.values() if is_at_or_below(path, row.path)), None)

    def _is_held(self, row: DocumentRow, claims: Sequence[Claim]) -> bool:
        """Whether the document of a content stays with a file that is in none of the sources at hand."""
        path = row.source_path
        if path is None or row.source_id in self.held:
            return True
        if row.source_id in self.rows or path in self.unowned or path in self.hashed:
            return False
        if not claims:
            return True
        comes_first = row.source_id is None or self.order[row.source_id] < self.order[claims[0].source.id]
        return comes_first and os.path.lexists(path)

    def _reads_alike(self, row: DocumentRow, claim: Claim) -> bool:
        """Whether reading this file would give the document that is there, its title and date aside."""
        if sources.is_outdated(self.connection, row.id):
            return False
        rules = SourceRules.of(claim.source)
        if row.source_id != claim.source.id:
            before = next(
                (SourceRules.of(one) for one in sources.every(self.connection) if one.id == row.source_id), None
            )
            if not rules.reads_as(before or SourceRules()):
                return False
        return (
            row.source_path == claim.path
            or rules.doc_type is not None
            or _names_alike(row.source_path or "", claim.path)
        )

    def _rank(self, claim: Claim) -> tuple[int, list[str]]:
        return self.order[claim.source.id], place(claim.path)


def _names_alike(one: str, other: str) -> bool:
    """Whether readers and detection make the same of both names."""
    first, second = Path(one), Path(other)
    return (
        first.suffix.lower() == second.suffix.lower()
        and type_of_name(first) == type_of_name(second)
        and languages.of_path(first) == languages.of_path(second)
    )
