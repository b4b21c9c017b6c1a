"""System calls of this process counted, cut short or refused at the n-th: `killer.c`, compiled and loaded.

    killer = compiled(folder)
    if (pid := os.fork()) == 0:
        arm(killer, data_dir, Action.KILL, at=17)
        ...

What was armed cannot be taken off: it is for a process that ends soon. Only calls that touch files below the folder count.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
from enum import IntEnum, IntFlag
from pathlib import Path

SOURCE = Path(__file__).with_name("killer.c")


class Kind(IntFlag):
    """As in killer.c."""

    WRITE = 1
    SYNC = 2
    NAME = 4
    """A file or folder is made, renamed or removed; not by opening it."""
    SIZE = 8
    LOCK = 16
    READ = 32
    OPEN = 64
    """To change it, or to make it."""


CHANGES = Kind.WRITE | Kind.SYNC | Kind.NAME | Kind.SIZE | Kind.OPEN


class Action(IntEnum):
    """What happens at the chosen call; as in killer.c."""

    COUNT = 0
    KILL = 1
    """The process dies before it."""
    TEAR = 2
    """Half of what is to be written is, and the process dies."""
    FAIL = 3
    """That call fails, the next ones do not."""
    FAIL_ON = 4
    """That call fails, and each after it."""
    SHRINK = 5
    """The file is cut just before it."""


def why_not() -> str:
    """Why this machine cannot do it; nothing where it can."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return "needs Linux on x86-64"
    return "" if shutil.which("cc") else "needs a C compiler"


def compiled(folder: Path) -> Path:
    killer = folder / "killer.so"
    command = ["cc", "-O2", "-fPIC", "-shared", "-o", str(killer), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return killer


class Armed:
    def __init__(self, killer: ctypes.CDLL) -> None:
        self._killer = killer

    @property
    def seen(self) -> int:
        """Calls so far."""
        return int(self._killer.hurt_seen())

    @property
    def has_struck(self) -> bool:
        return bool(self._killer.hurt_has_struck())


def arm(
    killer: Path, below: Path, action: Action, at: int = 0, kinds: Kind = CHANGES, *,
    error: int = 0, shrunk_to: int = 0, journal: Path | None = None,
) -> Armed:  # fmt: skip
    """`at` counts from 1; `error` is the errno of a call that fails; `journal` an empty folder for `hurting.power`."""
    loaded = ctypes.CDLL(str(killer))
    loaded.hurt_seen.restype = ctypes.c_long
    loaded.hurt_arm.argtypes = [
        ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_char_p,
    ]  # fmt: skip
    place = b"" if journal is None else bytes(journal)
    if loaded.hurt_arm(bytes(below), action, at, kinds, error, shrunk_to, place):
        raise RuntimeError("the kernel takes no seccomp filter")
    return Armed(loaded)
