"""Files that are to be kept as they are (`--keep-original`), on their way into the store. How they lie there: `index.originals`."""

from __future__ import annotations

from pathlib import Path

from index import originals
from index.originals import Packed


def packed(path: str, content_hash: str, name: str | None = None) -> Packed | str:
    """The bytes of a file whose hash is known, or why they cannot be kept; `name`: where `path` is not what it is called."""
    name = name or Path(path).name
    try:
        with Path(path).open("rb") as file:
            original = originals.pack(file, name)
    except OSError as error:
        return f"the original of {name} is not kept: {error.strerror}"
    if original.content_hash == content_hash and not original.is_too_large:
        return original
    original.compressed.close()
    why = "it is too large for the store" if original.is_too_large else "it has changed while it was being read"
    return f"the original of {name} is not kept: {why}"
