"""Processes that read: nothing is heard of them, whatever goes wrong in them and however early."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os
from kb.spawning import Spawning

class Gone:
    def __reduce__(self):
        return os.stat, ("/nowhere/at/all",)

if __name__ == "__main__":
    process = Spawning().Process(target={target}, args=({argument},))
    process.start()
    process.join()
    print("exit code", process.exitcode)
"""


@pytest.mark.parametrize(
    ("target", "argument", "code"),
    [
        ("print", '"what a library says"', 0),
        ("int", '"no number"', 1),
        ("print", "Gone()", 1),  # as of a lock that was there when the process began to start
    ],
)
def test_nothing_is_heard_of_a_worker_but_its_exit_code(tmp_path, target, argument, code):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(target=target, argument=argument), encoding="utf-8")
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)

    assert (ran.stdout, ran.stderr) == (f"exit code {code}\n", "")
