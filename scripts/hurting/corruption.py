"""Flip bytes in the files of a store at rest, and see whether it is noticed: `scripts/hurt corruption`.

Each flip is drawn from its own seed, `SEED/PART/NUMBER`: of which file, at which byte, and to what. Then:

    kb.db       `kb doctor` (or opening it) says so, unless every row of the truth and every answer is what it was: the byte was in
                space that is not used
    matrix, lexical
                doctor says so, or has mended it by opening it, or nothing depends on it; after `kb doctor --fix` the answers are those
                of before
    config      refused in a clear line, or another valid value: it is whatever its user says it is. The truth is untouched
    backup      every flip is noticed before anything is replaced, and the store stays as it is

And no command ends in a trace, on whatever it meets.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, NamedTuple

from crash_checks import contents
from crash_process import answer_in, fresh, in_child
from crash_scenarios import Scenario, prepare

from hurting.arena import load, quick_folder
from index.errors import StoreError
from kb.errors import Exit

PARTS = {
    "kb.db": "kb.db",
    "matrix": "matrix/*",
    "lexical": "lexical/[!.]*",
    "config": "config.yaml",
    "backup": "../saved",
}
NO_TRUTH = {"log", "deleted_chunks", "touched", "checksums", "windows"}
"""Tables that say nothing of documents, or follow from others."""
ANSWERS = (("search", "red", "-j"), ("list", "-j", "--all"), ("get", "1", "-j"), ("show", "2", "-j"), ("status", "-j"))
REFUSED = {Exit.USAGE, Exit.NOT_FOUND, Exit.STORE, Exit.MODEL, Exit.PARTIAL}


class Flip(NamedTuple):
    """One byte, all of it from a seed."""

    seed: str
    part: str

    def make(self, trial: Path) -> str:
        """Returns where."""
        chances = Random(self.seed)
        files = sorted(path for path in trial.glob(PARTS[self.part]) if path.is_file() and path.stat().st_size)
        path = chances.choice(files)
        content = bytearray(path.read_bytes())
        at = chances.randrange(len(content))
        content[at] ^= chances.choice((1 << chances.randrange(8), chances.randrange(1, 256)))
        path.write_bytes(content)
        return f"{path.name} at {at}"


class Store:
    """A store with something in each of its tables, and what it holds."""

    def __init__(self, folder: Path) -> None:
        os.chdir(folder)
        self.data, self.trial = folder / "data", folder / "trial"
        folder.joinpath("source").mkdir()
        folder.joinpath("source", "one.md").write_text("# Ten\n\nred green huge alpha\n")
        folder.joinpath("source", "two.md").write_text("# Ten\n\nred green huge alpha\n")  # a copy
        folder.joinpath("source", "bad.ipynb").write_text("{")  # a failure
        add = ("add", "documents", "-r", "--keep-original", "--meta", "colour=red", "--tag", "new", "-j")
        source = ("source", "add", "source", "--describe", "what it is", "-j")
        commands = (add, source, ("tag-describe", "new", "what is new", "-j"), ("backup", "saved", "-j"))
        prepare(folder, Scenario(commands, lambda *_: None, ()), self.data)
        in_child(lambda: answer_in(self.data, ("sync", "-j")))
        fresh(self.data, self.trial)
        self.truth = in_child(lambda: truth_of(self.trial))
        self.contents = in_child(lambda: contents(self.trial))


def truth_of(folder: Path) -> list[str]:
    """Every row that is not made from others."""
    with closing(sqlite3.connect(folder / "kb.db")) as connection:
        connection.text_factory = bytes
        tables = [
            name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return sorted(
            f"{table} {row}"
            for table in tables
            if table not in NO_TRUTH and not table.startswith("sqlite_")
            for row in connection.execute(f"SELECT * FROM {table}")
        )


def faults_of(store: Store, flip: Flip) -> tuple[str, list[str]]:
    """What became of a flip, and what is wrong about that."""
    fresh(store.data, store.trial)
    place = flip.make(store.trial)
    faults = (
        [f"{place}: {fault}" for fault in in_child(lambda: list(traces(store.trial)))] if flip.part != "backup" else []
    )
    how, found = in_child(lambda: {"config": _config, "backup": _backup}.get(flip.part, _store)(store))
    return how, faults + [f"{place}: {fault}" for fault in found]


def traces(trial: Path) -> Any:
    for command in ANSWERS:
        code, out, err = answer_in(trial, command)
        if err or code not in REFUSED | {Exit.OK}:
            yield f"{command} ended with {code}: {out[:300]} {err[-600:]}"


def _store(store: Store) -> tuple[str, list[str]]:
    code, out, err = answer_in(store.trial, ("doctor", "-j"))
    if err or code not in {Exit.OK, Exit.PARTIAL, Exit.STORE, Exit.NOT_FOUND}:
        return "trace", [f"doctor ended with {code}: {out[:300]} {err[-600:]}"]
    if code == Exit.OK:
        same = _truth_or_damage(store) == store.truth and _answers(store) == store.contents
        return "whole, or made so by opening it", [] if same else ["not noticed"]
    if code != Exit.PARTIAL:
        return f"refused: {json.loads(out)['error']['code']}", []
    problems = [check["name"] for check in json.loads(out)["checks"] if not check["ok"]]
    if _truth_or_damage(store) != store.truth or "database integrity" in problems or "checksums" in problems:
        return "found: kb.db", []
    code, out, _ = answer_in(store.trial, ("doctor", "--fix", "-j"))
    if (
        code == Exit.OK
        and answer_in(store.trial, ("reindex", "-j"))[0] == Exit.OK
        and _answers(store) == store.contents
    ):
        return "found and mended", []
    return "found", [f"not mended: {problems}, then {code}: {out[:300]}"]


def _truth_or_damage(store: Store) -> list[str]:
    try:
        return truth_of(store.trial)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return [str(error)]


def _answers(store: Store) -> Any:
    try:
        return contents(store.trial)
    except StoreError as error:
        return error.message


def _config(store: Store) -> tuple[str, list[str]]:
    """What was asked with it (`traces`) must have left the store as it was."""
    code, _, _ = answer_in(store.trial, ("status", "-j"))
    shutil.copy(store.data / "config.yaml", store.trial)
    same = contents(store.trial) == store.contents and truth_of(store.trial) == store.truth
    return ("refused" if code else "another valid value"), [] if same else ["the store has changed"]


def _backup(store: Store) -> tuple[str, list[str]]:
    code, out, err = answer_in(store.trial, ("restore", str(store.trial.parent / "saved"), "--yes", "-j"))
    said = [] if code == Exit.UNREADABLE and not err else [f"restore ended with {code}: {out} {err}"]
    return "refused", said if truth_of(store.trial) == store.truth else [*said, "the store has changed"]


def hurt(store: Store, flips: list[Flip], until: float) -> tuple[int, int]:
    """How many flips, and how many faults of ours."""
    count = bad = 0
    became: Counter[str] = Counter()
    saved = store.trial.parent / "saved"
    whole = saved.read_bytes()
    for flip in flips:
        if monotonic() > until:
            break
        how, faults = faults_of(store, flip)
        saved.write_bytes(whole)
        count, bad = count + 1, bad + len(faults)
        became[how] += 1
        for fault in faults:
            print(f"  FAULT {flip.seed}: {fault[:1500]}", flush=True)
    said = ", ".join(f"{number} {how}" for how, number in sorted(became.items()))
    print(f"{flips[0].part:<10} {count} flips: {said}; {bad} faults", flush=True)
    return count, bad


def drawn(arguments: argparse.Namespace) -> list[list[Flip]]:
    if arguments.again:
        return [[Flip(arguments.again, arguments.again.split("/")[1])]]
    parts = arguments.part or list(PARTS)
    share = math.ceil(arguments.flips / len(parts))
    return [[Flip(f"{arguments.seed}/{part}/{number}", part) for number in range(share)] for part in parts]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt corruption", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flips", type=int, default=1000, help="in all, over all parts")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument("--again", metavar="SEED/PART/NUMBER", help="this one flip")
    arguments = parser.parse_args(words)
    load()
    until = monotonic() + arguments.minutes * 60
    with quick_folder() as folder:
        store = Store(folder)
        done = [hurt(store, flips, until) for flips in drawn(arguments)]
    count, bad = map(sum, zip(*done, strict=True))
    print(f"{count} flips; {bad} faults")
    return 1 if bad else 0
