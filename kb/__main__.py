"""`kb`, and `python -m kb`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if os.environ.get("PYTHONPATH") and not sys.flags.ignore_environment:
        # `index` and `models` are common names: a folder of the user's on PYTHONPATH must not take their place.
        os.execv(sys.executable, [sys.executable, "-EP", "-m", "kb", *sys.argv[1:]])  # noqa: S606  our own arguments
    try:
        from kb.cli.door import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:  # while the first modules were loading; later the door says it
        sys.exit(130)


if __name__ == "__main__":
    main()
