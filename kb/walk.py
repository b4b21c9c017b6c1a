"""The files that paths stand for: directories are walked, with the ignore files of git and our own.

Order is by name, so that two walks of the same tree are the same. Does not open documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from pathspec import GitIgnoreSpec

from kb.detect import type_of_name
from kb.errors import BadRequest, NotFound

IGNORE_FILES = (".gitignore", ".kbignore")


class Rules(msgspec.Struct, frozen=True):
    recursive: bool
    excludes: tuple[str, ...] = ()
    """Patterns as in .gitignore, relative to the directory that is added."""
    follow_symlinks: bool = False
    any_type: bool = False
    """Take files of any name: the type was given."""


Specs = Sequence[tuple[Path, GitIgnoreSpec]]
"""Ignore rules with the directory that they are relative to, outermost first."""


class Walk:
    """One walk; what it leaves out is counted as the files are yielded."""

    def __init__(self, rules: Rules, *, avoid: Path) -> None:
        self.rules = rules
        self.avoid = avoid
        """Never entered: our own data."""
        self.skipped: list[str] = []
        """One sentence for each symbolic link, loop or unreadable directory left out."""
        self.unsupported = 0
        """Files of types that cannot be read."""
        self.ignored = 0
        """Files and directories left out by an ignore file or --exclude."""
        self._visited: set[tuple[int, int]] = set()
        self._excluded: Specs = ()

    def files(self, paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
        """(absolute path, was it named by the user) of each file, each once.

        Raises NotFound and BadRequest, before the first file, for a path that does not exist, or is a directory without
        --recursive.
        """
        for pattern in self.rules.excludes:
            if not _is_pattern(pattern):
                raise BadRequest(f"--exclude {pattern!r} is not a pattern", "say it as in .gitignore: '*.log'")
        # resolve() would rewrite symlinked paths
        absolute = [Path(os.path.abspath(path.expanduser())) for path in paths]  # noqa: PTH100
        for path in absolute:
            self._check(path)
        seen: set[Path] = set()
        for path in absolute:
            for file in [path] if path.is_file() else self._below(path):
                if file not in seen:
                    seen.add(file)
                    yield file, file == path

    def _check(self, path: Path) -> None:
        if not path.exists():
            raise NotFound(f"{path}: no such file or directory", "check the path")
        if not path.is_file() and not path.is_dir():
            raise BadRequest(
                f"{path}: is not a regular file", "pipes and devices cannot be added; kb add - reads standard input"
            )
        if path.is_dir() and not self.rules.recursive:
            raise BadRequest(f"{path}: is a directory", "add what is in it with -r")

    def _below(self, folder: Path) -> Iterator[Path]:
        self._visited.add(_identity(folder))
        self._excluded = [(folder, GitIgnoreSpec.from_lines(self.rules.excludes))]
        yield from self._tree(folder, _specs_above(folder))

    def _tree(self, folder: Path, specs: Specs) -> Iterator[Path]:
        if self.avoid.exists() and folder.samefile(self.avoid):
            return
        specs = [*specs, *_specs_in(folder)]
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self.skipped.append(f"{folder}: {error.strerror}")
            return
        for entry in entries:
            if not self._leaves_out(entry, specs):
                path = folder / entry.name
                if path.is_dir():
                    yield from self._tree(path, specs)
                elif path.is_file():
                    yield path

    def _leaves_out(self, entry: os.DirEntry[str], specs: Specs) -> bool:
        """Whether an entry is passed over, with the reason counted or said."""
        path = Path(entry.path)
        if entry.name.startswith("."):
            return True
        is_dir = path.is_dir()
        if _ignored(path, self._excluded, is_dir=is_dir) or _ignored(path, specs, is_dir=is_dir):
            self.ignored += 1
            return True
        if entry.is_symlink() and not self.rules.follow_symlinks:
            self.skipped.append(f"{path}: symbolic link (--follow-symlinks follows it)")
            return True
        if is_dir:
            return self._was_here(path)
        if not path.exists():
            self.skipped.append(f"{path}: symbolic link to nothing")
        elif not self.rules.any_type and type_of_name(path) is None:
            self.unsupported += 1
        else:
            return False
        return True

    def _was_here(self, folder: Path) -> bool:
        """Guards against loops of links, and against walking a directory twice."""
        identity = _identity(folder)
        if identity in self._visited:
            self.skipped.append(f"{folder}: leads to a directory that was walked already")
            return True
        self._visited.add(identity)
        return False


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116  through links, as the walk goes
    return status.st_dev, status.st_ino


def _specs_in(folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    found = [folder / name for name in IGNORE_FILES if (folder / name).is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in found]
    return [(folder, GitIgnoreSpec.from_lines(filter(_is_pattern, text.splitlines()))) for text in texts]


def _is_pattern(line: str) -> bool:
    """What git cannot read as a pattern it passes over, such as a lone `!`."""
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _specs_above(folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """The ignore files between the root of the git repository that holds `folder` and `folder` itself.

    None of them where they would leave out `folder` itself: it was named, which outweighs them.
    """
    above: list[Path] = []
    for path in (folder, *folder.parents):
        if (path / ".git").exists():
            specs = [spec for parent in above for spec in _specs_in(parent)]
            return [] if _ignored(folder, specs, is_dir=True) else specs
        above.insert(0, path.parent)
    return []


def _ignored(path: Path, specs: Specs, *, is_dir: bool) -> bool:
    """The last pattern that matches decides, the deepest ignore file last."""
    verdict = False
    for base, spec in specs:
        relative = path.relative_to(base).as_posix() + ("/" if is_dir else "")
        matched = spec.check_file(relative).include
        if matched is not None:
            verdict = matched
    return verdict
