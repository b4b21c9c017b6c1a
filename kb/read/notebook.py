"""Reads Jupyter notebooks (nbformat 3 and 4): prose with its headings, code cells, and the first lines of their output.

The last heading above a code cell is its heading, with the cell's number. Pictures and other base64 are never text. Does
not run anything, and reads no widget state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from kb.errors import NoText, NotFound, UnreadableFile
from kb.read import markdown
from kb.read.backend import reading
from kb.read.decode import decode
from kb.types import Block, Document, ReadOptions, Source

OUTPUT_LINES = 20  # of an output: enough for a table's head or an error, not for a training log
OUTPUT_CHARACTERS = 2000
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
INLINE_DATA = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=\s]+")
DAMAGED_HINT = "Open it in Jupyter and save it again."

Heading = tuple[int, str]


def read(source: Source, options: ReadOptions) -> Document:  # noqa: ARG001 the interface of every reader
    """Raises UnreadableFile for what is not a notebook, NoText for an empty one."""
    notebook = _load(source)
    headings: list[Heading] = []
    with reading(source.path):
        language, cells = _language(notebook), _cells(notebook)
        blocks = [block for number, cell in enumerate(cells, 1) for block in _cell_blocks(cell, number, headings)]
    if not blocks:
        raise NoText(f"{source.path}: the notebook holds no text", "There is nothing to index.")
    title = next((block.heading[0] for block in blocks if block.heading and not _is_cell(block.heading[0])), None)
    metadata = {"cells": len(cells), "kernel_language": language}
    return Document(blocks=tuple(blocks), extractor="notebook", title=title, language=language, metadata=metadata)


def _load(source: Source) -> dict[str, Any]:
    try:
        notebook = json.loads(decode(Path(source.path).read_bytes()).text)
    except FileNotFoundError as error:
        raise NotFound(f"{source.path}: no such file") from error
    except OSError as error:
        raise UnreadableFile(
            f"{source.path}: {error.strerror}", "Check that it is a file that you may read."
        ) from error
    except UnreadableFile as error:
        raise UnreadableFile(f"{source.path}: {error.message}", error.hint) from error
    except json.JSONDecodeError as error:
        raise UnreadableFile(
            f"{source.path}: broken JSON at line {error.lineno} ({error.msg})", DAMAGED_HINT
        ) from error
    except RecursionError as error:
        raise UnreadableFile(f"{source.path}: nested too deeply for a notebook", DAMAGED_HINT) from error
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise UnreadableFile(f"{source.path}: JSON, but not a notebook", "Give --type data to read it as it is.")
    return notebook


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    sheets = [notebook] if "cells" in notebook else notebook["worksheets"]
    return [cell for sheet in sheets for cell in sheet.get("cells", []) if isinstance(cell, dict)]


def _language(notebook: dict[str, Any]) -> str | None:
    metadata = notebook.get("metadata") or {}
    of_kernel = (metadata.get("kernelspec") or {}).get("language")
    of_info = (metadata.get("language_info") or {}).get("name")
    of_cells = (cell.get("language") for cell in _cells(notebook))  # nbformat 3
    return next((name for name in (of_kernel, of_info, *of_cells) if name and isinstance(name, str)), None)


def _cell_blocks(cell: dict[str, Any], number: int, headings: list[Heading]) -> Iterator[Block]:
    """The blocks of a cell. A markdown cell's headings go on in `headings` for the cells below."""
    text = _joined(cell.get("source", cell.get("input")))
    match cell.get("cell_type"):
        case "markdown":
            yield from _prose(INLINE_DATA.sub("data:", text), headings)
        case "heading":  # nbformat 3
            yield from _prose(f"{'#' * int(cell.get('level', 1))} {text}", headings)
        case "code":
            yield from _code(text, cell, (*(name for _, name in headings), f"cell {number}"))
        case _:
            if text.strip():
                yield Block(text=text, heading=tuple(name for _, name in headings))


def _prose(text: str, headings: list[Heading]) -> Iterator[Block]:
    """The cell is parsed below the headings that hold for it, which are then taken off again."""
    above = "".join(f"{'#' * level} {name}\n\n" for level, name in headings)
    line_count = above.count("\n")
    for block in markdown.blocks_of(above + text):
        if block.lines is None or block.lines.last <= line_count:
            continue
        own = block.text.split("\n")[max(0, line_count - block.lines.first + 1) :]
        content = "\n".join(own).strip("\n")
        if content.strip():
            yield Block(text=content, kind=block.kind, heading=block.heading)
    _go_on(text, headings)


def _go_on(text: str, headings: list[Heading]) -> None:
    from markdown_it import MarkdownIt

    tokens = MarkdownIt().parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0:
            level = int(opening.tag[1:])
            headings[:] = [*((lv, name) for lv, name in headings if lv < level), (level, inline.content)]


def _code(text: str, cell: dict[str, Any], heading: tuple[str, ...]) -> Iterator[Block]:
    if not text.strip():
        return
    yield Block(text=text.rstrip(), kind="code", heading=heading)
    outputs = [shown for output in cell.get("outputs") or [] if (shown := _output(output).strip())]
    if outputs:
        yield Block(text="Output:\n" + _shortened("\n".join(outputs)), heading=heading)


def _output(output: dict[str, Any]) -> str:
    """The plain text of an output; an error by its name and message, since the traceback repeats the code."""
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', 'Error')}: {ANSI.sub('', str(output.get('evalue', '')))}"
    data = output.get("data") or output
    text = data.get("text/plain", output.get("text", "")) if isinstance(data, dict) else ""
    return INLINE_DATA.sub("data:", ANSI.sub("", _joined(text)))


def _shortened(text: str) -> str:
    lines = text.split("\n")
    head = "\n".join(lines[:OUTPUT_LINES])
    cut = head[:OUTPUT_CHARACTERS]
    return cut if cut == text else f"{cut}\n… ({len(lines):,} lines in all)"


def _joined(text: Any) -> str:
    """Notebooks keep text as a string or as a list of lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def _is_cell(heading: str) -> bool:
    return heading.startswith("cell ")
