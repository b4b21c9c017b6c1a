"""The files that paths stand for: directories are walked, with the ignore files of git and our own.

Order is by name, so that two walks of the same tree are the same (`place`). Each entry costs one stat; paths are strings, since
making a `Path` takes longer than that. Files that are as they were at the last look can be left out. Does not open documents.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from kb.detect import type_of_name
from kb.errors import BadRequest, NotFound, UnreadableFile
from kb.ignore import IGNORE_FILES, Spec, ignores, is_pattern, specs_above, specs_in
from kb.known import Known

NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
File = tuple[str, os.stat_result]
"""An absolute path, and what its one stat said."""


class Rules(msgspec.Struct, frozen=True):
    recursive: bool
    excludes: tuple[str, ...] = ()
    """Patterns as in .gitignore, relative to the directory that is added."""
    follow_symlinks: bool = False
    any_type: bool = False
    """Take files of any name: the type was given."""
    globs: tuple[str, ...] = ()
    """Patterns as in .gitignore: only files that one of them means; none: all."""


class Walk:
    """One walk; what it leaves out is counted as the files are yielded."""

    def __init__(self, rules: Rules, *, avoid: Path, known: Known | None = None) -> None:
        self.rules = rules
        self.known = known
        """Files that a walk by these rules has taken before: those that are as they were, and that everybody may read, are not yielded."""
        self.avoid = str(avoid)
        """Never entered: our own data."""
        self.skipped: list[str] = []
        """One sentence for each symbolic link, loop or unreadable directory left out."""
        self.unseen: list[str] = []
        """Directories that could not be listed, and files that could not be looked at: nothing is known of them."""
        self.unsupported = 0
        """Files of types that cannot be read."""
        self.ignored = 0
        """Files and directories left out by an ignore file, --exclude or --glob."""
        self._visited: set[tuple[int, int]] = set()
        self._excluded: list[Spec] = []
        self._wanted: Spec | None = None
        self._avoided = _identity(self.avoid)
        self._supported: dict[str, bool] = {}
        """By what follows the last dot of a name; a name without one by itself, after a slash."""

    def files(self, paths: Sequence[Path]) -> Iterator[tuple[str, bool]]:
        """(absolute path, was it named by the user) of each file, each once.

        Raises NotFound and BadRequest, before the first file, for a path that does not exist, or is a directory without
        --recursive.
        """
        seen: set[str] = set()
        for path in self.check(paths):
            for batch in self.below(path):
                for file, _ in batch:
                    if file not in seen:
                        seen.add(file)
                        yield file, file == path

    def check(self, paths: Sequence[Path]) -> list[str]:
        """The paths as absolute ones, each of which can be walked. Raises what `files` does."""
        # resolve() would rewrite symlinked paths
        absolute = [os.path.abspath(path.expanduser()) for path in paths]  # noqa: PTH100
        for path in absolute:
            self._check(path)
        return absolute

    def below(self, path: str) -> Iterator[list[File]]:
        """The files of a directory, or the one file that is named, a few at a time. Raises BadRequest, OSError."""
        self._begin(path)
        status = os.stat(path)  # noqa: PTH116  through links: it was named
        if not stat.S_ISDIR(status.st_mode):
            yield [(path, status)]
        else:
            yield from self._tree(path, specs_above(path))

    def takes(self, root: str, path: str) -> bool:
        """Whether a walk of `root` comes to the file at `path`, as far as names and rules say."""
        self._begin(root)
        if path == root:
            return True
        specs: list[Spec] = specs_above(root)
        folder, names = root.rstrip("/"), path[len(root.rstrip("/")) + 1 :].split("/")
        for depth, name in enumerate(names, start=1):
            specs += specs_in(folder, IGNORE_FILES)
            folder = f"{folder}/{name}"
            is_dir = depth < len(names)
            if name.startswith(".") or any(ignores(rules, folder, is_dir=is_dir) for rules in (self._excluded, specs)):
                return False
            if folder == self.avoid or (os.path.islink(folder) and not self.rules.follow_symlinks):  # noqa: PTH114
                return False
        return self._takes(names[-1], path)

    def _begin(self, root: str) -> None:
        for option, patterns in (("--exclude", self.rules.excludes), ("--glob", self.rules.globs)):
            for pattern in patterns:
                if not is_pattern(pattern):
                    raise BadRequest(f"{option} {pattern!r} is not a pattern", "say it as in .gitignore: '*.log'")
        self._excluded = [spec for spec in [Spec.of(root, self.rules.excludes)] if spec]
        self._wanted = Spec.of(root, self.rules.globs)

    def _check(self, path: str) -> None:
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except PermissionError as error:
            raise UnreadableFile(f"{path}: {error.strerror}", "check its permissions and those of its folder") from None
        except OSError as error:
            if error.errno not in NOTHING_THERE:
                raise
            raise NotFound(f"{path}: no such file or directory", "check the path") from None
        if stat.S_ISDIR(mode):
            if not self.rules.recursive:
                raise BadRequest(f"{path}: is a directory", "add what is in it with -r")
        elif not stat.S_ISREG(mode):
            raise BadRequest(
                f"{path}: is not a regular file", "pipes and devices cannot be added; kb add - reads standard input"
            )

    def _tree(self, folder: str, specs: Sequence[Spec]) -> Iterator[list[File]]:
        try:
            # By its descriptor: the system then need not find the way to the folder again for each stat.
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self._miss(folder, error)
            return
        try:
            if not self._enters(folder, os.fstat(descriptor)):
                return
            with os.scandir(descriptor) as listing:
                same, entries = self.known.divide(listing, _with_slash(folder)) if self.known else ([], list(listing))
            specs = [*specs, *specs_in(folder, {entry.name for entry in entries})]
            if self.known:
                self.known.settle(self._still_taken(same, specs))
            entries.sort(key=_name)  # of two links to a folder the first is followed
            found = self._look(folder, entries, specs)
        except OSError as error:
            self._miss(folder, error)
            return
        finally:
            os.close(descriptor)
        for one in found:
            if isinstance(one, list):
                yield one
            else:
                yield from self._tree(one, specs)

    def _still_taken(self, paths: list[str], specs: Sequence[Spec]) -> list[str]:
        """The known files that no rule leaves out by now."""
        for rules in (self._excluded, specs):
            if rules:
                paths = [path for path in paths if not ignores(rules, path, is_dir=False)]
        return [path for path in paths if self._wanted.covers(path)] if self._wanted else paths

    def _look(self, folder: str, entries: Sequence[os.DirEntry[str]], specs: Sequence[Spec]) -> list[list[File] | str]:
        """What is in one folder: runs of files, and the folders between them."""
        prefix, has_rules = _with_slash(folder), bool(self._excluded or specs)
        run: list[File] = []
        found: list[list[File] | str] = [run]
        for entry in entries:
            path = prefix + entry.name
            if entry.name[0] == "." or (has_rules and self._ignores(entry, path, specs)):
                continue
            if entry.is_file(follow_symlinks=False):
                if self._takes(entry.name, path):
                    self._add(run, entry, path)
            elif entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and self._leads_to_a_folder(entry, path)):
                run = []
                found += [path, run]
            elif entry.is_symlink() and self._leads_to_a_file(entry, path):
                self._add(run, entry, path)
        return found

    def _add(self, run: list[File], entry: os.DirEntry[str], path: str) -> None:
        try:
            run.append((path, entry.stat(follow_symlinks=self.rules.follow_symlinks)))
        except OSError as error:
            self._miss(path, error)

    def _ignores(self, entry: os.DirEntry[str], path: str, specs: Sequence[Spec]) -> bool:
        is_dir = _is_dir(entry)
        if ignores(self._excluded, path, is_dir=is_dir) or ignores(specs, path, is_dir=is_dir):
            self.ignored += 1
            return True
        return False

    def _takes(self, name: str, path: str) -> bool:
        """Whether a file is of a type that can be read, and among those wanted; counted if not."""
        if not self.rules.any_type and not self._is_supported(name):
            self.unsupported += 1
            return False
        if self._wanted and not self._wanted.covers(path):
            self.ignored += 1
            return False
        return True

    def _is_supported(self, name: str) -> bool:
        """Asked once for each extension: what a whole name says beyond it concerns files without one."""
        before, _, ending = name.rpartition(".")
        known_by = ending if before else f"/{name}"
        supported = self._supported.get(known_by)
        if supported is None:
            supported = self._supported[known_by] = type_of_name(Path(name)) is not None
        return supported

    def _enters(self, folder: str, status: os.stat_result) -> bool:
        """Guards our own data, and against loops; without links to follow there is none."""
        identity = status.st_dev, status.st_ino
        if folder == self.avoid or identity == self._avoided:
            return False
        if self.rules.follow_symlinks and identity in self._visited:
            self.skipped.append(f"{folder}: leads to a directory that was walked already")
            return False
        self._visited.add(identity)
        return True

    def _leads_to_a_folder(self, entry: os.DirEntry[str], path: str) -> bool:
        if not self.rules.follow_symlinks:
            self.skipped.append(f"{path}: symbolic link (--follow-symlinks follows it)")
            return False
        return _is_dir(entry)

    def _leads_to_a_file(self, entry: os.DirEntry[str], path: str) -> bool:
        if not self.rules.follow_symlinks:
            return False
        if not os.path.exists(path):  # noqa: PTH110
            self.skipped.append(f"{path}: symbolic link to nothing")
            return False
        return os.path.isfile(path) and self._takes(entry.name, path)  # noqa: PTH113

    def _miss(self, path: str, error: OSError) -> None:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return  # it went away meanwhile
        self.skipped.append(f"{path}: {error.strerror}")
        self.unseen.append(path)


def place(path: str) -> list[str]:
    """Sorts paths as a walk meets them."""
    return path.split("/")


def _with_slash(folder: str) -> str:
    return folder if folder.endswith("/") else f"{folder}/"


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _is_dir(entry: os.DirEntry[str]) -> bool:
    """Through links; one that leads to nothing or to itself is no directory."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _identity(path: str) -> tuple[int, int] | None:
    """None if there is nothing that can be looked at."""
    try:
        status = os.stat(path)  # noqa: PTH116  through links, as the walk goes
    except OSError:
        return None
    return status.st_dev, status.st_ino
