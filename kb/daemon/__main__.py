"""`python -m kb.daemon`: become the daemon of KB_DATA_DIR, unless it has one. Started by `kb.standby`."""

from __future__ import annotations

import os

MOST_FILES = 4096


def main() -> None:
    # Nothing of whoever searched first may be held: a pipe that stays open hangs its reader, a folder cannot be unmounted.
    os.closerange(3, MOST_FILES)
    os.setsid()
    os.chdir("/")
    # numpy's own threads would take the cores from the model's.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

    from kb.daemon.server import run

    run()


if __name__ == "__main__":
    main()
