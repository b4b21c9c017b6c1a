"""What a PDF holds beside its pages' text: filled-in fields, comments, attached files, the facts about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

from kb.read.line import Line
from kb.read.pdf.page import PageText
from kb.read.pdf.style import HEADING_SIZE, style_of

FACTS = ("author", "subject", "keywords")
PLACEHOLDER = re.compile(
    r"^\W*(untitled|anonymous|unspecified|none|title|(document|slide|sheet) ?\d*)?\W*$", re.IGNORECASE
)
FILE_NAME = re.compile(
    r"^\S+\.\w{1,5}$|^microsoft \w+ - |\.(docx?|pptx?|xlsx?|odt|indd|qxd|rtf|pdf|html?)$", re.IGNORECASE
)
DATES = {"created": "creationDate", "modified": "modDate"}
DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)?(\d\d)?(?:(Z|[+-])(?:(\d\d)'?(\d\d)?'?)?)?)?", re.ASCII)
"""ISO 32000-1, 7.9.4: what is missing at the end is the earliest, and without a zone it is nobody knows where."""
UNSET = frozenset({"", "Off", "None"})
MAX_TITLE_CHARS = 200


def title(document: Any, first_page: PageText | None) -> str | None:
    """The title that the file gives, unless it is a program's default or a file name; else the first of the largest
    lines on page 1, if they stand out.
    """
    given = " ".join(str((document.metadata or {}).get("title") or "").split())
    if not PLACEHOLDER.match(given) and not FILE_NAME.search(given):
        return given[:MAX_TITLE_CHARS]
    return _largest(first_page.lines) if first_page else None


def _largest(lines: Sequence[Line]) -> str | None:
    sizes = [round(line.size) if any(map(str.isalpha, line.text)) else 0 for line in lines]
    largest = max(sizes, default=0)
    if largest <= HEADING_SIZE * style_of(lines).body_size:
        return None
    first = sizes.index(largest)
    run = takewhile(lambda pair: pair[0] == largest, zip(sizes[first:], lines[first:], strict=True))
    text = " ".join(" ".join(line.text for _, line in run).split())
    return text if len(text) <= MAX_TITLE_CHARS else None


def facts(document: Any) -> dict[str, str]:
    """Who wrote it, what it is about, when it was made and last changed: one that was never changed, when it was made."""
    said = {name: str(value or "").strip() for name, value in (document.metadata or {}).items()}
    known = {name: said.get(name, "") for name in FACTS}
    dates = {ours: date for ours, theirs in DATES.items() if (date := iso_date(said.get(theirs, "")))}
    dates = {"modified": dates["created"], **dates} if "created" in dates else dates
    return {name: value for name, value in known.items() if not PLACEHOLDER.match(value)} | dates


def iso_date(text: str) -> str | None:
    """A PDF's date in ISO 8601, UTC; None for what is no date.

    >>> iso_date("D:20190312101530+01'00'"), iso_date("D:2019"), iso_date("12 March 2019")
    ('2019-03-12T09:15:30+00:00', '2019-01-01T00:00:00+00:00', None)
    """
    match = DATE.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second, sign, zone_hours, zone_minutes = match.groups(default="")
    try:
        there = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
        ahead = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
        return (there + ahead if sign == "-" else there - ahead).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return None


def attachments(document: Any) -> list[str]:
    """Names of the files attached to the document; they are mentioned, not read."""
    return list(document.embfile_names()) if document.embfile_count() else []


def notes(page: Any, printed: str) -> list[str]:
    """Values of form fields and comments that the page's own text does not show, each with its name."""
    shown = _squeezed(printed)
    found = [line for line in (*_fields(page), *_comments(page)) if _squeezed(line.split(": ", 1)[-1]) not in shown]
    return list(dict.fromkeys(found))


def _fields(page: Any) -> Iterator[str]:
    if page.first_widget is None:
        return
    for widget in page.widgets():
        value = " ".join(str(widget.field_value).split())
        if value not in UNSET:
            yield f"{widget.field_label or widget.field_name}: {value}"


def _comments(page: Any) -> Iterator[str]:
    if page.first_annot is None:
        return
    for annotation in page.annots():
        content = " ".join(str(annotation.info.get("content") or "").split())
        if content:
            yield f"{annotation.info.get('title') or 'Comment'}: {content}"


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()
