"""Ignore rules: what git says of a path, asked from the top down."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from kb.ignore import Spec, ignores

PATTERNS = (
    *(
        "*.txt",
        "*.md",
        "a",
        "a/",
        "/a",
        "/a/",
        "b/a",
        "b/**",
        "**/a",
        "**/b/",
        "a/**/b",
        "*",
        "*/",
        "?",
        "[ab]",
        "[!a]*",
        "b*",
    ),
    *("!a", "!*.md", "!/b/", "!b", "!a/", "# comment", "", "\\!a", "\\#a", "a.txt", "!a.txt", "/**", "**", "/b/*.md"),
)
NAMES = ("a", "b", "a.txt", "b.md", "ba", "!a", "#a")


def says(lines, path, *, is_dir):
    """As a walk asks: the folders above first."""
    spec = Spec.of("/root", lines)
    parts = path.split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    asked = [*((folder, True) for folder in above), (path, is_dir)]
    return any(ignores([spec] if spec else [], f"/root/{part}", is_dir=kind) for part, kind in asked)


@pytest.mark.skipif(shutil.which("git") is None, reason="git says what is right")
@pytest.mark.parametrize("seed", range(8))
def test_git_says_the_same(tmp_path, seed):
    """Of random rules and the paths of a random tree."""
    chance = random.Random(seed)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    paths = sorted({"/".join(chance.choices(NAMES, k=chance.randint(1, 4))) for _ in range(60)})
    for path in paths:
        parents = [tmp_path.joinpath(*path.split("/")[:depth]) for depth in range(1, len(path.split("/")))]
        if not any(parent.is_file() for parent in parents) and not (tmp_path / path).exists():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text("")
    found = [each for each in sorted(tmp_path.rglob("*")) if ".git" not in each.parts]
    names = {each.relative_to(tmp_path).as_posix(): each.is_dir() for each in found}
    for _ in range(20):
        lines = chance.choices(PATTERNS, k=chance.randint(1, 4))
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            ["git", "check-ignore", "--no-index", "-z", "--stdin"],
            cwd=tmp_path, input="\0".join(f"{name}/" if is_dir else name for name, is_dir in names.items()),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        by_git = {name.rstrip("/") for name in done.stdout.split("\0") if name}

        ours = {name for name, is_dir in names.items() if says(lines, name, is_dir=is_dir)}

        assert ours - {".gitignore"} == by_git - {".gitignore"}, lines


def test_lines_without_a_pattern_are_no_spec():
    assert Spec.of("/root", ["", "# comment", "!", "/"]) is None


@pytest.mark.parametrize(
    ("path", "covered"), [("docs/a.md", True), ("docs/old/a.md", False), ("a.md", False), ("x/docs/deep/b.md", True)]
)
def test_what_lies_below_a_folder_that_is_meant_is_covered(path, covered):
    assert Spec.of("/root", ["docs/", "!old/"]).covers(f"/root/{path}") == covered
