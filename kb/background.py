"""A worker of the queue that is left behind, so that `kb add --background` need not wait for its job.

It is `kb jobs run --until-empty` as a process that no terminal ends, in the folder and with the environment of whoever submitted the
job. What it says is in `run/jobs.log`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import sleep

from index.lock import POLL_S
from kb import jobanswers
from kb.caller import caller

LOG = "jobs.log"
LARGEST_LOG_BYTES = 1_000_000


def leave_worker(data_dir: Path, env_file: str | None) -> str:
    """Start one unless there is one; returns why that cannot be, or nothing."""
    if is_worked(data_dir):
        return ""
    try:
        _start(data_dir, env_file)
    except OSError as error:
        return f"no worker could be started ({error}): kb jobs run does the job"
    return ""


def is_worked(data_dir: Path) -> bool:
    """Asked twice: whoever asks holds the lock for an instant."""
    if jobanswers.worker(data_dir) is None:
        return False
    sleep(POLL_S)
    return jobanswers.worker(data_dir) is not None


def _start(data_dir: Path, env_file: str | None) -> None:
    folder = data_dir / "run"
    folder.mkdir(mode=0o700, exist_ok=True)
    log = folder / LOG
    is_long = log.exists() and log.stat().st_size > LARGEST_LOG_BYTES
    keys = ["--env-file", caller().absolute(env_file)] if env_file else []
    with log.open("wb" if is_long else "ab") as said:
        log.chmod(0o600)
        process = subprocess.Popen(
            [sys.executable, "-I" if sys.flags.isolated else "-EP", "-m", "kb", "jobs", "run", "--until-empty", *keys],
            env={**caller().environ, "KB_DATA_DIR": str(data_dir)},
            cwd=caller().folder or None,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    process.returncode = 0  # nobody waits for it
