"""Which store is meant: KB_DATA_DIR, else the nearest `.kb` from the working directory upwards, else ~/.kb.

A `.kb` is found as git finds `.git`, and only where it belongs to the user who asks: its config.yaml is obeyed. Loaded by every
call where no compiler built kb/launcher.c, which goes by the same rules, so it imports little, and no module of ours.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

FOLDER = ".kb"
NAMED = "~/.kb/stores"
"""Where the stores are that --store calls by name."""


def said_or_found(environ: Mapping[str, str], folder: str) -> str:
    """The data directory as a path that may begin with `~`; `folder`: the working directory, absolute."""
    return environ.get("KB_DATA_DIR") or nearest(folder) or f"~/{FOLDER}"


def run_folder(environ: Mapping[str, str], folder: str) -> str | None:
    """Where the daemon's socket is; None where finding the data directory takes more than HOME (as `~someone` does)."""
    store = said_or_found(environ, folder)
    if store.startswith("~"):
        home = environ.get("HOME")
        if home is None or store[1:2] not in {"", "/"}:
            return None
        store = home + store[1:]
    return f"{store}/run"


def nearest(folder: str) -> str | None:
    """The `.kb` of this folder or of the nearest one above it."""
    while True:
        candidate = os.path.join(folder, FOLDER)  # noqa: PTH118  without pathlib, which takes 10 ms to load
        if _is_our_folder(candidate):
            return candidate
        if folder in {"/", ""}:
            return None
        folder = os.path.dirname(folder)  # noqa: PTH120


def _is_our_folder(path: str) -> bool:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def named(name: str) -> str:
    """The data directory that --store means: a path has a slash, or begins as one; anything else is a name."""
    return name if "/" in name or name.startswith((".", "~")) else f"{NAMED}/{name}"


def stores_beside(folder: str) -> list[str]:
    """Names of the stores that are in the same folder as this one is, or would be."""
    parent = os.path.dirname(folder)  # noqa: PTH120
    try:
        there = os.listdir(parent)  # noqa: PTH208
    except OSError:
        return []
    return sorted(name for name in there if os.path.isfile(os.path.join(parent, name, "kb.db")))  # noqa: PTH113, PTH118
