"""Who works beside a search is not on the core of whoever asked."""

from __future__ import annotations

import os

import pytest

from index import leading
from index.cores import CORES
from kb import retrieve
from models.session import on_first_core

pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="there is one core, or the system does not say which there are")


@pytest.mark.parametrize("pool", [leading._others, retrieve._beside])
def test_threads_beside_leave_the_first_core_to_whoever_asks(pool):
    """Also where they begin while that one is held there, which they would inherit."""
    pool.cache_clear()
    with on_first_core():
        beside = pool().submit(os.sched_getaffinity, 0).result()
        asking = os.sched_getaffinity(0)

    assert (asking, beside) == ({min(CORES)}, CORES - {min(CORES)})
    assert os.sched_getaffinity(0) == CORES
