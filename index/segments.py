"""The files of the lexical index, as tantivy leaves them: which belong to its last commit, and which to nobody.

Not here: what is in them (`index.lexical`).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

META = "meta.json"
SEGMENT_ID_DIGITS = 32


def drop_leftovers(folder: Path) -> None:
    """What tantivy was about to rename when it was killed, and segments that it had not committed. The caller holds the writer lock.

    tantivy itself removes what its `.managed.json` names; after a power loss that may be an older list.
    """
    current = set(segment_files(folder))
    unused = {
        path for path in folder.glob("[0-9a-f]*.*") if len(path.name.partition(".")[0]) == SEGMENT_ID_DIGITS
    } - current
    for left in (*folder.glob(".tmp*"), *(unused if current else ())):
        left.unlink(missing_ok=True)


def segment_files(folder: Path) -> list[Path]:
    """Those that belong to the last commit, as tantivy's `meta.json` has them (`IndexMeta`, 0.27); none where that cannot be read."""
    try:
        segments = msgspec.json.decode((folder / META).read_bytes())["segments"]
        names = {segment["segment_id"].replace("-", ""): segment["deletes"] for segment in segments}
        current = {f"{name}.{deletes['opstamp']}.del" for name, deletes in names.items() if deletes}
    except (OSError, msgspec.DecodeError, TypeError, KeyError):
        return []
    there = (path for name in names for path in folder.glob(f"{name}.*"))
    return [path for path in there if path.suffix != ".del" or path.name in current]
