"""The scripts and lock files as text: nothing is installed here (that is what running the scripts is for)."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMANDS = ("demo", "test", "check", "install", "lock", "docs")
LOCKS = ("core", "build", "test", "check")
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==[^ ]+( ;[^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+$", re.MULTILINE)
"""One requirement: name, exact version, perhaps a marker, hashes."""
ELSEWHERE = re.compile(
    "|".join(["/work/" + ".library", "farm" + "-", "pypi" + r"\.", "python" + "hosted", "/opt/" + "pypi"])
)
"""Addresses of package registries, and the places where this was made, put together so that this file has none."""


def lock(part):
    return (ROOT / "lock" / f"{part}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*(f"scripts/{name}" for name in COMMANDS), ".ci/run"])
def test_a_script_can_be_run_and_bash_understands_it(name):
    assert os.access(ROOT / name, os.X_OK)
    assert subprocess.run(["bash", "-n", ROOT / name], check=False).returncode == 0


@pytest.mark.parametrize("name", [*(f"scripts/{name}" for name in COMMANDS), ".ci/run"])
def test_a_script_stops_at_the_first_failure(name):
    assert "\nset -euo pipefail\n" in (ROOT / name).read_text(encoding="utf-8")


def test_the_types_of_every_program_are_checked():
    """A folder stands for its modules alone: a program without a suffix has to be named."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    plain = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix]
    programs = {f"scripts/{path.name}" for path in plain if b"python" in path.read_bytes().partition(b"\n")[0]}

    assert programs
    assert programs | {"scripts"} <= set(settings["files"])


def test_a_python_that_is_too_old_is_refused_with_what_to_do(tmp_path):
    """A stand-in says it is 3.9; nothing is made."""
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    copy = tmp_path / "scripts"
    copy.mkdir()
    (copy / "install").write_bytes((ROOT / "scripts/install").read_bytes())

    done = subprocess.run(
        ["bash", copy / "install", "core"],
        env={**os.environ, "PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "Python 3.9.2" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("part", LOCKS)
def test_everything_locked_has_a_version_and_hashes_and_nothing_else_is_said(part):
    rest = PIN.sub("", lock(part))

    assert PIN.search(lock(part))
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []


@pytest.mark.parametrize("part", LOCKS)
def test_a_lock_file_holds_no_address(part):
    assert "://" not in lock(part)


def test_every_dependency_is_locked():
    """When this fails: scripts/lock"""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)
    extras = project["project"]["optional-dependencies"]
    wanted = {
        "core": project["project"]["dependencies"],
        "build": project["build-system"]["requires"],
        "test": extras["test"],
        "check": extras["check"],
    }
    for part, requirements in wanted.items():
        names = {re.split(r"[\[<>=!~ ]", requirement)[0].lower() for requirement in requirements}
        assert names - {match[1] for match in PIN.finditer(lock(part))} == set()


def test_the_lock_files_agree_with_each_other():
    """They are installed one after the other: a package in two of them has one version on one Python."""
    versions = {}
    for part in LOCKS:
        for line in re.findall(r"^[a-z0-9].*==.*$", lock(part), re.MULTILINE):
            name, _, version = line.rstrip(" \\").partition(" ;")[0].partition("==")
            versions.setdefault(name, {}).setdefault(part, set()).add(version)

    assert [
        name
        for name, parts in versions.items()
        if not all(each == set.union(*parts.values()) for each in parts.values())
    ] == []


def test_torch_is_not_locked():
    assert not re.search(r"^torch|^nvidia", "".join(map(lock, LOCKS)), re.MULTILINE)


def test_no_file_names_a_package_registry_or_the_place_it_was_made():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]

    found = [path.name for path in files if ELSEWHERE.search(path.read_bytes().decode("utf-8", "replace"))]

    assert found == []
