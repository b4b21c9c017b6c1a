"""`kb`, and `python -m kb`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if os.environ.get("PYTHONPATH") and not sys.flags.ignore_environment:
        # `index` and `models` are common names: a folder of the user's on PYTHONPATH must not take their place.
        os.execv(sys.executable, [sys.executable, "-EP", "-m", "kb", *sys.argv[1:]])  # noqa: S606  our own arguments
    code = 130
    try:
        from kb.cli.door import run

        code = run(sys.argv[1:])
        _be_deaf()
    except KeyboardInterrupt:  # while the first modules load, or when all is said: the door has heard those in between
        _be_deaf()
    sys.exit(code)


def _be_deaf() -> None:
    """Python ends without its own handler, so that a late Ctrl-C would make another code of a command that is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
