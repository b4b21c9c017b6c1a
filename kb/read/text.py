"""Plain text: one block, with its lines. Front matter is taken off as in markdown."""

from __future__ import annotations

from kb.errors import NoText
from kb.read import frontmatter
from kb.read.decode import read_text
from kb.types import Block, Document, Lines, ReadOptions, Source


def read(source: Source, options: ReadOptions) -> Document:  # noqa: ARG001  the interface of every reader
    decoded = read_text(source.path)
    front = frontmatter.parse(decoded.text)
    lines = decoded.text.rstrip("\n").split("\n")[front.line_count :]
    text = "\n".join(lines)
    body = Block(text=text, lines=Lines(front.line_count + 1, front.line_count + len(lines)))
    blocks = (*front.kept, body) if text.strip() else front.kept
    if not blocks:
        raise NoText(f"{source.path}: holds no text", "there is nothing to index")
    warnings = tuple(note for note in (decoded.warning, front.warning) if note)
    return Document(
        blocks=blocks, extractor="text", title=front.title, metadata=front.metadata, tags=front.tags, warnings=warnings
    )
