"""What is usual in a document: its font size, its line width, the words that it writes with a hyphen.

`kb.read.pdf.prose` tells headings, ends of paragraphs and broken words by what departs from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from kb.read.line import Line

HEADING_SIZE = 1.1  # times the body's font size
FULL_LINE_CHARS = 40
SAMPLE_LINES = 500  # that tell what is usual among more
MAX_MONO_SHARE = 0.5  # of a document's characters, before typewriter text is taken for listings
HYPHENATED = re.compile(r"\w[\w-]*-\w+")


class Style(msgspec.Struct, frozen=True):
    """What is usual in a document, against which its headings stand out."""

    body_size: float
    """Font size in points of most characters."""
    heading_size: float = HEADING_SIZE
    """From how many times the body's size a line is a heading."""
    line_width: float = 0.0
    """Width in points of a full line; a line that ends well before it was meant to end there."""
    is_mono: bool = False
    """Set where the whole document is typewritten, so that monospaced lines are no listings."""
    hyphenated: frozenset[str] = frozenset()
    """Words written with a hyphen within a line: they keep it where a line ends at it."""


def style_of(lines: Sequence[Line], heading_size: float = HEADING_SIZE) -> Style:
    sizes: dict[float, int] = {}
    widths: list[float] = []
    mono = 0
    sample = lines[:: 1 + len(lines) // SAMPLE_LINES]
    for line in sample:
        length = len(line.text)
        sizes[line.size] = sizes.get(line.size, 0) + length
        if length >= FULL_LINE_CHARS:
            widths.append(line.x1 - line.x0)
        if line.mono:
            mono += length
    return Style(
        body_size=_usual(sizes),
        heading_size=heading_size,
        line_width=median(widths) if widths else 0.0,
        is_mono=mono > MAX_MONO_SHARE * sum(sizes.values()),
        hyphenated=_hyphenated(lines),
    )


def _hyphenated(lines: Sequence[Line]) -> frozenset[str]:
    texts = [line.text for line in lines if "-" in line.text and "-" in line.text[:-1]]
    candidates = [word for text in texts for word in text.split() if "-" in word]  # the pattern is slow to say no
    return frozenset(word for candidate in candidates for word in HYPHENATED.findall(candidate))


def _usual(sizes: dict[float, int]) -> float:
    """The font size of most characters, sizes that look alike taken together."""
    rounded: Counter[float] = Counter()
    for size, count in sizes.items():
        rounded[round(size * 2) / 2] += count
    return max(rounded, key=rounded.__getitem__, default=0.0)
