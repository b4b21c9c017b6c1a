"""Files that Linux keeps in pages of 2 MB: asked of the kernel, where kernel and file system can."""

from __future__ import annotations

import mmap
import os
import re
import sys

import numpy as np
import pytest

from index import columns, hugepages
from index.columns import CODES
from index.hugepages import HUGE_PAGE, mapped

PAGES = 4
SIZE = PAGES * HUGE_PAGE


def huge_bytes(content, path):
    """How much of a mapping is mapped in huge pages, once all of it was read."""
    assert sum(content[first] for first in range(0, len(content), mmap.PAGESIZE)) >= 0
    found, ours = 0, False
    for line in open("/proc/self/smaps", encoding="utf-8"):  # noqa: PTH123, SIM115
        if re.match("^[0-9a-f]+-", line):
            ours = line.rstrip().endswith(str(path))
        elif ours and line.startswith("FilePmdMapped:"):
            found += int(line.split()[1]) * 1024
    return found


def at_once(folder):
    """How much of a file that was written at once is mapped in huge pages."""
    path = folder / "at once"
    path.unlink(missing_ok=True)
    path.write_bytes(b"x" * SIZE)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return huge_bytes(content, path)


@pytest.fixture
def folder(tmp_path):
    """Where the kernel maps a file that was written at once in huge pages."""
    if sys.platform != "linux":
        pytest.skip("only Linux is asked for huge pages of a file")
    if at_once(tmp_path) < SIZE:
        pytest.skip("this kernel, file system or memory has no huge pages for files")
    return tmp_path


def expect_huge(found, expected, folder):
    """Other programs may have taken the last whole pages of memory since: then what is written at once gets none either."""
    if found < expected and at_once(folder) < SIZE:
        pytest.skip("memory has no huge pages left")
    assert found == expected


def test_columns_that_are_written_in_parts_of_any_size_are_in_huge_pages(folder):
    """But for the page that another visit had begun."""
    columns.write(folder, 1, [CODES], [[np.ones((1000, 64), np.int8)]])
    rows = (SIZE - 64_000) // 64
    columns.write(folder, 1, [CODES], ([part] for part in np.array_split(np.ones((rows, 64), np.int8), 11)))
    content = columns.map_column(CODES, folder, 1, (rows + 1000, 64))
    expect_huge(huge_bytes(memoryview(content).cast("B"), CODES.path(folder, 1)), SIZE - HUGE_PAGE, folder)


def test_what_was_written_bit_by_bit_is_in_huge_pages_when_it_is_read_from_the_disk(folder):
    path = folder / "bit by bit"
    with path.open("wb", 4096) as file:
        for _ in range(SIZE // 4096):
            file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with mapped(path, SIZE) as content:
        expect_huge(huge_bytes(content, path), SIZE, folder)


def test_a_file_that_is_large_beside_the_memory_is_read_as_the_system_likes(folder, monkeypatch):
    """Else each row that is looked at would be a read of 2 MB."""
    path = folder / "file"
    path.write_bytes(bytes(SIZE))
    with mapped(path, SIZE):
        assert is_advised(path)
    monkeypatch.setattr(hugepages, "LITTLE", hugepages._memory())  # no file is little any more
    with mapped(path, SIZE):
        assert not is_advised(path)


def is_advised(path):
    """Whether the kernel knows that huge pages are wanted for the mapping of this file."""
    ours = False
    for line in open("/proc/self/smaps", encoding="utf-8"):  # noqa: PTH123, SIM115
        if re.match("^[0-9a-f]+-", line):
            ours = line.rstrip().endswith(str(path))
        elif ours and line.startswith("VmFlags:"):
            return "hg" in line.split()
    raise AssertionError(f"{path} is not mapped")


def test_the_bytes_are_those_that_were_given_whatever_the_parts(tmp_path):
    whole = np.random.default_rng(1).integers(-128, 128, (70_001, 96)).astype(np.int8)
    for first, end in ((0, 1), (1, 30_000), (30_000, 30_000), (30_000, 70_001)):
        columns.write(tmp_path, 1, [CODES], [[whole[first:end]]])
    assert (columns.map_column(CODES, tmp_path, 1, whole.shape) == whole).all()
    assert CODES.path(tmp_path, 1).stat().st_size == whole.size
