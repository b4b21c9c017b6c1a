"""Reads Word documents: Docling for headings, lists, tables, equations and notes; the XML for what Docling leaves out.

Before Docling walks the body it is made plain (`kb.read.docx_plain`): tracked insertions and moves become text, formatting
that would cut a sentence into pieces goes. Deleted text stands under its own heading, so that a search for the sentence
as it reads now still finds it. Pictures are not read here, and old binary files are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kb.read import convert, docx_plain, leftover
from kb.read.archive import open_archive
from kb.read.backend import open_backend, reading
from kb.read.office import as_plain_package, core_metadata, diagram_texts, require_text
from kb.types import Block, Document, ReadOptions, Source

MAIN_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def read(source: Source, options: ReadOptions) -> Document:
    """Raises UnreadableFile for damage, bombs and old binary files, EncryptedFile for a password."""
    with open_archive(source, options) as archive, reading(source.path):
        backend = _open(source)
        body = backend.docx_obj
        deleted = docx_plain.deleted_texts(body)
        docx_plain.make_plain(body)
        passages = list(docx_plain.passages(body))
        document = backend.convert()
        blocks = (*convert.blocks(document), *_beside(body, deleted))
        lost = leftover.missing(passages, blocks)
        metadata = core_metadata(body.core_properties, archive)
    blocks += leftover.block(lost)
    require_text(blocks, source.path)
    return Document(
        blocks=blocks,
        extractor="docling",
        title=metadata.pop("title", None) or convert.title(document),
        metadata=metadata,
        warnings=leftover.warning(lost),
    )


def _open(source: Source) -> Any:
    from docling.backend.msword_backend import MsWordDocumentBackend
    from docling.datamodel.base_models import InputFormat

    content = as_plain_package(Path(source.path).read_bytes(), MAIN_TYPE)
    backend = open_backend(MsWordDocumentBackend, InputFormat.DOCX, content, source.path)
    # Docling would start LibreOffice for each drawing, where it is installed, and keep a picture of it.
    backend.docx_to_pdf_converter_init = True
    return backend


def _beside(document: Any, deleted: list[str]) -> Iterator[Block]:
    for heading, texts in (("Diagrams", diagram_texts(document.part)), ("Deleted text (tracked changes)", deleted)):
        if texts:
            yield Block(text="\n\n".join(texts), heading=(heading,))
