"""`kb`, and `python -m kb`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line and exit with its code."""
    if os.environ.get("PYTHONPATH") and not sys.flags.ignore_environment:
        # `index` and `models` are common names: a folder of the user's on PYTHONPATH must not take their place.
        os.execv(sys.executable, [sys.executable, "-EP", "-m", "kb", *sys.argv[1:]])  # noqa: S606  our own arguments
    code = 130
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        from kb.cli.door import run

        code = run(sys.argv[1:])
        _be_deaf()
    except KeyboardInterrupt:  # while the first modules load, or when all is said: the door has heard those in between
        _be_deaf()
    sys.exit(code)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM is as Ctrl-C: whoever runs a command for a limited time (`timeout`, an agent, a service manager) sends it."""
    raise KeyboardInterrupt


def _be_deaf() -> None:
    """Python ends without handlers, so that a late signal would make another code of a command that is done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
