"""A note: whatever text it is, in one block. Without a title it is called by its first words."""

from __future__ import annotations

from kb.errors import NoText
from kb.types import Block, Document

TITLE_CHARACTERS = 80


def from_text(text: str) -> Document:
    """Raises NoText for an empty note."""
    if not text.strip():
        raise NoText("the note is empty", 'say something: kb add --note "text"')
    return Document(blocks=(Block(text=text.strip()),), extractor="note", title=title_of(text))


def title_of(text: str) -> str:
    """The first 80 characters, cut at a word."""
    words = " ".join(text.split())
    if len(words) <= TITLE_CHARACTERS:
        return words
    cut = words[: TITLE_CHARACTERS + 1].rpartition(" ")[0]
    return cut or words[:TITLE_CHARACTERS]
