"""What a process that answers many requests asks of the C library: to keep what one request gave back for the next.

glibc gives free memory at the end of its heap back to the system, and takes large blocks from there, with limits that it raises up to these as
large blocks are freed. Seven words of a query that no chunk holds take 7 MB for automatons, each time anew: 20 ms, of it 15 to get
the memory again page by page. Source: mallopt(3).
"""

from __future__ import annotations

from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_BLOCK = 32 * 1024 * 1024
"""As far as glibc itself raises the limit for blocks, on 64 bits. It keeps twice as much."""


def keep_freed() -> None:
    """In this process, from now on. Does nothing where the C library is another one."""
    import ctypes  # a process for one search does without

    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
        mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_BLOCK)
