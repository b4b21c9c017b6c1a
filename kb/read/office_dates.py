"""When an office file says it was made and last changed: the dates of its core properties, in UTC.

From the XML and not through python-docx, python-pptx or openpyxl, which say the present moment where a file says nothing. Does not judge
whether a date can be (`kb.dating`).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

RELATIONS = "_rels/.rels"
CORE_PROPERTIES = "/metadata/core-properties"
"""The end of the relationship's type; its beginning differs by the program that wrote it."""
TERMS = "{http://purl.org/dc/terms/}"
NAMES = ("created", "modified")
OF_TEMPLATES = frozenset(
    {"2013-12-23T23:15:00+00:00", "2013-01-27T09:14:16+00:00", "2013-01-27T09:15:58+00:00"}
)  # python-docx 1.2 and python-pptx 1.0: what their own templates say, and so every file in which nobody said another


def stated_dates(archive: zipfile.ZipFile) -> dict[str, str]:
    """`created` and `modified`, those that it has, ISO 8601; one that was never changed was last changed when it was made."""
    found = {name: date for name, date in _dates(archive) if date not in OF_TEMPLATES}
    return {"modified": found["created"], **found} if "created" in found else found


def _dates(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    root = _core_properties(archive)
    for name in NAMES:
        text = "" if root is None else (root.findtext(f"{TERMS}{name}") or "").strip()
        try:
            moment = datetime.fromisoformat(text)
            utc = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):  # none, or no date
            continue
        yield name, utc.isoformat(timespec="seconds")


def _core_properties(archive: zipfile.ZipFile) -> Any:
    """The root of their XML; None where there are none."""
    relations = _parsed(archive, RELATIONS)
    for relation in () if relations is None else relations:
        if str(relation.get("Type", "")).endswith(CORE_PROPERTIES):
            return _parsed(archive, relation.get("Target", "").lstrip("/"))
    return None


def _parsed(archive: zipfile.ZipFile, name: str) -> Any:
    from lxml import etree

    if name not in archive.namelist():
        return None
    return etree.fromstring(archive.read(name), etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
