"""Which core a thread is on that works beside the one who asked.

Left to itself, Linux wakes it on the core of whoever handed it the work, four times of five on the machine this was written on, and
there it waits until the other sleeps: two threads of 1 ms took 2.1 ms, and 1.2 with a core each. So whoever asks is held on the first
core (`models.session.on_first_core`), and the threads beside leave it.
"""

from __future__ import annotations

import os

CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
"""Of this process; none where the system does not say. A thread that is held somewhere would hand that on to what it begins."""


def leave_first_core() -> None:
    """Of this thread, where there is more than one. To be called as it begins."""
    if len(CORES) > 1:
        os.sched_setaffinity(0, CORES - {min(CORES)})
