"""Files in pages of 2 MB, where the system can: whoever reads many rows of a mapped file is then not held up at each 4 KB of it.

Linux keeps what was read or written at once in one piece, if the file system can (ext4 since 6.16, XFS since 5.18), and maps a whole piece of 2 MB as
one page. So a file is mapped with the advice to read such pieces, and written in them. What was appended bit by bit stays in small
pages until the system reads it again. Nothing but time depends on it. Source: Documentation/admin-guide/mm/transhuge.rst, and
`filemap_map_pmd` in mm/filemap.c.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

HUGE_PAGE = 2 * 1024 * 1024
"""Bytes, on x86-64 and most of arm64."""
LITTLE = 4
"""A file is mapped so where memory holds this many of it: a larger one would be read 2 MB at a time for each of its rows."""


def mapped(path: Path, size: int) -> mmap.mmap:
    """The first `size` bytes, to be read. Raises OSError, and ValueError where the file is shorter."""
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_HUGEPAGE") and size * LITTLE <= _memory():
        with suppress(OSError):  # a kernel that was built without
            content.madvise(mmap.MADV_HUGEPAGE)
    return content


def append(file: BinaryIO, content: memoryview) -> None:
    """Write at the end of `file`, which was opened with a buffer of HUGE_PAGE: each page of it by one write."""
    while content:
        piece = content[: HUGE_PAGE - file.tell() % HUGE_PAGE]
        file.write(piece)
        if file.tell() % HUGE_PAGE == 0:
            file.flush()
        content = content[len(piece) :]


def _memory() -> int:
    """Bytes, of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
