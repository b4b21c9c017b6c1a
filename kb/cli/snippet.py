"""The part of a passage that shows why it was found, its matching words marked."""

from __future__ import annotations

import re
import textwrap

from index.fields import TEXT
from index.query import parse
from index.terms import normalise, spaced
from kb.cli.marks import Marks
from kb.cli.safe import one_line

SNIPPET_CHARACTERS = 300
LINE_CHARACTERS = 96
WORD = re.compile(r"[^\W_]+(?:\+\+|#)?")


def snippet(text: str, query: str, marks: Marks) -> list[str]:
    """Some lines of the passage around the densest run of the query's words."""
    flat = one_line(text)
    stems = _stems_of_query(query)
    matches = [match for match in WORD.finditer(flat) if _stems(match[0]) & stems]
    start = _densest([match.start() for match in matches])
    start = flat.rfind(" ", 0, start) + 1 if start else 0
    shown = flat[start : start + SNIPPET_CHARACTERS]
    if start + SNIPPET_CHARACTERS < len(flat):
        shown = shown.rpartition(" ")[0] + " …"
    lines = textwrap.wrap(("… " if start else "") + shown, LINE_CHARACTERS, break_on_hyphens=False)
    return [
        WORD.sub(lambda match: marks.match(match[0]) if _stems(match[0]) & stems else match[0], line) for line in lines
    ]


def _stems_of_query(query: str) -> set[str]:
    parsed = parse(query)
    texts = [word.text for word in parsed.words] + [phrase.text for phrase in parsed.phrases]
    return {stem for text in texts for stem in _stems(text)}


def _stems(text: str) -> set[str]:
    return set(TEXT.analyze(spaced(normalise(text))))


def _densest(positions: list[int]) -> int:
    """A little before the run of `SNIPPET_CHARACTERS` that holds most of the positions; 0 where there are none."""
    room = SNIPPET_CHARACTERS * 3 // 4
    best = max(positions, key=lambda p: (sum(p <= other < p + room for other in positions), -p), default=0)
    return max(0, best - 60) if best > room else 0
