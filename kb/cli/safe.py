"""Text of documents made safe for a terminal: no escape sequence, no control character, no hidden change of direction."""

from __future__ import annotations

import re

UNSAFE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI sequences, whole
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC sequences (titles, links), whole
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # C0 but tab and newline, DEL, C1
    r"|[\u202a-\u202e\u2066-\u2069]"  # bidirectional overrides and isolates
)


def printable(text: str) -> str:
    """The text without what a terminal would obey instead of showing; undecodable bytes as `?`."""
    return UNSAFE.sub("", text).encode("utf-8", "replace").decode("utf-8")


def one_line(text: str) -> str:
    return " ".join(printable(text).split())
