"""Files that may not be opened, also where the tests run as root: for a while this thread has no right to open what it may not."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

VERSION_3 = 0x20080522
DAC_OVERRIDE, DAC_READ_SEARCH = 1 << 1, 1 << 2
"""linux/capability.h"""


class Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def permissions_hold() -> Iterator[None]:
    if os.geteuid() != 0 or sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = Header(VERSION_3, 0), (Data * 2)()
    assert libc.capget(ctypes.byref(header), data) == 0
    before = data[0].effective
    data[0].effective = before & ~(DAC_OVERRIDE | DAC_READ_SEARCH)
    assert libc.capset(ctypes.byref(header), data) == 0
    try:
        yield
    finally:
        data[0].effective = before
        assert libc.capset(ctypes.byref(header), data) == 0
