"""Where two lines of text meet: hyphens that only broke a word, scripts without spaces, white space that says nothing."""

from __future__ import annotations

import re

SOFT_HYPHEN = "\u00ad"
HYPHENS = frozenset(("-", SOFT_HYPHEN, "\u2010"))
OPENERS = "([\"'“‘"  # noqa: RUF001 these signs are meant
CJK_FIRST = "\u3000"
CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
SPACED_CJK = re.compile(f"(?<={CJK.pattern})[ \u3000]+(?={CJK.pattern})")


def joined(head: str, tail: str, hyphenated: frozenset[str] = frozenset()) -> str:
    """Two lines of a paragraph as one: a hyphen that only broke a word goes, a space comes where scripts have one."""
    head, space = seam(head, tail, hyphenated)
    return f"{head}{space}{tail}"


def seam(head: str, tail: str, hyphenated: frozenset[str]) -> tuple[str, str]:
    """What the first line becomes, and what comes between it and the next."""
    end = head[-1:]
    if end.isalnum() and end.isascii():  # most lines
        return head, " "
    stem = broken_word(head)
    if stem and tail[:1].islower():
        word = f"{stem}-{tail.split(maxsplit=1)[0].rstrip('.,;:!?)')}"
        keeps_hyphen = end != SOFT_HYPHEN and word in hyphenated
        return head if keeps_hyphen else head[:-1], ""
    return head, "" if CJK.match(end) and CJK.match(tail[:1]) else " "


def broken_word(text: str) -> str | None:
    """What stands before a hyphen at the end of a text, if it may be the first part of a word."""
    if text[-1:] not in HYPHENS:
        return None
    stem = text[:-1].rsplit(maxsplit=1)[-1:]
    return stem[0].lstrip(OPENERS) if stem and stem[0][-1].isalpha() else None


def cleaned(text: str) -> str:
    if text.isascii() and "  " not in text:
        return text.strip()
    text = " ".join(text.split())
    return SPACED_CJK.sub("", text) if text and max(text) >= CJK_FIRST else text
