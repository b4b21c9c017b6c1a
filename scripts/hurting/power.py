"""The disk as it may be after the power went: what was synced is there, of the rest something or nothing.

What a process did to names, and each file's content at each of its syncs, was written down while it lived (`killer.c`). From that:

    names      of each folder those at its last sync, and of what happened since then the first so many changes
    content    of each file that at its last sync, and of each page that has changed since then the old or the new

That is less than any common file system keeps (ext4 and xfs keep names in one order over all folders, and those of a file that is
synced), and what POSIX promises. Not here: what must hold on such a disk.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from random import Random

PAGE_BYTES = 4096
"""What a disk and a page cache write as one; also SQLite's pages, which may be torn between two of them."""

SHARED_MEMORY = "kb.db-shm"
"""SQLite makes it anew where nobody else has it open."""


class Node:
    """A file, by whatever name; None as content: a folder."""

    def __init__(self, synced: bytes | None) -> None:
        self.synced = synced


Names = dict[Path, Node]
Change = tuple[Path | None, Path | None, Node | None]
"""A name that goes, one that comes, and of what."""


def names_of(folder: Path) -> Names:
    """What is there now, all of it safe."""
    there = (path for path in folder.rglob("*") if path.name != SHARED_MEMORY)
    return {path: Node(path.read_bytes() if path.is_file() else None) for path in there}


def cut(folder: Path, before: Names, journal: Path, chances: Random) -> None:
    """Make of `folder`, which a process has left, what the disk may hold; `before` is what it found there."""
    live, safe = dict(before), dict(before)
    pending: dict[Path, list[Change]] = defaultdict(list)
    for what, path, second in _lines(journal):
        match what:
            case "C" | "M":
                node = live[path] = Node(b"" if what == "C" else None)
                pending[path.parent].append((None, path, node))
            case "U":
                live.pop(path, None)
                pending[path.parent].append((path, None, None))
            case "R":
                node = live[Path(second)] = live.pop(path)
                pending[Path(second).parent].append((path, Path(second), node))
            case "S":
                live[path].synced = (journal / second).read_bytes()
            case "D":
                _apply(safe, pending.pop(path, []))
    for changes in pending.values():
        _apply(safe, changes[: chances.randint(0, len(changes))])
    now = {node: path.read_bytes() for path, node in live.items() if node.synced is not None}
    _write(folder, {path: _kept(node, now.get(node), chances) for path, node in safe.items()})


def _lines(journal: Path) -> list[tuple[str, Path, str]]:
    rows = [line.split("\t") for line in (journal / "journal").read_text().splitlines()]
    return [(what, Path(path), second) for what, path, second in rows]


def _apply(names: Names, changes: list[Change]) -> None:
    for gone, come, node in changes:
        if gone is not None:
            names.pop(gone, None)
        if come is not None and node is not None:
            names[come] = node


def _kept(node: Node, now: bytes | None, chances: Random) -> bytes | None:
    """None: a folder."""
    if node.synced is None or now is None or now == node.synced:
        return node.synced
    keep = chances.choice((0.0, 0.5, 0.9, 1.0))
    length = len(now) if chances.random() < keep else len(node.synced)
    pages = []
    for first in range(0, length, PAGE_BYTES):
        content = now if chances.random() < keep else node.synced
        pages.append(content[first : first + PAGE_BYTES].ljust(min(PAGE_BYTES, length - first), b"\0"))
    return b"".join(pages)[:length]


def _write(folder: Path, content: dict[Path, bytes | None]) -> None:
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    for path in sorted(content):
        if path.parent.is_dir():  # else its folder was lost
            held = content[path]
            if held is None:
                path.mkdir(mode=0o700)
            else:
                path.write_bytes(held)
