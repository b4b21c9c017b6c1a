"""Carries through Docling what its HTML backend would change: code with its indentation, typographic characters.

Docling 2.142 strips each string of a <pre>, flattens one inside a list item into the sentence, turns dashes and quotation
marks into ASCII and drops the joiners that Persian and emoji need. So each code goes in as a numbered mark, and each such
character as one of the private use area, and both are put back in the blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from kb.types import Block

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

OPEN, CLOSE = "\ue010", "\ue011"
MARK = re.compile(f"{OPEN}(\\d+){CLOSE}")
CHANGED = "\u200c\u200d\u2010\u2012\u2013\u2014\u2015\u2018\u2019\u201c\u201d\u2026"
CARRIERS = "".join(chr(0xE020 + at) for at in range(len(CHANGED)))
OURS = OPEN + CLOSE + CARRIERS
LOAD = str.maketrans(CHANGED, CARRIERS, OURS)  # a page's own use of these is an icon font's
INVISIBLE = str.maketrans("", "", "\u00ad\u200b\u2060\ufeff")  # places where a line may or may not break: no text
UNLOAD = str.maketrans(CARRIERS, CHANGED)
FLATTENED = ("li", "dt", "dd", "p", "h1", "h2", "h3", "h4", "h5", "h6", "summary", "address", "caption", "figcaption")


def load(soup: BeautifulSoup) -> list[str]:
    """Puts the marks and carriers into the page; returns the codes, by number."""
    from bs4.element import NavigableString

    for text in soup.find_all(string=True):
        text.replace_with(NavigableString(text.translate(LOAD)))
    codes: list[str] = []
    for pre in soup.find_all("pre"):
        for line_break in pre.find_all("br"):
            line_break.replace_with("\n")
        mark = f"{OPEN}{len(codes)}{CLOSE}"
        codes.append(_code(pre.get_text()))
        if pre.find_parent(FLATTENED):
            pre.replace_with(f" {mark} ")
        else:
            pre.string = mark
    return codes


def unload(blocks: tuple[Block, ...], codes: list[str]) -> tuple[Block, ...]:
    """The blocks with their characters, each code a block of its own."""
    return tuple(_unloaded(part) for block in blocks for part in _parts(block, codes))


def _code(text: str) -> str:
    """Without empty lines around it and the indentation that all its lines share."""
    lines = text.replace("\r\n", "\n").strip("\n").rstrip().split("\n")
    shared = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[shared:].rstrip() for line in lines).strip("\n")


def _parts(block: Block, codes: list[str]) -> Iterator[Block]:
    if block.kind == "table":
        yield msgspec.structs.replace(block, text=MARK.sub(lambda m: " ".join(codes[int(m[1])].split()), block.text))
        return
    for at, part in enumerate(MARK.split(block.text)):
        if at % 2 and codes[int(part)]:
            yield msgspec.structs.replace(block, text=codes[int(part)], kind="code")
        elif not at % 2 and part.strip():
            yield msgspec.structs.replace(block, text=part.removeprefix(" ").strip("\n").rstrip())


def _unloaded(block: Block) -> Block:
    return msgspec.structs.replace(
        block,
        text=block.text.translate(UNLOAD),
        heading=tuple(heading.translate(UNLOAD) for heading in block.heading),
        context=block.context.translate(UNLOAD),
    )
