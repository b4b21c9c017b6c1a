"""What a person or a program says to narrow a question, as the values that search, list and add work with.

The command line and `kb.knowledgebase` both ask through this, so that the same words mean the same. Reads nothing but whether a
path is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from index.filters import Filter
from kb.caller import caller
from kb.detect import supported_types
from kb.errors import BadRequest

if TYPE_CHECKING:
    from kb.retrieve import Mode

MODES: tuple[Mode, ...] = ("hybrid", "keyword", "semantic")


def document_filter(
    tags: Sequence[str] | None,
    types: Sequence[str] | None,
    path: str | None,
    since: str | None,
    before: str | None,
    metas: Iterable[tuple[str, str]] = (),
    roles: Sequence[str] | None = None,
) -> Filter:
    """Raises BadRequest for a type or a date that cannot be."""
    known = [*supported_types(), "note"]
    for name in types or ():
        if name not in known:
            raise BadRequest(f"unknown type {name!r}", f"types are {', '.join(sorted(known))}")
    return Filter(
        tags=tuple(tags or ()), types=tuple(types or ()), path_glob=path_glob(path) if path else None,
        since=_day("since", since), before=_day("before", before), meta=tuple(metas), roles=tuple(roles or ()),
    )  # fmt: skip


def path_glob(path: str) -> str:
    """What a person writes as a path pattern, as SQLite's GLOB over absolute paths.

    A folder means all that is below it; a relative pattern may match anywhere below the root.
    """
    absolute = caller().absolute(path)
    if Path(absolute).exists():
        literal = re.sub(r"[*?[]", r"[\g<0>]", absolute)
        return f"{literal.rstrip('/')}/*" if Path(absolute).is_dir() else literal
    if path.startswith(("/", "~", "./", "../")):
        return absolute
    if any(mark in path for mark in "*?["):
        return f"*{path}" if path.startswith("*") else f"*/{path}"
    return f"*{path}*"


def typed(query: str, mode: Mode) -> tuple[str, Mode]:
    """What follows `keyword:`, `semantic:` or `hybrid:` and that mode; without one of them the query as it is."""
    name, colon, rest = query.partition(":")
    said = next((one for one in MODES if colon and one == name), None)
    return (query, mode) if said is None else (rest.strip(), said)


def _day(name: str, text: str | None) -> str | None:
    """A day, a month, a year or a moment as ISO 8601 in UTC, which sorts as the store's dates do."""
    if text is None:
        return None
    padded = {4: f"{text}-01-01", 7: f"{text}-01"}.get(len(text), text)
    try:
        moment = datetime.fromisoformat(padded)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest(f"{name}: {text!r} is not a date", "say it as 2026-11-29") from None
    return moment.isoformat(timespec="seconds")
