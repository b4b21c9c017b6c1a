"""Where two lines of text meet: hyphens that only broke a word, scripts without spaces, white space that says nothing."""

from __future__ import annotations

import re

SOFT_HYPHEN = "\u00ad"
HYPHENS = frozenset(("-", SOFT_HYPHEN, "\u2010"))
OPENERS = "([\"'“‘"  # noqa: RUF001 these signs are meant
CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
SPACE_BEFORE_CJK = re.compile(" " + CJK.pattern)
SPACE_WITHIN_CJK = re.compile(f"(?<={CJK.pattern}) (?={CJK.pattern})")


def joined(head: str, tail: str, hyphenated: frozenset[str] = frozenset()) -> str:
    """Two lines of a paragraph as one: a hyphen that only broke a word goes, a space comes where scripts have one."""
    head, space = seam(head, tail, hyphenated)
    return f"{head}{space}{tail}"


def seam(head: str, tail: str, hyphenated: frozenset[str]) -> tuple[str, str]:
    """What the first line becomes, and what comes between it and the next."""
    end = head[-1:]
    if end.isascii() and end != "-":  # most lines
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
    """With single spaces for white space, and none within Chinese and Japanese."""
    if is_clean(text):
        return text.strip()
    return SPACE_WITHIN_CJK.sub("", " ".join(text.split()))


def is_clean(text: str) -> bool:
    """Whether there is nothing to clean but at its ends. A fifth of the time of cleaning it: other white space than the
    space is not printable.
    """
    if "  " in text:
        return False
    return text.isascii() or (text.isprintable() and not SPACE_BEFORE_CJK.search(text))
