"""The table of document kinds: which extensions are which type, and which module reads it.

A new kind is one module in this folder with a function `read(source, options) -> Document`, and one line here. The
modules are imported when first needed, never from here.
"""

from __future__ import annotations

from importlib import import_module

import msgspec

from kb.read.languages import EXTENSIONS
from kb.types import Reader


class Kind(msgspec.Struct, frozen=True):
    doc_type: str
    module: str
    extensions: tuple[str, ...]


KINDS = (
    Kind("markdown", "kb.read.markdown", (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd")),
    Kind("code", "kb.read.code", tuple(EXTENSIONS)),
    Kind("data", "kb.read.data", (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml", ".csv", ".tsv")),
    # The old binary formats are here to be refused with a word on what to do.
    Kind("docx", "kb.read.docx", (".docx", ".docm", ".dotx", ".dotm", ".doc", ".dot")),
    Kind("pptx", "kb.read.pptx", (".pptx", ".pptm", ".potx", ".ppsx", ".ppt", ".pps")),
    Kind("xlsx", "kb.read.xlsx", (".xlsx", ".xlsm", ".xltx", ".xltm", ".xls", ".xlt")),
    Kind("html", "kb.read.html", (".html", ".htm", ".xhtml")),
    Kind("epub", "kb.read.epub", (".epub",)),
    Kind("pdf", "kb.read.pdf", (".pdf",)),
    Kind("image", "kb.read.image", (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")),
    Kind("notebook", "kb.read.notebook", (".ipynb",)),
    Kind("transcript", "kb.read.transcript", (".vtt", ".srt")),  # session logs and texts by their content: kb.detect
    Kind(
        "text",
        "kb.read.text",
        (
            ".txt",
            ".text",
            ".rst",
            ".org",
            ".adoc",
            ".log",
            ".tex",
            ".ini",
            ".cfg",
            ".conf",
            ".properties",
        ),
    ),
)


def reader(doc_type: str) -> Reader:
    """The reader of a type. Raises KeyError for a type that is not in the table."""
    kind = next((k for k in KINDS if k.doc_type == doc_type), None)
    if kind is None:
        raise KeyError(doc_type)
    read: Reader = import_module(kind.module).read
    return read
