"""`kb` with three more kinds of document, whose readers hang, die and chatter. Run as a file: worker processes import it too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kb.read import kinds

kinds.KINDS = (
    *kinds.KINDS,
    kinds.Kind("hanging", "reader_that_hangs", (".hang",)),
    kinds.Kind("dying", "reader_that_dies", (".die",)),
    kinds.Kind("chattering", "reader_that_chatters", (".chatter",)),
)

if __name__ == "__main__":
    from kb.cli.door import run

    sys.exit(run(sys.argv[1:]))
