"""A command killed at any step leaves a store that is whole, and goes on when it is given again."""

from __future__ import annotations

import json
import math
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


MOMENTS = 6
"""Of each command, in some seconds; `crash_driver` takes any number."""
SOME_STEPS = 8
"""Of each command, the first and the last among them. It has up to 80, each killed in the heavy run: three minutes of work for all."""


@pytest.fixture
def quick_folder(tmp_path):
    if not os.access(MEMORY_DISK, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=MEMORY_DISK))
    yield folder
    shutil.rmtree(folder)


def killed(scenario, folder, *points):
    """What `crash_driver` prints."""
    done = subprocess.run(
        [sys.executable, DRIVER, scenario, folder, *map(str, points)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # no threads in the process that forks
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    print(f"{scenario}: killed {result['killed']} times of {result['tried']}")
    return result


@pytest.mark.parametrize("tried", [SOME_STEPS, pytest.param(0, id="every", marks=pytest.mark.heavy)])
@pytest.mark.parametrize(
    ("scenario", "fewest_steps"),
    [
        ("first-add", 25),
        ("add", 40),
        ("append", 15),
        ("remove", 10),
        ("compact", 15),
        ("compact-many", 15),
        ("add-to-many", 20),
        ("reindex", 30),
        ("windows", 30),
        ("add-with-windows", 15),
        ("restore", 15),
        ("heal", 12),
    ],
)
def test_a_command_killed_at_any_step_leaves_a_whole_store_and_goes_on(scenario, fewest_steps, tried, quick_folder):
    """After each SIGKILL: documents whole, answers those of a rebuilt store, doctor content, the same command completes."""
    result = killed(scenario, quick_folder, "steps", tried)
    assert result["faults"] == []
    assert result["steps"] >= fewest_steps
    assert result["killed"] == result["tried"] == min(tried or math.inf, result["steps"])
    for number in ("before_edit", "after_edit") if not tried else ("before_edit",):
        assert bool(result[number]) is (scenario == "reindex")  # between the switch of models and its end


@pytest.mark.parametrize("scenario", ["add", "remove", "compact", "reindex", "restore"])
def test_a_command_killed_at_any_moment_leaves_a_whole_store_and_goes_on(scenario, quick_folder):
    """The same, within calls of SQLite and tantivy too."""
    result = killed(scenario, quick_folder, "moments", MOMENTS)
    assert result["faults"] == []
    assert result["killed"] > 0
