"""What an error says to do, in the words of doors that are no command line: `kb mcp` and `kb serve`.

Errors are raised where nobody knows who asks, and name commands and options. What only a command line can do (`kb reindex`) stays as it
is: it is for the user.
"""

from __future__ import annotations

import re
from typing import Literal

Door = Literal["mcp", "http"]
SAID: tuple[tuple[str, str, str], ...] = (
    (r"kb list shows ids and paths", "list shows ids and paths", "GET /documents shows ids and paths"),
    (r"kb get (\d+) --around \d+", r"get with chunk_id \1", r"GET /chunks/\1/text"),
    (r"kb view (\d+) --page (\d+)", r"view with document \1 and page \2", r"GET /documents/\1/view?page=\2"),
    (r"kb similar --document (\d+)", r"similar with document \1", r"GET /documents/\1/similar"),
    (r"kb status says", "status says", "GET /status says"),
    (r'kb search "words"', "query", "query"),
    (r"kb jobs list shows", "kb jobs list shows", "GET /jobs shows"),
    (r"kb jobs cancel (\d+)", r"kb jobs cancel \1", r"POST /jobs/\1/cancel"),
    (r"kb add --keep-original FILE keeps it", "kb add --keep-original FILE keeps it", "keep_original keeps it"),
    (r"--tag NAME", "tags", "tags"),
    (r"(?<!kb add )--(lines|page|around|meta|type|since|before)\b", r"\1", r"\1"),
)
"""What is said on a command line, to an agent, and to a client of the server."""


def said_at(door: Door, text: str) -> str:
    column = 1 if door == "mcp" else 2
    for row in SAID:
        text = re.sub(row[0], row[column], text)
    return text
