"""A net under Docling: the passages of a file whose words have not arrived in any block.

Compares words, not places: a lost passage all of whose words stand elsewhere too is not noticed. One pass over the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kb.types import Block

WORD = re.compile(r"\w+")


def missing(passages: Iterable[str], blocks: Iterable[Block]) -> list[str]:
    """The passages that hold a word which is nowhere in the blocks, in their order."""
    kept = [" ".join(passage.split()) for passage in passages]
    words = {
        word for block in blocks for word in WORD.findall(f"{block.text}\n{block.context}\n{' '.join(block.heading)}")
    }
    return [passage for passage in kept if not words.issuperset(WORD.findall(passage))]


def warning(passages: list[str]) -> tuple[str, ...]:
    """One sentence on passages that had to be put at the end."""
    count = len(passages)
    return (f"passages that could not be placed are at the end: {count:,}",) if count else ()


def block(passages: list[str]) -> tuple[Block, ...]:
    return (Block(text="\n\n".join(passages)),) if passages else ()
