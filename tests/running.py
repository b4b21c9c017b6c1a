"""`kb` run in a folder, its store in `folder/store`: as a process of its own, or through the same door in this one.

A process costs some 0.4 s to start. What a command does is tested here, how it starts and ends as a process.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import pytest

from kb.cli import door


class Ran(NamedTuple):
    """How a `kb` process ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self):
        """What it printed on standard output, which must be one JSON value and nothing else."""
        return json.loads(self.stdout)


def environment(data_dir: Path, **variables: object) -> dict[str, str]:
    """This process's environment without the user's own KB_* settings, and no daemon unless the test is about it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    return {
        **kept,
        "KB_DATA_DIR": str(data_dir),
        "KB_DAEMON": "off",
        **{name: str(value) for name, value in variables.items()},
    }


def process(folder: Path, *arguments: object, stdin: bytes = b"", **variables: object) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "kb", *map(str, arguments)],
        input=stdin,
        env=environment(folder / "store", **variables),
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def here(folder: Path, *arguments: object, stdin: bytes = b"", **variables: object) -> Ran:
    """Standard output and error are no terminals."""
    streams = [io.TextIOWrapper(io.BytesIO(content), encoding="utf-8") for content in (stdin, b"", b"")]
    wanted = environment(folder / "store", **variables)
    with pytest.MonkeyPatch.context() as surroundings, chdir(folder):
        for name in os.environ.keys() - wanted.keys():
            surroundings.delenv(name)
        for name, value in wanted.items():
            surroundings.setenv(name, value)
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            surroundings.setattr(sys, name, stream)
        code = door.run([str(argument) for argument in arguments])
    out, err = (stream.buffer.getvalue().decode() for stream in map(flushed, streams[1:]))
    return Ran(int(code), out, err)


def flushed(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    stream.flush()
    return stream


def write(folder: Path, files: dict[str, str]) -> Path:
    """Files in `folder`, which is made; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
