"""Four more kinds of document, whose readers hang, die, chatter and dawdle: for every Python that has this folder on PYTHONPATH."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kb.read import kinds

kinds.KINDS = (
    *kinds.KINDS,
    kinds.Kind("hanging", "reader_that_hangs", (".hang",)),
    kinds.Kind("dying", "reader_that_dies", (".die",)),
    kinds.Kind("chattering", "reader_that_chatters", (".chatter",)),
    kinds.Kind("dawdling", "reader_that_dawdles", (".dawdle",)),
)
