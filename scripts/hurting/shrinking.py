"""Cut a file short while `kb add` reads it, and look at what is stored: `scripts/hurt shrinking`.

Each cut is drawn from its own seed, `SEED/NUMBER`: before which read of which of the files, and to how many bytes. Whatever was read
then, the command ends with a documented exit code and no trace, doctor is content, and the command given again makes the store what
one is that has only seen the files as they are now: no document stays that is in no file.

Files that this process reads itself: what is read in workers costs the worker at most (`scripts/hurt inputs`).
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from crash_checks import contents, sickness
from crash_process import answer_in, fresh, in_child
from crash_scenarios import ADD, Scenario, prepare, says

from hurting.arena import load, quick_folder
from hurting.syscalls import Action, Kind, arm, compiled, why_not
from kb.errors import Exit

AGAIN = (*ADD, "--replace", "--retry")
ENDS = {Exit.OK, Exit.PARTIAL, Exit.UNREADABLE}


class Shrinking:
    """Documents in `documents`, made anew before each cut from `kept`; no store yet."""

    def __init__(self, folder: Path, killer: Path) -> None:
        os.chdir(folder)
        self.killer = killer
        self.data, self.trial = folder / "data", folder / "trial"
        self.kept, self.documents = folder / "kept", folder / "documents"
        prepare(folder, Scenario((), lambda *_: None, ()), self.data)
        (self.documents / "long.txt").write_text("".join(f"red line {number} green\n" for number in range(2000)))
        (self.documents / "log.jsonl").write_text(
            "".join(says(("user", "assistant")[n % 2], f"red {n} ") for n in range(40))
        )
        fresh(self.documents, self.kept)
        fresh(self.data, self.trial)
        self.reads: int = in_child(self._counted)

    def _counted(self) -> int:
        armed = arm(self.killer, self.documents, Action.COUNT, kinds=Kind.READ)
        answer_in(self.trial, ADD)
        return armed.seen

    def faults(self, seed: str) -> list[str]:
        chances = Random(seed)
        at, size = chances.randint(1, self.reads), int(2 ** chances.uniform(0, 16)) - 1
        fresh(self.kept, self.documents)
        fresh(self.data, self.trial)
        code, out, err = in_child(lambda: self._cut(at, size))
        found = [] if code in ENDS and not err else [f"it ended with {code}: {out[:500]} {err[-800:]}"]
        return [*found, *in_child(lambda: list(self._wrong()))]

    def _cut(self, at: int, size: int) -> tuple[int, str, str]:
        arm(self.killer, self.documents, Action.SHRINK, at, Kind.READ, shrunk_to=size)
        return answer_in(self.trial, ADD)

    def _wrong(self) -> Any:
        yield from sickness(self.trial)
        answer_in(self.trial, AGAIN)
        again = contents(self.trial)
        answer_in(fresh(self.data, self.trial), AGAIN)
        if (anew := contents(self.trial)) != again:
            yield f"given again it left {sorted(again['documents'])}, anew it makes {sorted(anew['documents'])}"


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt shrinking", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--again", metavar="SEED/NUMBER", help="this one cut")
    arguments = parser.parse_args(words)
    if reason := why_not():
        print(f"shrinking: {reason}")
        return 1
    load()
    until = monotonic() + arguments.minutes * 60
    seeds = (
        [arguments.again] if arguments.again else [f"{arguments.seed}/{number}" for number in range(arguments.faults)]
    )
    count = bad = 0
    with quick_folder() as folder:
        arena = Shrinking(folder, compiled(folder))
        for seed in seeds:
            if monotonic() > until:
                break
            found = arena.faults(seed)
            count, bad = count + 1, bad + len(found)
            for fault in found:
                print(f"  FAULT {seed}: {fault}", flush=True)
    print(f"{count} files cut short at one of {arena.reads} reads; {bad} faults")
    return 1 if bad else 0
