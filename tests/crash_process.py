"""Processes that may be killed, each forked from one that only imports: they start in milliseconds and from the same state."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kb.cli.door import run

LOADED_ONCE = (
    "kb.across", "kb.cli.adding", "kb.cli.curating", "kb.cli.finding", "kb.cli.keeping", "kb.cli.moving", "kb.cli.queueing",
    "kb.cli.scrubbing", "kb.cli.standing", "kb.cli.syncing", "markdown_it", "numpy.random", "onnxruntime", "models.embedder", "models.checksum", "kb.add", "kb.cli.bars", "kb.cli.ingest", "kb.cli.render", "kb.cli.render_search", "kb.cli.snippet", "kb.compact",
    "kb.read.markdown", "kb.read.transcript", "kb.reindex", "kb.remove", "kb.restore", "kb.scrubbing", "kb.search", "kb.status",
    "kb.sync", "kb.worker", "yaml", "rich.progress",
)  # fmt: skip
"""Imported before the first fork: each child would do it again."""


def fresh(data: Path, trial: Path) -> Path:
    """`trial` as a copy of `data`."""
    shutil.rmtree(trial, ignore_errors=True)
    return Path(shutil.copytree(data, trial))


def in_child(work: Callable[[], Any], kill_after_s: float | None = None) -> Any:
    """What `work` returns in a process of its own, as JSON has it; None where that process was killed."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            with os.fdopen(writing, "w") as pipe:
                pipe.write(json.dumps(work()))
            os._exit(0)
        except BaseException:  # noqa: BLE001  nothing may return into what was forked
            traceback.print_exc()
        os._exit(1)
    os.close(writing)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("a process ended with an error of the test itself")
    return json.loads(answer) if answer else None


def command_in(data: Path, words: Sequence[str]) -> int:
    return answer_in(data, words)[0]


def answer_in(data: Path, words: Sequence[str]) -> tuple[int, str, str]:
    """The exit code, and what was said on standard output and error."""
    os.environ["KB_DATA_DIR"] = str(data)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(words))
        for said in (out, err):
            said.seek(0)
        return int(code), out.read(), err.read()
