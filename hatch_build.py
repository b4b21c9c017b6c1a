"""Puts what is compiled into the wheel: the program `kb`, and the passes over many rows of a search.

kb/launcher.c or, where it cannot be compiled, the shell script kb/launcher.sh, which runs the same program in Python (kb/launch.py).
index/native.c, beside which numpy and numkong do the same. So only time is lost without a compiler.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

NO_PYTHON = 127
"""The exit code of kb/launcher.c where there is nothing that it could become."""


NATIVE = "libnative.so"
"""As index/native.py looks for it."""


class Compiled(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":  # a source distribution carries the source
            return
        self.folder = TemporaryDirectory()
        kb, sources = Path(self.folder.name, "kb"), Path(self.root, "kb")
        if compile_c(sources / "launcher.c", kb, f'-DKB_VERSION="{self.metadata.version}"'):
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"
        else:
            print("no C compiler here that works: kb is started by a shell script, which is slower", file=sys.stderr)
            shutil.copy(sources / "launcher.sh", kb)
        build_data["shared_scripts"][str(kb)] = "kb"
        index = Path(self.root, "index")
        native = Path(index if version == "editable" else self.folder.name, NATIVE)
        if compile_native(index / "native.c", native) and version != "editable":
            build_data["force_include"][str(native)] = f"index/{NATIVE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if self.target_name == "wheel":
            self.folder.cleanup()


WITHOUT_LIBC = "-DKB_BARE -static -no-pie -fno-pie -Wl,-e,kb_start -ffreestanding -fno-stack-protector -fno-tree-loop-distribute-patterns"
"""kb/bare.h says why, and what that asks of the compiler."""
WAYS = (*([WITHOUT_LIBC] if sys.platform == "linux" else []), "-static", "")
"""The fastest first: a program that begins before libc starts 0.5 ms sooner than one that holds it, that 0.2 ms sooner than one
that loads it. Not every machine can do each."""


def compile_c(source: Path, program: Path, *options: str) -> bool:
    """Compile one file with $CC, or else with what is on PATH, to a program that runs; whether that went well."""
    return any(
        _succeeds(*compiler, "-std=gnu99", "-O2", *way.split(), *options, "-o", str(program), str(source))
        and _runs(program)
        for compiler in _compilers()
        for way in WAYS
    )


def compile_native(source: Path, library: Path, *options: str) -> bool:
    """Compile index/native.c, for Linux on x86-64: it says for which processors of these; whether that went well."""
    library.unlink(missing_ok=True)  # of another time
    return (sys.platform, platform.machine()) == ("linux", "x86_64") and any(
        _succeeds(*compiler, "-std=gnu99", "-O3", "-shared", "-fPIC", *options, "-o", str(library), str(source))
        for compiler in _compilers()
    )


def _compilers() -> list[list[str]]:
    named = os.environ.get("CC")
    return [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]


def _succeeds(*command: str) -> bool:
    if not shutil.which(command[0]):
        return False
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _runs(program: Path) -> bool:
    """Whether it looks for a daemon, then for Python, and says in its own words that there is neither."""
    nowhere = {"HOME": str(program), "PATH": str(program)}
    done = subprocess.run([program, "search", "x"], check=False, capture_output=True, env=nowhere, text=True)
    return done.returncode == NO_PYTHON and "no python3 beside" in done.stderr


def platform_tag() -> str:
    """Of the machine that compiles: a wheel for many Linuxes is a promise that only its builder can make."""
    return next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
