"""`kb` as a real process for fixtures that outlive one test: a store made once, asked many times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import Ran, environment


def run(folder: Path, *arguments: object, stdin: bytes = b"", **variables: object) -> Ran:
    """Run `kb` in `folder`, its store in `folder/store`."""
    done = subprocess.run(
        [sys.executable, "-m", "kb", *map(str, arguments)],
        input=stdin,
        env=environment(folder / "store", **variables),
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def write(folder: Path, **texts: str) -> Path:
    """Markdown files, `name="text"` each, in `folder`; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
    return folder
