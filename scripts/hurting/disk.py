"""Let the disk fail at random system calls, and look at what is said and what is left: `scripts/hurt disk`.

Each fault is drawn from its own seed, `SEED/SCENARIO/NUMBER`: what fails (`FAULTS`), at which call, and whether the ones after it do too.
Then the same must hold as after a kill (`hurting.crashes`), and of the command that met the fault:

    a clear line        exit code 0 or 5 (docs/errors.md), an error in JSON with a hint, no trace on standard error
    what was said       where it says that it is done, it is
"""

from __future__ import annotations

import argparse
import errno
import json
import math
from collections import Counter
from collections.abc import Iterator
from random import Random
from time import monotonic
from typing import NamedTuple

from crash_process import answer_in, fresh, in_child
from crash_scenarios import SCENARIOS

from hurting.arena import Arena, load, quick_folder
from hurting.crashes import seeds
from hurting.syscalls import CHANGES, Action, Kind, arm, compiled, why_not
from kb.errors import Exit


class Fault(NamedTuple):
    error: int
    kinds: Kind
    actions: tuple[Action, ...] = (Action.FAIL, Action.FAIL_ON)


GROWS = Kind.WRITE | Kind.SIZE | Kind.NAME | Kind.OPEN
FAULTS = {
    "full": Fault(errno.ENOSPC, GROWS),
    "quota": Fault(errno.EDQUOT, GROWS),
    "no inodes": Fault(errno.ENOSPC, Kind.NAME | Kind.OPEN),
    "write fails": Fault(errno.EIO, Kind.WRITE),
    "sync fails": Fault(errno.EIO, Kind.SYNC),
    "read fails": Fault(errno.EIO, Kind.READ),
    "becomes read-only": Fault(errno.EROFS, CHANGES, (Action.FAIL_ON,)),
    "no locks": Fault(errno.ENOLCK, Kind.LOCK),
    "locks unknown": Fault(errno.EOPNOTSUPP, Kind.LOCK, (Action.FAIL_ON,)),
    "stale handle": Fault(errno.ESTALE, CHANGES | Kind.READ),
}


class Strike(NamedTuple):
    """One fault, all of it from a seed."""

    seed: str
    name: str
    at: float
    """Of all calls of these kinds in a whole run, which part has been made."""
    action: Action

    @classmethod
    def drawn(cls, seed: str) -> Strike:
        chances = Random(seed)
        name = chances.choice(list(FAULTS))
        return cls(seed, name, chances.random(), chances.choice(FAULTS[name].actions))


class Struck(NamedTuple):
    has_struck: bool
    code: int
    faults: list[str]


def strike(arena: Arena, one: Strike) -> Struck:
    fault = FAULTS[one.name]
    calls = arena.count(fault.kinds)
    fresh(arena.data, arena.trial)
    arena.promised.forget()
    has_struck, code, out, err = in_child(lambda: _struck(arena, one, 1 + int(one.at * calls)))
    faults = [*_ill_said(code, out, err), *in_child(lambda: [*arena.untrue(code, out), *arena.faults()])]
    return Struck(has_struck, code, faults)


def _struck(arena: Arena, one: Strike, at: int) -> tuple[bool, int, str, str]:
    fault = FAULTS[one.name]
    arena.promised.watch()
    armed = arm(arena.killer, arena.trial, one.action, at, fault.kinds, error=fault.error)
    return armed.has_struck, *answer_in(arena.trial, arena.command)


def _ill_said(code: int, out: str, err: str) -> Iterator[str]:
    said_of_config = code == Exit.USAGE and "config.yaml" in out  # which could not be read
    said_of_backup = code == Exit.UNREADABLE and "nothing was replaced" in out  # whose copy could not be
    if code not in {Exit.OK, Exit.STORE} and not (said_of_config or said_of_backup):
        yield f"exit code {code}: {out} {err}"
    elif code and not json.loads(out)["error"]["hint"]:
        yield f"no hint: {out}"
    if any(not line.startswith("kb: ") for line in err.splitlines()):  # a worker of the queue tells, and tries again
        yield f"on standard error: {err}"


def hurt(arena: Arena, strikes: list[Strike], until: float) -> tuple[int, int]:
    """How many faults of the disk, and of ours."""
    count = bad = 0
    codes: Counter[int] = Counter()
    for one in strikes:
        if monotonic() > until:
            break
        done = strike(arena, one)
        count, bad = count + 1, bad + len(done.faults)
        codes[done.code] += 1
        for fault in done.faults:
            print(f"  FAULT {one.seed} ({one.name}, {one.action.name}): {fault[:1500]}", flush=True)
    print(f"{arena.name:<10} {count} faults of the disk, exit codes {dict(codes)}, {bad} faults", flush=True)
    return count, bad


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt disk", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=1000, help="in all, over all scenarios")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--scenario", choices=SCENARIOS, action="append", help="only this; may be repeated")
    parser.add_argument("--again", metavar="SEED/SCENARIO/NUMBER", help="this one fault")
    arguments = parser.parse_args(words)
    arguments.kills = arguments.faults
    if reason := why_not():
        print(f"disk: {reason}")
        return 1
    load()
    until, done = monotonic() + arguments.minutes * 60, []
    with quick_folder() as folder:
        killer = compiled(folder)
        for name, chosen in seeds(arguments, arguments.scenario or list(SCENARIOS)).items():
            done.append(hurt(Arena(name, folder / name, killer), list(map(Strike.drawn, chosen)), until))
    count, bad = map(sum, zip(*done, strict=True))
    print(f"{count} faults of the disk; {bad} faults")
    return 1 if bad else 0
