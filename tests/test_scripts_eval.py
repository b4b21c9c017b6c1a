"""scripts/eval from end to end, on the smallest of the real collections."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "ir" / "qmd_eval"


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no collection at {DATA}")
def test_a_collection_is_measured_with_a_setting_of_ones_own(tmp_path):
    """Of six notes the right one is first for nearly every question, by words and by meaning; no bound is missed."""
    ran = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "eval"), "qmd_eval", "--set", "search.fusion=rrf"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    name, *figures = ran.stdout.splitlines()[-1].split()

    assert (ran.returncode, name) == (0, "qmd_eval"), ran.stderr
    assert min(map(float, figures)) > 0.9
