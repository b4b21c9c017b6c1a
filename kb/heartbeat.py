"""What a watcher (`kb sync --watch`) leaves for others to see: that it lives, and when it last looked.

In the data directory's `run/`: `watch.lock`, held as long as it lives, with its pid; and `watch.json`, replaced every few seconds. One that
was told to end takes the file with it; one that died leaves it, and no lock. Nothing is lost with either.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from index.lock import is_locked
from kb.wire import WatchStatus

LOCK = "watch.lock"
BEAT = "watch.json"


def write(data_dir: Path, status: WatchStatus) -> None:
    """Replaces it, so that no reader sees half of it."""
    path = data_dir / "run" / BEAT
    beside = path.with_suffix(".new")
    beside.write_bytes(msgspec.json.encode(status))
    beside.replace(path)


def end(data_dir: Path) -> None:
    """The watcher was told to end: there is nothing to be missed."""
    (data_dir / "run" / BEAT).unlink(missing_ok=True)


def read(data_dir: Path) -> WatchStatus | None:
    """None where nobody watches, or the last one was told to end; `running` is False where it died."""
    try:
        said = msgspec.json.decode((data_dir / "run" / BEAT).read_bytes(), type=WatchStatus)
    except (OSError, msgspec.DecodeError):
        return None
    return msgspec.structs.replace(said, running=is_locked(data_dir / "run" / LOCK))
