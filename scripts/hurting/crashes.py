"""Kill commands at random system calls, take the power away, and look at what is left: `scripts/hurt crashes`.

Each kill is drawn from its own seed, `SEED/SCENARIO/NUMBER`: the call before which the process dies (or half of what it writes is
written), and whether the power goes with it, by which whatever was not synced may be lost (`hurting.power`). Then, by `crash_checks`:

    nothing lost        a document that was there and was not to go is there, as before or as it was to become; never half
    what was said       every transaction that SQLite reported as committed is there; not where the power went, since
                        `synchronous = NORMAL` may lose the last ones then and be consistent all the same
    no wrong answer     searches find what a store finds that is made anew from the same kb.db
    doctor content      as it was left, and after the command was given once more, which does what it would have done at once
    no leftovers        after that, no file is there that is of no use
"""

from __future__ import annotations

import argparse
import math
import shutil
import sqlite3
from random import Random
from time import monotonic
from typing import NamedTuple

from crash_process import command_in, fresh, in_child
from crash_scenarios import SCENARIOS

from hurting import power
from hurting.arena import Arena, load, quick_folder
from hurting.syscalls import Action, arm, compiled, why_not


class Kill(NamedTuple):
    """One way to die, all of it from a seed."""

    seed: str
    at: float
    """Of all calls of a whole run, which part has been made."""
    action: Action
    takes_power: bool

    @classmethod
    def drawn(cls, seed: str, power_share: float) -> Kill:
        chances = Random(seed)
        return cls(seed, chances.random(), chances.choice((Action.KILL, Action.TEAR)), chances.random() < power_share)


class Figures(NamedTuple):
    killed: int = 0
    tried: int = 0
    powerless: int = 0
    faults: int = 0


def die(arena: Arena, kill: Kill) -> tuple[bool, list[str]]:
    """Whether it was killed before it was done, and what is wrong then."""
    before = power.names_of(fresh(arena.data, arena.trial))
    shutil.rmtree(arena.journal, ignore_errors=True)
    arena.journal.mkdir()
    arena.promised.forget()
    was_killed = in_child(lambda: _killed(arena, kill)) is None
    if kill.takes_power:
        power.cut(arena.trial, before, arena.journal, Random(kill.seed + "/power"))
    return was_killed, in_child(lambda: arena.faults(may_forget=kill.takes_power))


def _killed(arena: Arena, kill: Kill) -> int:
    arena.promised.watch()
    at = 1 + int(kill.at * arena.calls)
    arm(arena.killer, arena.trial, kill.action, at, journal=arena.journal if kill.takes_power else None)
    return command_in(arena.trial, arena.command)


def hurt(arena: Arena, kills: list[Kill], until: float) -> Figures:
    done = Figures()
    for kill in kills:
        if monotonic() > until:
            break
        was_killed, found = die(arena, kill)
        done = Figures(
            done.killed + was_killed, done.tried + 1, done.powerless + kill.takes_power, done.faults + len(found)
        )
        for fault in found:
            print(f"  FAULT {kill.seed} ({kill.action.name}, power {kill.takes_power}): {fault[:2000]}", flush=True)
    print(
        f"{arena.name:<10} {arena.calls:>5} calls, killed {done.killed} of {done.tried}, {done.powerless} with the power,"
        f" {done.faults} faults",
        flush=True,
    )
    return done


def seeds(arguments: argparse.Namespace, scenarios: list[str]) -> dict[str, list[str]]:
    """Of each scenario the seeds of its kills."""
    if arguments.again:
        return {arguments.again.split("/")[1]: [arguments.again]}
    share = math.ceil(arguments.kills / len(scenarios))
    return {name: [f"{arguments.seed}/{name}/{number}" for number in range(share)] for name in scenarios}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt crashes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000, help="in all, over all scenarios")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--scenario", choices=SCENARIOS, action="append", help="only this; may be repeated")
    parser.add_argument("--power", type=float, default=0.5, help="which part of the kills takes the power too")
    parser.add_argument("--again", metavar="SEED/SCENARIO/NUMBER", help="this one kill")
    arguments = parser.parse_args(words)
    if reason := why_not():
        print(f"crashes: {reason}")
        return 1
    load()
    until, done = monotonic() + arguments.minutes * 60, []
    with quick_folder() as folder:
        killer = compiled(folder)
        for name, chosen in seeds(arguments, arguments.scenario or list(SCENARIOS)).items():
            arena = Arena(name, folder / name, killer)
            done.append(hurt(arena, [Kill.drawn(seed, arguments.power) for seed in chosen], until))
    killed, tried, powerless, faults = map(sum, zip(*done, strict=True))
    print(
        f"{tried} kills ({tried - killed} came too late), {powerless} with the power; SQLite {sqlite3.sqlite_version}; {faults} faults"
    )
    return 1 if faults else 0
