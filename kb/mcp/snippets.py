"""The part of a passage that a small answer shows: where most different words of the question are. Pure.

A word is found by its beginning, so that its other forms are found too, more or less: it only chooses what is shown. `kb.cli.snippet`, which marks words in
a terminal, looks at each as the index does, and takes milliseconds for five passages, where this takes 0.1.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence

MOST_CHARACTERS = 500
BEFORE = 80
"""Characters that are shown before the first of the words."""
WORD = re.compile(r"[^\W_]+")
ENDING = 3
"""Characters at the end of a word that another form may not have, as in `studies` and `study`."""
SHORTEST = 3


def beginnings(queries: Iterable[str]) -> tuple[str, ...]:
    """Of the words of the queries, each once."""
    words = (word.lower() for query in queries for word in WORD.findall(query))
    return tuple(dict.fromkeys(word[: max(SHORTEST, len(word) - ENDING)] for word in words))


def snippet(text: str, words: Sequence[str], most: int = MOST_CHARACTERS) -> str:
    """The text itself where it is short enough, else `most` characters of it, cut between words."""
    if len(text) <= most:
        return text
    start = max(0, min(_densest(text, words, most - BEFORE) - BEFORE, len(text) - most))
    if start:
        start = text.find(" ", start, start + BEFORE) + 1 or start
    shown = text[start : start + most]
    if start + most < len(text):
        shown = (shown.rpartition(" ")[0] or shown).rstrip() + " …"
    return f"… {shown}" if start else shown


def _densest(text: str, words: Sequence[str], room: int) -> int:
    """Where the run of `room` characters begins that holds most different ones; the first of equals."""
    inside: deque[tuple[int, str]] = deque()
    counts: Counter[str] = Counter()
    best, most = 0, 0
    for place, word in sorted(_places(text.lower(), words)):
        inside.append((place, word))
        counts[word] += 1
        while place - inside[0][0] > room:
            _, gone = inside.popleft()
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
        if len(counts) > most:
            best, most = inside[0][0], len(counts)
    return best


def _places(text: str, words: Sequence[str]) -> Iterable[tuple[int, str]]:
    """Where a word begins so; Chinese and Japanese put no spaces before words."""
    for word in words:
        place = text.find(word)
        while place >= 0:
            if not place or not text[place - 1].isalnum() or not word.isascii():
                yield place, word
            place = text.find(word, place + len(word))
