"""Secrets out of what is to be stored: found in the texts of a document, and put out of them as `[redacted: github token]`.

What is looked for, in this order, the first claim on a place saying the kind: private keys (`pem`), vendors' tokens (`shapes`),
credentials in addresses (`urls`), labelled values (`labels`, `tables`, `values`), passwords of a shape that people make (`guessed`), and
e-mail addresses where they are wanted. Not here: files, the store. The sources are never touched.
"""

from __future__ import annotations

import string

from kb.scrub.code import code_ranges
from kb.scrub.found import Found, merged, without_marked
from kb.scrub.guessed import addresses, seasoned_passwords
from kb.scrub.labels import labelled
from kb.scrub.pem import private_keys
from kb.scrub.shaped import shaped
from kb.scrub.tables import in_columns
from kb.scrub.urls import passwords_in_urls

ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def find(text: str, *, language: str | None = None, emails: bool = False) -> list[Found]:
    """The secrets in a text, in order. `language`: the programming language that all of it is in."""
    lowered = text.lower()
    if len(lowered) != len(text):  # İ becomes two characters
        lowered = text.translate(ASCII_LOWER)
    in_urls = list(passwords_in_urls(text))
    said = {found.start for found in in_urls}
    by_label = (found for found in labelled(text, lowered, code_ranges(text, language)) if found.start not in said)
    return without_marked(text, merged((
        *private_keys(text), *shaped(text, lowered), *in_urls, *by_label, *in_columns(text),
        *seasoned_passwords(text), *(addresses(text) if emails else ()),
    )))  # fmt: skip
