"""Replace a small file so that a crash leaves the old one or the new one, never half of one; and make files that others cannot read."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def for_us_alone(path: str, flags: int) -> int:
    """For `open(opener=...)`: a file that is made now is ours alone, whatever the umask; one that is there stays as it is."""
    return os.open(path, flags, 0o600)


def replace_file(path: Path, content: bytes) -> None:
    """Write beside, sync, rename, sync the folder."""
    beside = path.with_name(path.name + ".new")
    with open(beside, "wb", opener=for_us_alone) as file:
        if path.exists():
            os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))  # as its owner wants it
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Make what a file holds, or which files a folder holds, survive a power loss."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
