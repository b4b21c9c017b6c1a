"""Plain text in which each turn begins with who speaks: `Anna: Shall we begin?`

What follows without a name goes on with the turn; what stands above the first name is kept as a turn of nobody. What is
certain only to a person (a novel's dialogue, a play in columns) is no transcript here.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from kb.read.transcript import names
from kb.read.transcript.turn import Conversation, Turn, role_of
from kb.types import Lines

FEWEST_TURNS = 4
MOST_SPEAKERS = 20
TURNS_A_SPEAKER = 2
"""On average: in a list of fields each name stands once."""


def is_likely(head: str) -> bool:
    """Whether a text is clearly a conversation: few names that come again and change, before most of its paragraphs."""
    paragraphs = [part for part in head.split("\n\n") if part.strip()]
    lines = [line for line in head.split("\n") if line.strip()]
    spoken = [found.name for line in lines if (found := names.label(line))]
    begun = sum(names.label(part.lstrip("\n")) is not None for part in paragraphs)
    is_dense = 2 * len(spoken) >= len(lines) or (begun >= FEWEST_TURNS and 4 * begun >= 3 * len(paragraphs))
    counts = Counter(spoken)
    changes = sum(one != other for one, other in pairwise(spoken))
    return (
        len(spoken) >= FEWEST_TURNS
        and 2 <= len(counts) <= MOST_SPEAKERS  # noqa: PLR2004  one alone is no conversation
        and len(spoken) >= TURNS_A_SPEAKER * len(counts)
        and changes >= FEWEST_TURNS - 1
        and is_dense
    )


def read(text: str, first_line: int) -> Conversation:
    turns: list[Turn] = []
    label = names.Label("", "", None)
    said: list[str] = []
    begun = first_line
    for number, line in enumerate([*text.split("\n"), None], start=first_line):
        found = names.label(line) if line is not None else None
        if line is None or found:
            turns += _turn(label, said, begun)
        if found:
            label, said, begun = found, [found.text], number
        elif line is not None:
            said.append(line)
    return Conversation(turns=tuple(turns), form="speakers")


def _turn(label: names.Label, said: list[str], begun: int) -> list[Turn]:
    """None where nothing was said. `said` begins with line `begun`."""
    filled = [number for number, line in enumerate(said) if line.strip()]
    if not filled:
        return []
    first = begun if label.name else begun + filled[0]
    text = "\n".join(said[filled[0] : filled[-1] + 1]).strip()
    lines = Lines(first, begun + filled[-1])
    return [Turn(text=text, lines=lines, role=role_of(label.name), speaker=label.name or None, at=label.at)]
