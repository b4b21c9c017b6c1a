"""Reads data files: a block is a run of keys or rows that belong together, with the key path as its heading.

The text stays as it is written, comments included; only what was minified is pretty-printed, and rows become tables.
A file that breaks its format's rules is indexed as text, with a warning that names the line. Nothing is loaded into
objects that a bomb could blow up.
"""

from __future__ import annotations

from pathlib import PurePath

from kb.errors import NoText, UnreadableFile
from kb.read.data import json_, jsonl, rows, toml_, tree, yaml_
from kb.read.data.invalid import Invalid
from kb.read.data.json_pretty import pretty
from kb.read.decode import read_text
from kb.types import Block, Document, ReadOptions, Source

MAX_LINE = 500  # characters; a longer line says that nobody formatted the file for reading

Reading = tuple[tuple[Block, ...], tuple[str, ...]]
"""Blocks and warnings."""


def read(source: Source, options: ReadOptions) -> Document:  # noqa: ARG001 every reader takes the options
    """Raises NoText for an empty file, UnreadableFile for one that is binary or nested beyond reason."""
    decoded = read_text(source.path)
    if not decoded.text.strip():
        raise NoText(f"{source.path}: empty")
    form = _format(source.path, decoded.text)
    try:
        blocks, warnings = _blocks(form, decoded.text)
    except Invalid as error:
        shown = _shown_json(decoded.text) if form == "json" else _lines(decoded.text)
        blocks, warnings = tree.blocks(shown, ()), (f"{error}: indexed as text",)
    except UnreadableFile as error:
        raise UnreadableFile(f"{source.path}: {error.message}", error.hint) from error
    return Document(
        blocks=blocks,
        extractor=form,
        warnings=(*((decoded.warning,) if decoded.warning else ()), *warnings),
    )


def _format(path: str, text: str) -> str:
    """By the extension; for any other file by its first character."""
    extension = PurePath(path).suffix.lower()
    known = {".ndjson": "jsonl", ".yml": "yaml"}.get(extension, extension[1:])
    if known in {"json", "jsonl", "yaml", "toml", "csv", "tsv"}:
        return known
    return "json" if text.lstrip()[0] in "{[" else "yaml"


def _blocks(form: str, text: str) -> Reading:
    """Raises Invalid where the text is not of the format."""
    if form == "jsonl":
        return jsonl.blocks(text)
    if form in {"csv", "tsv"}:
        return rows.blocks(text, is_tabbed=form == "tsv"), ()
    if form == "json":
        return _json_blocks(text)
    return tree.blocks(_lines(text), (yaml_ if form == "yaml" else toml_).nodes(text)), ()


def _json_blocks(text: str) -> Reading:
    try:
        json_.validate(text)
    except Invalid:
        if jsonl.is_likely(text):
            return jsonl.blocks(text)
        raise
    shown = _shown_json(text)
    return tree.blocks(shown, json_.nodes("\n".join(shown.lines))), ()


def _shown_json(text: str) -> tree.Text:
    """The lines as they are, or pretty-printed where nobody formatted them for reading."""
    lines = text.split("\n")
    is_minified = "\n" not in text.strip() or max(map(len, lines)) > MAX_LINE
    return pretty(text) if is_minified else tree.Text([json_.unescaped(line) for line in lines])


def _lines(text: str) -> tree.Text:
    return tree.Text(text.split("\n"))
