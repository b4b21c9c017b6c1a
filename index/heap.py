"""What is asked of the C library: to keep what is free where many requests are answered, to give it back after a write, to have one heap.

glibc gives free memory at the end of its heap back to the system, and takes large blocks from there, with limits that it raises up to these as
large blocks are freed. Seven words of a query that no chunk holds take 7 MB for automatons, each time anew: 20 ms, of it 15 to get
the memory again page by page. It also gives threads heaps of their own, and keeps what is free in each: tantivy writes and merges in threads
that come and go, and of 320 MB that a writer had 250 were free; with one heap it had 190. Sources: mallopt(3), malloc_trim(3).
"""

from __future__ import annotations

from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGEST_BLOCK = 32 * 1024 * 1024
"""As far as glibc itself raises the limit for blocks, on 64 bits. It keeps twice as much."""


def keep_freed() -> None:
    """In this process, from now on. As the others here it does nothing where the C library is another one."""
    import ctypes  # a process for one search does without

    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
        mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_BLOCK)


def share_one() -> None:
    """One heap for all threads that this process begins from now on. For a process that writes much and is nobody else's."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def give_back() -> None:
    """What is free now, in all heaps."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
