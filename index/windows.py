"""Windows: parts of a chunk's text that have rows of their own in the matrix, beside the row of the whole. Pure.

A text of more than so many words has as many windows of that many as cover it, evenly spread; they overlap as far as that takes.
A window stands under its chunk's context, as the chunk does. In the matrix its row has an id below zero, which says whose window
it is; a chunk's own row has the chunk's id. Not here: the table of them (`index.cutting`), the score of a chunk
that has windows (`index.grouped`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import islice

from index.terms import UNSPACED

CUT_WORDS, SERVED = "cut_words", "windows"
"""Keys of what is said of windows in a store's `config`."""
WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
"""A character of a script without spaces weighs what a word of another does: a token or two."""
NUMBER_BITS = 20
MOST = 1 << NUMBER_BITS
"""Windows a chunk. Only a note of 70 million words would have more."""


def cut_words(config: Mapping[str, str]) -> int:
    """How many words the windows in a store's table have; 0: there are none."""
    return int(config.get(CUT_WORDS, "0"))


def served(config: Mapping[str, str]) -> int:
    """How many those have that have rows in the matrix."""
    return int(config.get(SERVED, "0"))


def spans(text: str, words: int) -> list[tuple[int, int]]:
    """Where each window begins and ends in `text`, in characters; none where `text` has no more than `words` words."""
    if words < 1:
        return []
    found = [match.span() for match in WORD.finditer(text)]
    spare = len(found) - words
    if spare <= 0:
        return []
    steps = math.ceil(spare / words)
    firsts = (number * spare // steps for number in range(steps + 1))
    return [(found[first][0], found[first + words - 1][1]) for first in islice(firsts, MOST)]


def texts(context: str, text: str, words: int) -> list[str]:
    """What is embedded of each window of a chunk."""
    parts = [text[first:end] for first, end in spans(text, words)]
    return [f"{context}\n\n{part}" for part in parts] if context else parts


def row_id(chunk_id: int, number: int) -> int:
    """The id of a window's row; `number` from 0."""
    return -(chunk_id << NUMBER_BITS | number)
