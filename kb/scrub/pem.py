"""Private keys between `-----BEGIN ... PRIVATE KEY-----` and its END: in lines, in one line, in a string with escaped line ends.

Certificates and public keys are no secrets. A key whose end is missing (cut off, or in another part of a document) reaches as far
as what follows looks like base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.scrub.found import Found

KIND = "private key"
BEGIN = re.compile(r"-{4,5}[ ]?BEGIN[ A-Z0-9]{0,40}?\s{1,3}PRIVATE\s{1,3}KEY(?:\s{1,3}BLOCK)?[ ]?-{4,5}")
END = re.compile(r"-{4,5}[ ]?END[ A-Z0-9]{0,40}?\s{1,3}PRIVATE\s{1,3}KEY(?:\s{1,3}BLOCK)?[ ]?-{4,5}")
ANY_BEGIN = re.compile(r"-{4,5}[ ]?BEGIN ")
MAX_KEY = 40_000
"""Characters; an RSA key of 16,384 bits has some 13,000, a PGP key with subkeys twice that."""
BODY = re.compile(r"[A-Za-z0-9+/=]{32}")
"""What a real key has, and a placeholder (`...`) has not."""
GOES_ON = re.compile(
    r"(?:[\s\"'`\\,+>|*#]|\\?[nr](?=[A-Za-z0-9+/]{16})|(?:Proc-Type|DEK-Info|Version|Comment|Charset): [^\n]{0,80}|[A-Za-z0-9+/=]{16,}\\?n?|[A-Za-z0-9+/]{1,15}={1,2}){1,4000}"
)


def private_keys(text: str) -> Iterator[Found]:
    position = 0
    if "PRIVATE" not in text:
        return
    while begin := BEGIN.search(text, position):
        end = _end(text, begin.end())
        if BODY.search("".join(text[begin.end() : end].split())):
            yield Found(begin.start(), end, KIND)
        position = max(begin.end(), end)


def _end(text: str, start: int) -> int:
    """Where the key ends whose first line ends at `start`."""
    following = ANY_BEGIN.search(text, start, start + MAX_KEY)
    limit = following.start() if following else min(len(text), start + MAX_KEY)
    end = END.search(text, start, limit)
    if end:
        return end.end()
    rest = GOES_ON.match(text, start, limit)
    return start + len(rest[0].rstrip()) if rest else start
