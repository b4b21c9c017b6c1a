"""When a document was written: the date that it states itself, else its file's. Pure, but for the clock.

`date` is what a person wrote, in front matter, and holds whatever it is. `modified` is what a program wrote into an office file, a PDF, a page or a
book, or a person; it holds where it can be. A copied or downloaded file is as old as its text then, not as its copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
"""Programs write 1601, 1904, 1970 and the like where they know no date; a zip archive knows none before this one."""


def modified_at(mtime_ns: int, metadata: Mapping[str, Any]) -> str:
    """UTC, ISO 8601."""
    return stated(metadata) or datetime.fromtimestamp(mtime_ns / 1e9, UTC).isoformat(timespec="seconds")


def stated(metadata: Mapping[str, Any]) -> str | None:
    """The date in the document itself. One in words ("last spring"), or outside the calendar, orders nothing: None."""
    moment = _moment(metadata.get("date"))
    if moment is None:
        changed = _moment(metadata.get("modified"))
        moment = changed if changed and EARLIEST <= changed <= datetime.now(UTC) else None
    return None if moment is None else moment.isoformat(timespec="seconds")


def _moment(said: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(said))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
