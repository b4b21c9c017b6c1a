"""A folder of files that changes at random, as folders do between two syncs: new, edited, copied, moved, deleted, replaced, closed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

WORDS = [
    "red",
    "green",
    "huge",
    "heat",
    "flows",
    "warm",
    "cold",
    "body",
    "door",
    "lamp",
    "river",
    "stone",
    "sand",
    "wind",
]
NAMES = ("note", "plan", "list", "draft", "river", "lamp")
SUFFIXES = (".md", ".md", ".md", ".txt", ".rst", ".py", ".json")


class ChangingTree:
    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        self.closed: set[Path] = set()
        """Files that may not be opened; they stay where they are and what they are until they are opened again."""
        self.fresh: set[Path] = set()
        """Files that no sync has seen as they are."""
        self.known: set[Path] = set()
        """Files that are documents."""
        self.number = 0
        self.shared = [self._words(30) for _ in range(30)]
        root.mkdir(parents=True)

    def fill(self, count: int) -> None:
        for _ in range(count):
            self._new()

    def change(self, count: int, known: set[Path]) -> None:
        """`count` changes of all kinds, none left out in the long run; `known` are the files that are documents now."""
        self.known = known
        self.fresh.clear()
        for _ in range(count):
            kinds = (
                *(self._new, self._edit, self._edit, self._move, self._move, self._delete, self._delete, self._copy),
                *(self._touch, self._swap, self._move_folder, self._file_to_folder, self._folder_to_file),
                *(self._empty, self._spoil, self._close, self._open, self._ignore),
            )
            self.chance.choice(kinds)()

    # Content

    def _words(self, count: int) -> str:
        return " ".join(self.chance.choices(WORDS, k=count))

    def _text(self, suffix: str) -> str:
        self.number += 1
        if suffix == ".py":
            return f"def function{self.number}():\n    return '{self._words(12)}'\n"
        if suffix == ".json":
            return f'{{"number": {self.number}, "words": "{self._words(12)}"}}\n'
        sections = [
            f"token{self.number} {self._words(40)}",
            *self.chance.sample(self.shared, k=self.chance.randint(0, 2)),
        ]
        heading = f"# Title {self.number}\n\n" if self.chance.random() < 0.5 else ""
        body = "\n\n".join(f"## Part {number}\n\n{section}" for number, section in enumerate(sections))
        front = f"---\ntags: [{self.chance.choice(WORDS)}]\n---\n" if self.chance.random() < 0.2 else ""
        return front + heading + body + "\n"

    # Places

    def files(self) -> list[Path]:
        found = (path for path in sorted(self.root.rglob("*")) if path.is_file() and not path.name.startswith("."))
        return [path for path in found if path not in self.closed]

    def folders(self) -> list[Path]:
        found = [path for path in sorted(self.root.rglob("*")) if path.is_dir()]
        return [folder for folder in found if not any(path.is_relative_to(folder) for path in self.closed)]

    def _free_place(self, suffix: str) -> Path:
        depth = self.chance.randint(0, 2)
        folder = self.root.joinpath(*self.chance.choices(("alpha", "beta", "gamma"), k=depth))
        while True:
            path = folder / f"{self.chance.choice(NAMES)}{self.chance.randint(1, 999)}{suffix}"
            if not path.exists() and all(not above.is_file() for above in path.parents):
                path.parent.mkdir(parents=True, exist_ok=True)
                return path

    def _any(self, act: Callable[[Path], None]) -> None:
        if files := self.files():
            act(self.chance.choice(files))

    def _write(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self.fresh.add(path)

    # Changes

    def _new(self) -> None:
        suffix = self.chance.choice(SUFFIXES)
        self._write(self._free_place(suffix), self._text(suffix).encode())

    def _edit(self) -> None:
        def act(path: Path) -> None:
            content = path.read_bytes().decode("utf-8", "replace")
            last = content.rfind(" ") + 1
            ways = (
                content + f"\n\nmore {self._words(5)}\n",
                content[:last] + content[last:].swapcase(),
                self._text(path.suffix),
            )
            self._write(path, self.chance.choice(ways).encode())

        self._any(act)

    def _move(self) -> None:
        def act(path: Path) -> None:
            suffix = path.suffix if self.chance.random() < 0.8 else self.chance.choice(SUFFIXES[:5])
            to = self._free_place(suffix)
            path.rename(to)
            self.fresh.add(to)

        self._any(act)

    def _delete(self) -> None:
        self._any(Path.unlink)

    def _copy(self) -> None:
        def act(path: Path) -> None:
            to = self._free_place(path.suffix)
            shutil.copyfile(path, to)
            self.fresh |= {path, to}

        self._any(act)

    def _touch(self) -> None:
        self._any(lambda path: os.utime(path, ns=(0, self.chance.randrange(10**18, 17 * 10**17))))

    def _swap(self) -> None:
        def act(path: Path) -> None:
            other = self.chance.choice(self.files())
            first, second = path.read_bytes(), other.read_bytes()
            self._write(path, second)
            self._write(other, first)

        self._any(act)

    def _move_folder(self) -> None:
        if folders := self.folders():
            folder = self.chance.choice(folders)
            to = self.root / f"moved{self.chance.randint(1, 99)}"
            if not to.exists():
                folder.rename(to)
                self.fresh |= {path for path in to.rglob("*") if path.is_file()}

    def _file_to_folder(self) -> None:
        def act(path: Path) -> None:
            path.unlink()
            path.mkdir()
            inside = path / "inside.md"
            self._write(inside, self._text(".md").encode())

        self._any(act)

    def _folder_to_file(self) -> None:
        small = [folder for folder in self.folders() if sum(path.is_file() for path in folder.rglob("*")) < 6]
        if small:
            folder = self.chance.choice(small)
            to = folder if folder.suffix else folder.with_name(f"{folder.name}.md")
            if to == folder or not to.exists():
                shutil.rmtree(folder)
                self._write(to, self._text(".md").encode())

    def _empty(self) -> None:
        self._any(lambda path: self._write(path, b" \n" * self.chance.randint(1, 3)))

    def _spoil(self) -> None:
        """Content that no reader takes."""
        self._any(lambda path: self._write(path, bytes(range(32)) * self.chance.randint(60, 64)))

    def _close(self) -> None:
        def act(path: Path) -> None:
            content = path.read_bytes()
            is_copied = sum(other.read_bytes() == content for other in self.files()) > 1
            if path in self.known - self.fresh and not is_copied:
                path.chmod(0)
                self.closed.add(path)

        self._any(act)

    def _open(self) -> None:
        if self.closed:
            path = self.chance.choice(sorted(self.closed))
            path.chmod(0o644)
            self.closed.discard(path)

    def _ignore(self) -> None:
        while self.closed:  # one that is left out and closed at once would come back unread
            self._open()
        names = self.chance.sample(NAMES, k=self.chance.randint(0, 2))
        (self.root / ".gitignore").write_text("".join(f"{name}9*\n" for name in names))
