"""Interrupt commands at random steps, as Ctrl-C does, and look at what they say and leave: `scripts/hurt interrupts`.

Python raises KeyboardInterrupt in the main thread wherever it looks for signals: as a function is entered, and as one written in C has
returned. Each interrupt is drawn from its own seed, `SEED/SCENARIO/NUMBER`: at which of these steps in the program's own code it comes,
and in the standard library's context managers. Then:

    it ends              with exit code 130 and one line (in JSON: an error and nothing else), or 0 where all is done; without a trace
    all as after a kill  nothing lost, no wrong answer, doctor content, no leftovers (`hurting.crashes`)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from inspect import CO_GENERATOR
from pathlib import Path
from random import Random
from time import monotonic
from types import FrameType
from typing import Any

from crash_process import answer_in, fresh, in_child
from crash_scenarios import SCENARIOS

from hurting.arena import Arena, load, quick_folder
from hurting.crashes import seeds
from hurting.syscalls import compiled, why_not
from kb.errors import Exit

TOP = Path(__file__).parents[2]
INTERRUPTED_IN = (*(f"{TOP / package}/" for package in ("kb", "index", "models")), contextlib.__file__)


class Steps:
    """Where Python looks for signals, counted from `watch` on; the one of number `at` raises KeyboardInterrupt."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.seen = 0
        self.where = ""

    def watch(self) -> None:
        """In this thread, until it has struck."""
        sys.setprofile(self._step)

    def _step(self, frame: FrameType, event: str, function: Any) -> None:
        if event not in {"call", "c_return"} or not frame.f_code.co_filename.startswith(INTERRUPTED_IN):
            return
        # A generator is called again to be closed, and Python does not look for signals then.
        if event == "c_return" or not frame.f_code.co_flags & CO_GENERATOR:
            self.seen += 1
            if self.seen == self.at:
                name = getattr(function, "__name__", "") and f" after {function.__name__}"
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}{name}"
                raise KeyboardInterrupt


def answered(arena: Arena, steps: Steps) -> tuple[int, str, str]:
    """As `kb.__main__` has it: one that comes when the answer is being said ends it with no other word."""
    steps.watch()
    try:
        return answer_in(arena.trial, arena.command)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED, "", ""
    finally:
        sys.setprofile(None)


def counted(arena: Arena) -> int:
    def count() -> int:
        answered(arena, steps := Steps())
        return steps.seen

    fresh(arena.data, arena.trial)
    return int(in_child(count))


def interrupt(arena: Arena, at: int) -> tuple[int, str, list[str]]:
    """The exit code, where it came, and what is wrong."""

    def interrupted() -> tuple[str, int, str, str]:
        arena.promised.watch()
        code, out, err = answered(arena, steps := Steps(at))
        return steps.where, code, out, err

    fresh(arena.data, arena.trial)
    arena.promised.forget()
    where, code, out, err = in_child(interrupted)
    return code, where, [*_ill_said(code, out, err), *in_child(lambda: [*arena.untrue(code, out), *arena.faults()])]


def _ill_said(code: int, out: str, err: str) -> Iterator[str]:
    if code not in {Exit.OK, Exit.INTERRUPTED}:
        yield f"exit code {code}: {out} {err}"
    elif code and out and not _is_one_answer(out):
        yield f"it said: {out}"
    if any(not line.startswith("kb: interrupted") for line in err.splitlines()):  # once the answer has been printed
        yield f"on standard error: {err}"


def _is_one_answer(out: str) -> bool:
    """One JSON value: what was asked for, where it had been printed by then, or that the command was interrupted."""
    try:
        said = json.loads(out)
    except ValueError:
        return False
    return "error" not in said or said["error"]["code"] == "Interrupted"


def hurt(arena: Arena, drawn: list[str], until: float) -> tuple[int, int]:
    """How many interrupts, and faults."""
    steps, bad = counted(arena), 0
    codes: Counter[int] = Counter()
    for seed in drawn:
        if monotonic() > until:
            break
        code, where, faults = interrupt(arena, Random(seed).randint(1, steps))
        bad += len(faults)
        if where:  # else it was done before
            codes[code] += 1
        for fault in faults:
            print(f"  FAULT {seed} ({where}): {fault[:1500]}", flush=True)
    print(f"{arena.name:<16} {steps:>6} steps, exit codes {dict(codes)}, {bad} faults", flush=True)
    return codes.total(), bad


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt interrupts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--interrupts", type=int, default=1000, help="in all, over all scenarios", dest="kills")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--scenario", choices=SCENARIOS, action="append", help="only this; may be repeated")
    parser.add_argument("--again", metavar="SEED/SCENARIO/NUMBER", help="this one interrupt")
    arguments = parser.parse_args(words)
    if reason := why_not():
        print(f"interrupts: {reason}")
        return 1
    load()
    until, done = monotonic() + arguments.minutes * 60, []
    with quick_folder() as folder:
        killer = compiled(folder)
        for name, drawn in seeds(arguments, arguments.scenario or list(SCENARIOS)).items():
            done.append(hurt(Arena(name, folder / name, killer), drawn, until))
    count, bad = map(sum, zip(*done, strict=True))
    print(f"{count} interrupts; {bad} faults")
    return 1 if bad else 0
