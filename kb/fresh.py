"""Before a search: the sources looked at, and a sync begun where one is needed, both within the time that the search may wait.

A sync that needs longer goes on in a process of its own, and the search answers from what is there. What changed is found by one
stat a file and no more: whether it is worth a sync is for the sync to say.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from index.database import snapshot
from index.store import reading
from kb.caller import caller
from kb.errors import Exit
from kb.scan import OutOfTime, Seen, chosen, is_closed, is_storable, look
from kb.settings import Settings

ENDINGS: dict[int, str] = {
    Exit.OK: "",
    Exit.PARTIAL: "",  # what cannot be read is no news to a search; `kb status` counts it
    Exit.OUT_OF_STEP: "more than half of a source is gone and stays in the answers: kb sync says which",
}


def freshen(data_dir: Path, settings: Settings) -> list[str]:
    """Warnings for the answer, none if the store is in step now. Raises StoreMissing."""
    timeout_s = settings.search.fresh_timeout_s
    until = monotonic() + timeout_s
    try:
        with reading(data_dir, settings.storage.lock_timeout_s) as reader, snapshot(reader.connection):
            seen = [look(reader, row, data_dir, until) for row in chosen(reader, ())]
    except OutOfTime:
        return [f"looking at the sources took longer than {timeout_s:g} s: this answer may miss the newest files"]
    warnings = [f"{one.source.path} is not there: the answer has what was in it" for one in seen if not one.is_there]
    names = [one.source.name for one in seen if one.is_there and any(_changes(one))]
    return [*warnings, *(_synced(data_dir, names, until, timeout_s) if names else ())]


def _changes(one: Seen) -> Iterator[bool]:
    yield from (True for _ in (*one.unowned, *one.gone))
    changed = (*one.new, *one.different)
    yield from (is_storable(path) and not is_closed(path, status) for path, status in changed)


def _synced(data_dir: Path, names: list[str], until: float, timeout_s: float) -> Iterator[str]:
    """What is to be said of a sync in a process of its own, which outlives this one if need be."""
    isolation = "-I" if sys.flags.isolated else "-EP"
    with open(os.devnull, "r+b") as nowhere:  # noqa: PTH123
        process = subprocess.Popen(
            [sys.executable, isolation, "-m", "kb", "sync", *names],
            env={**caller().environ, "KB_DATA_DIR": str(data_dir)},
            stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True,
        )  # fmt: skip
    try:
        code = process.wait(max(0.0, until - monotonic()))
    except subprocess.TimeoutExpired:
        process.returncode = 0  # nobody waits for it any more
        yield f"new and changed files take longer than {timeout_s:g} s to read: they are in the answers once that is done"
        return
    said = ENDINGS.get(code, "the sources could not be synced: kb sync says why")
    if said:
        yield said
