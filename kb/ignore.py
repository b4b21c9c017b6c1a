"""Rules of `.gitignore`, `.kbignore`, `--exclude` and `--glob`: what they say of a path.

Paths are asked about from the top down, as a walk meets them, so that a rule about a folder has been heard before its files
are. What a pattern means is pathspec's business. All patterns of a file become one regular expression here: testing them
one by one took longer than the rest of a walk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, Self

import msgspec
from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".kbignore")
DIRECTORY_MARK = "(?P<ps_d>"
"""How pathspec marks that a pattern means a directory."""


class Spec(msgspec.Struct, frozen=True):
    """The patterns of one ignore file."""

    base: str
    """The directory that they are relative to, with a slash at its end."""
    regex: re.Pattern[str]
    """The last pattern first, each with an empty group behind it."""
    includes: tuple[bool, ...]
    """Of each group: False where the pattern began with `!`."""

    @classmethod
    def of(cls, folder: str, lines: Iterable[str]) -> Self | None:
        """None where the lines hold no pattern. One that git cannot read is passed over, such as a lone `!`."""
        found = [pattern for line in lines for pattern in _patterns(line) if pattern.include is not None]
        if not found:
            return None
        found.reverse()
        whole = "|".join(f"(?:{_whole(pattern.regex.pattern)})()" for pattern in found)
        return cls(folder.rstrip("/") + "/", re.compile(whole, re.DOTALL), tuple(pattern.include for pattern in found))

    def says(self, path: str, *, is_dir: bool) -> bool | None:
        """What the last pattern that means this very path says; None: none does."""
        met = self.regex.fullmatch(f"{path}/" if is_dir else path, len(self.base))
        return None if met is None or met.lastindex is None else self.includes[met.lastindex - 1]

    def covers(self, path: str) -> bool:
        """Whether the patterns mean the file at `path`, or a directory that it is in."""
        verdict = None
        ends = [at for at in range(len(self.base), len(path)) if path[at] == "/"]
        for said in (*(self.says(path[:end], is_dir=True) for end in ends), self.says(path, is_dir=False)):
            verdict = verdict if said is None else said
        return bool(verdict)


def is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _patterns(line: str) -> Sequence[Any]:
    try:
        return GitIgnoreSpec.from_lines([line]).patterns
    except ValueError:
        return ()


def _whole(regex: str) -> str:
    """Pathspec's expression of one pattern, which also matches what lies below its path, for whole paths."""
    if regex == f"{DIRECTORY_MARK}/)":  # `**/`: every directory
        return ".*/"
    regex = regex.removeprefix("^").replace(DIRECTORY_MARK, "(?:")
    return f"{regex}.+" if regex.endswith("/") else ".+" if regex == "." else regex


def ignores(specs: Iterable[Spec], path: str, *, is_dir: bool) -> bool:
    """The deepest ignore file that says something decides; `specs` are outermost first."""
    verdict = False
    for spec in specs:
        said = spec.says(path, is_dir=is_dir)
        if said is not None:
            verdict = said
    return verdict


def specs_in(folder: str, names: Collection[str]) -> list[Spec]:
    """The ignore files in a directory that holds `names`. One that cannot be read says nothing."""
    found = []
    for name in IGNORE_FILES:
        path = f"{folder.rstrip('/')}/{name}"
        if name in names and os.path.isfile(path):  # noqa: PTH113  paths are strings all through a walk
            with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                found.append(Spec.of(folder, file.read().splitlines()))
    return [spec for spec in found if spec is not None]


def specs_above(folder: str) -> list[Spec]:
    """The ignore files between the root of the git repository that holds `folder` and `folder` itself.

    None of them where they would leave out `folder` itself: it was named, which outweighs them.
    """
    above: list[str] = []
    path = folder
    while True:
        if os.path.exists(f"{path.rstrip('/')}/.git"):  # noqa: PTH110
            specs = [spec for parent in above for spec in specs_in(parent, IGNORE_FILES)]
            return [] if ignores(specs, folder, is_dir=True) else specs
        parent = os.path.dirname(path)  # noqa: PTH120
        if parent == path:
            return []
        above.insert(0, parent)
        path = parent
