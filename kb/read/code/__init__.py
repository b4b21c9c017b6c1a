"""Reads source code: a block is a function, a method, or what stands between them.

By the standard library's parser for Python, by tree-sitter for the languages that have a grammar here, else by windows of
lines. Nothing is executed, imported or checked for being right.
"""

from __future__ import annotations

from kb.errors import NoText
from kb.read import languages
from kb.read.code import grammar, outline, python
from kb.read.code.outline import Definition
from kb.read.decode import read_text
from kb.types import Document, ReadOptions, Source


def read(source: Source, options: ReadOptions) -> Document:  # noqa: ARG001 every reader takes the options
    """Raises NoText for an empty file, UnreadableFile for a binary one."""
    decoded = read_text(source.path)
    if not decoded.text.strip():
        raise NoText(f"{source.path}: empty")
    language = source.language or languages.of(source.path, decoded.text)
    definitions, extractor = _definitions(decoded.text, language)
    return Document(
        blocks=outline.blocks(decoded.text.split("\n"), definitions),
        extractor=extractor,
        language=language,
        warnings=(decoded.warning,) if decoded.warning else (),
    )


def _definitions(text: str, language: str | None) -> tuple[tuple[Definition, ...], str]:
    """The definitions, and who found them; none where the file is to be cut into windows of lines."""
    if language == "python" and (found := python.definitions(text)) is not None:
        return found, "ast"
    if language is not None and (found := grammar.definitions(text, language)) is not None:
        return found, "tree-sitter"
    return (), "lines"
