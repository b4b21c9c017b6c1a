"""How far a projection has caught up with `kb.db`: one small file in the projection's folder, replaced atomically.

The two numbers are opaque here. What they mean, and whether the database remembers them, is `index.database`'s business.
On disk: `watermark.json`, `{"seq": 12, "token": 345}`. A file that is absent or unreadable is the beginning of history, so
that the projection is built anew.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from index.atomic import replace_file

FILE_NAME = "watermark.json"


class Watermark(msgspec.Struct, frozen=True):
    """The last transaction a projection has seen."""

    seq: int = 0
    token: int = 0


BEGINNING = Watermark()


def read(folder: Path) -> Watermark:
    """The projection's watermark; `BEGINNING` where there is none that can be read."""
    try:
        return msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=Watermark)
    except (OSError, msgspec.DecodeError):
        return BEGINNING


def write(folder: Path, watermark: Watermark) -> None:
    """Replace the watermark, only after what it speaks of is safe on disk."""
    replace_file(folder / FILE_NAME, msgspec.json.encode(watermark))
