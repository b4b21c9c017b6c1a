"""Secrets that nothing announces, but that look like nothing else: `Company2026!`; and e-mail addresses, where they are wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.scrub.found import Found

HINTS = re.compile(r"[!@#$](?:19|20)\d\d"), re.compile(r"[12][09]\d\d[!@#$]")
"""What is in all of them. Two searches that begin with a few signs are a quarter of the time of one that may begin with a letter."""
SEASONED = re.compile(
    r"(?<![\w@#$./-])[A-Z][a-z]{2,20}(?:[._!@#$-]?(?:19|20)\d\d[!@#$]{1,3}|[!@#$](?:19|20)\d\d)(?![\w@/-])(?!\.\w)"
)
"""A capitalised word, a year, and a sign at the end or between: what people make of "one capital, one digit, one special"."""
ADDRESS = re.compile(
    r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])", re.ASCII
)


def seasoned_passwords(text: str) -> Iterator[Found]:
    if any(hint.search(text) for hint in HINTS):
        for match in SEASONED.finditer(text):
            yield Found(*match.span(), "password")


def addresses(text: str) -> Iterator[Found]:
    place = text.find("@")
    while place >= 0:
        start = place
        while start > 0 and place - start < 64 and (text[start - 1].isalnum() or text[start - 1] in "_.+-"):  # noqa: PLR2004
            start -= 1
        match = ADDRESS.match(text, start)
        if match:
            yield Found(*match.span(), "e-mail address")
        place = text.find("@", max(place + 1, match.end() if match else 0))
