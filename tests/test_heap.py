"""Memory that one request gave back and the next one takes: asked of a process of its own, by the pages that the system had to give."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

ASKED_AGAIN = """
import resource, sys
from pathlib import Path
from index.kept import keep_open
if "kept" in sys.argv:
    keep_open(Path("nowhere"))
pages = []
for _ in range(4):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [bytearray(b"x") * 500_000 for _ in range(16)]
    del blocks
    pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(pages[-1])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked to keep what was freed")
@pytest.mark.parametrize(("how", "has_to_ask"), [("let go", True), ("kept", False)])
def test_what_was_freed_is_there_for_the_next_request(how, has_to_ask):
    done = subprocess.run([sys.executable, "-c", ASKED_AGAIN, how], capture_output=True, text=True, check=True)
    assert (int(done.stdout) > 1000) == has_to_ask
