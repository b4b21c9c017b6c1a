"""Whether what readers saw of a document can be explained by what its one writer did: linearisability, checked over recorded times.

Each document has one writer, which waits for each answer before its next change, so its states are numbered: 0 before the first change,
n after the n-th. A change takes effect at some moment between its call and its answer. A reader that asks meanwhile may see either state;
one that asks after another has had an answer may not see an older state than that one saw. Does not know how anything is done.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Change(NamedTuple):
    """`called` and `answered` by one clock that all processes share."""

    key: str
    state: str
    """Of the document from then on."""
    called: int
    answered: int


class Read(NamedTuple):
    key: str
    seen: str
    called: int
    answered: int
    by: str = ""


def unexplained(changes: Sequence[Change], reads: Sequence[Read], first: str = "absent") -> list[str]:
    """One sentence for each read that no order of what happened explains."""
    by_key: dict[str, list[Change]] = {}
    for change in changes:
        by_key.setdefault(change.key, []).append(change)
    reads_of: dict[str, list[Read]] = {}
    for read in reads:
        reads_of.setdefault(read.key, []).append(read)
    return [fault for key, mine in reads_of.items() for fault in _of_one(by_key.get(key, []), mine, first)]


def _of_one(changes: list[Change], reads: list[Read], first: str) -> list[str]:
    """Each read is given the earliest state that explains it, which leaves the later ones the most room."""
    changes.sort(key=lambda change: change.called)
    states = [first, *(change.state for change in changes)]
    answered, called = [change.answered for change in changes], [change.called for change in changes]
    faults: list[str] = []
    given: list[tuple[int, int]] = []
    for read in sorted(reads, key=lambda read: read.called):
        least = bisect_left(answered, read.called)
        most = bisect_right(called, read.answered)
        seen_before = max((number for end, number in given if end < read.called), default=0)
        least = max(least, seen_before)
        number = next((n for n in range(least, most + 1) if states[n] == read.seen), None)
        if number is None:
            faults.append(
                f"{read.by} saw {read.key} as {read.seen!r} from {read.called} to {read.answered}, when it was one of"
                f" {states[least : most + 1]}{' (a later state was seen before)' if seen_before else ''}"
            )
        else:
            given.append((read.answered, number))
    return faults
