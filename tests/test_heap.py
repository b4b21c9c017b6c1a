"""What is asked of the C library, seen in processes of their own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
import running

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


GIVEN_BACK = """
import re
from pathlib import Path
from index import heap
def own_mb():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
before = own_mb()
blocks = [b"x" * 10_000 for _ in range(10_000)]
del blocks[:-1]  # the last one is at the end of the heap
kept = own_mb()
heap.give_back()
print(kept - before, own_mb() - before)
"""

HEAPS = """
import ctypes, sys
from pathlib import Path
from threading import Barrier, Thread
from kb.cli import door
door.run(sys.argv[1:])
libc, all_begun = ctypes.CDLL(None), Barrier(4)
libc.fopen.restype = ctypes.c_void_p
def allocate():
    all_begun.wait()
    libc.malloc(1000)
    all_begun.wait()
threads = [Thread(target=allocate) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
file = ctypes.c_void_p(libc.fopen(b"heaps.xml", b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
print(Path("heaps.xml").read_text().count("<heap "))
"""

of_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked")


def asked(program, *arguments, **where):
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, **where
    )
    return done.stdout


@of_glibc
def test_what_was_freed_below_what_is_kept_goes_back_to_the_system():
    kept, then = map(float, asked(GIVEN_BACK).split())
    assert kept > 90
    assert then < 10


@of_glibc
@pytest.mark.parametrize(("arguments", "is_one"), [(["jobs", "list"], True), (["list"], False)])
def test_a_process_that_may_write_much_has_one_heap(arguments, is_one, tmp_path):
    count = int(asked(HEAPS, *arguments, cwd=tmp_path, env=running.environment(tmp_path / "store")).split()[-1])
    assert (count == 1) == is_one


@of_glibc
@pytest.mark.parametrize(("how", "has_to_ask"), [("let go", True), ("kept", False)])
def test_what_was_freed_is_there_for_the_next_request(how, has_to_ask):
    assert (int(asked(ASKED_AGAIN, how)) > 1000) == has_to_ask
