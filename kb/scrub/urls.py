"""Passwords and tokens in addresses: `postgres://anna:secret@host/db`, `https://token@host/repo.git`.

The user's name, the host and the path stay: they are what such an address is searched for. Parameters (`?token=`) are labels
(`kb.scrub.labels`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.scrub.found import Found
from kb.scrub.shaped import is_random
from kb.scrub.values import is_placeholder

MARK = "://"
USER_AND_PASSWORD = re.compile(r"""://[^\s/?#:@"'`<>|]{0,120}:(?P<password>[^\s/?#"'`<>]{1,300})@(?=[\w\[.$-])""")
WITH_SIGNS = re.compile(
    r"""://[^\s/?#:@"'`<>|]{1,120}:(?P<password>(?!\d{1,5}(?:[/?#]|$))[^\s"'`<>]{1,200})@(?=[\w.-]{1,253}(?::\d{1,5})?(?:[/?\s"'`)\]]|$))"""
)
"""A password with a slash in it, which should have been written %2F and is not."""
BROKEN = re.compile(
    r"""://[^\s/?#:@"'`<>|]{1,120}:(?P<password>(?!\d{1,5}\s)[^\s/?#"'`<>@]{1,100}\s{1,3}[^\s/?#"'`<>@,;]{1,100})@(?=[\w\[.-])"""
)
"""A line end within the password, as in a PDF's narrow column."""
TOKEN = re.compile(r"""://(?P<password>[\w~.-]{20,300})@(?=[\w.-]{1,253}[/:])""")


def passwords_in_urls(text: str) -> Iterator[Found]:
    place = text.find(MARK)
    while place >= 0:
        for pattern in (USER_AND_PASSWORD, WITH_SIGNS, BROKEN, TOKEN):
            match = pattern.match(text, place)
            if match:
                secret = match["password"]
                if not is_placeholder(secret) and (pattern is not TOKEN or is_random(secret)):
                    yield Found(*match.span("password"), "password")
                break
        place = text.find(MARK, place + len(MARK))
