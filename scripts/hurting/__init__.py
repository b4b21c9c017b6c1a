"""The parts of `scripts/hurt`, each with a `main`. They share with the tests what makes a store ready and what looks at one (tests/crash_*.py)."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[2] / "tests")
if TESTS not in sys.path:
    sys.path.append(TESTS)
