"""When a document was written: the date that it states itself, else its file's. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def modified_at(mtime_ns: int, metadata: Mapping[str, Any]) -> str:
    """UTC, ISO 8601."""
    return stated(metadata) or datetime.fromtimestamp(mtime_ns / 1e9, UTC).isoformat(timespec="seconds")


def stated(metadata: Mapping[str, Any]) -> str | None:
    """The date in the document itself. One in words ("last spring"), or outside the calendar, orders nothing: None."""
    try:
        moment = datetime.fromisoformat(str(metadata.get("date")))
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="seconds")
