"""`Speaker: what was said`: whether a line begins with a name, and what it says.

Knows no people: a name is up to four words, each capitalised, or a word for a role (`user`, `Q`).
"""

from __future__ import annotations

import re

import msgspec

from kb.read.transcript.turn import moment, role_of

STAMP = r"[\[(]?(?P<{0}>\d{{1,4}}[-/.:]\d{{1,2}}[-\d/.:,TZ ]*(?:[AaPp]\.?[Mm]\.?)?)[\])]?"
LABEL = re.compile(
    rf"^\s*(?:{STAMP.format('before')}\s*[-–]?\s*)?(?:\*\*|__)?"  # noqa: RUF001  some programs write this dash
    rf"(?P<name>[^\W\d_][\w.'’&-]*(?: [\w.'’&-]+){{0,3}})"  # noqa: RUF001  of names
    rf"\s*(?:{STAMP.format('after')})?\s*(?:\*\*|__)?:(?:\*\*|__)?(?:\s+(?P<text>.*))?$"
)
NOT_NAMES = frozenset(
    {
        *(
            "note",
            "notes",
            "todo",
            "fixme",
            "warning",
            "warnings",
            "error",
            "errors",
            "info",
            "debug",
            "trace",
            "critical",
        ),
        *(
            "fatal",
            "example",
            "examples",
            "summary",
            "date",
            "time",
            "subject",
            "from",
            "to",
            "cc",
            "re",
            "title",
            "location",
        ),
        *(
            "address",
            "phone",
            "email",
            "url",
            "http",
            "https",
            "file",
            "path",
            "name",
            "type",
            "version",
            "status",
            "result",
        ),
        *("attendees", "participants", "present", "agenda", "topic", "action", "actions"),
    }
)
"""Words that stand before a colon in notes, mails and logs."""


class Label(msgspec.Struct, frozen=True):
    name: str
    text: str
    at: str | None
    """UTC, where the line says a whole date."""


def label(line: str) -> Label | None:
    """The name that a line begins with, if it does. Only its first line break counts: what follows belongs to the text."""
    first, broken, rest = line.partition("\n")
    found = LABEL.match(first)
    if found is None or not _is_name(found["name"]):
        return None
    text = f"{found['text'] or ''}{broken}{rest}".strip()
    stamp = found["before"] or found["after"] or ""
    return Label(found["name"], text, moment(stamp.strip(" ,")))


def _is_name(name: str) -> bool:
    if role_of(name):
        return True
    words = name.split()
    capital = all(
        word[0].isupper() or word[0].isdigit() or word.lower() in {"de", "van", "von", "der"} for word in words
    )
    return capital and name.casefold() not in NOT_NAMES
