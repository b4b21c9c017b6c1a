"""A command killed at any step leaves a store that is whole, and goes on when it is given again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("crash_driver.py")
MEMORY_DISK = Path("/dev/shm")
"""A killed process loses nothing that it wrote, synced or not, so the disk need not be a slow one."""


@pytest.fixture
def quick_folder(tmp_path):
    if not os.access(MEMORY_DISK, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=MEMORY_DISK))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("scenario", "fewest_steps"),
    [("first-add", 25), ("add", 40), ("remove", 10), ("compact", 15), ("reindex", 30), ("heal", 12)],
)
def test_a_command_killed_at_any_step_leaves_a_whole_store_and_goes_on(scenario, fewest_steps, quick_folder):
    """After each SIGKILL: documents whole, answers those of a rebuilt store, doctor content, the same command completes."""
    done = subprocess.run(
        [sys.executable, DRIVER, scenario, quick_folder],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # no threads in the process that forks
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    print(f"{scenario}: killed at {result['killed']} steps among {result['calls']} calls")
    assert result["faults"] == []
    assert result["killed"] == result["steps"] >= fewest_steps
