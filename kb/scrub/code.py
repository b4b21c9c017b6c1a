"""Which parts of a text are program code, where a word without quotes is a name and not a value. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right

import msgspec

CONFIGURATION = frozenset(
    {"bash", "shell", "sh", "zsh", "console", "powershell", "dockerfile", "make", "cmake", "hcl", "nix", "yaml", "yml", "toml", "ini", "env", "dotenv",
     "conf", "cfg", "properties", "text", "txt", "plain", "xml", "json", "json5", "http", "nginx", "apache", "diff", "log"}
)  # fmt: skip
"""Languages, as files and fences name them, in which a value needs no quotes."""
FENCE = re.compile(r"^[ \t]{0,20}(`{3,8}|~{3,8})[ \t]{0,4}\{?\.?(?P<language>[\w+#-]{0,30})", re.MULTILINE)


class CodeRanges(msgspec.Struct, frozen=True):
    """The places where code begins and ends, by turns, ascending."""

    edges: tuple[int, ...] = ()

    def holds(self, place: int) -> bool:
        return bool(bisect_right(self.edges, place) % 2)


def is_program(language: str | None) -> bool:
    return language is not None and language.lower() not in CONFIGURATION


def code_ranges(text: str, language: str | None) -> CodeRanges:
    """`language`: of a file that is code as a whole; None for a document, whose fenced blocks may be."""
    if is_program(language):
        return CodeRanges((0,))
    if "```" not in text and "~~~" not in text:
        return CodeRanges()
    edges: list[int] = []
    opened = False
    for fence in FENCE.finditer(text):
        if opened:
            edges += [fence.start()] if len(edges) % 2 else []
        elif fence["language"] and is_program(fence["language"]):
            edges.append(fence.end())
        opened = not opened
    return CodeRanges(tuple(edges))
