"""Reads PowerPoint presentations: Docling for titles, lists, tables, charts and speaker notes, a slide a page.

Beside it, from the XML: SmartArt, comments in the format of 2021, and the alternative texts of pictures. Pictures
themselves are taken out before Docling would decode and keep them. Hidden slides are read like the others and named
in the metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kb.read import convert
from kb.read.archive import open_archive
from kb.read.backend import open_backend, reading
from kb.read.office import as_plain_package, core_metadata, diagram_texts, paragraph_texts, parse_part, require_text
from kb.types import Block, Document, ReadOptions, Source

MAIN_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
MODERN_COMMENTS = "http://schemas.microsoft.com/office/2018/10/relationships/comments"


def read(source: Source, options: ReadOptions) -> Document:
    """Raises UnreadableFile for damage, bombs and old binary files, EncryptedFile for a password."""
    with open_archive(source, options) as archive, reading(source.path):
        backend = _open(source)
        slides = list(backend.pptx_obj.slides)
        beside = [tuple(_beside(slide)) for slide in slides]
        for slide in slides:
            _take_pictures_out(slide)
        blocks = _interleave(convert.blocks(backend.convert()), beside)
        metadata = core_metadata(backend.pptx_obj.core_properties, archive)
    require_text(blocks, source.path)
    hidden = [number for number, slide in enumerate(slides, 1) if slide.element.get("show") in ("0", "false")]
    title = metadata.pop("title", None) or next((block.heading[0] for block in blocks if block.heading), None)
    if hidden:
        metadata["hidden_slides"] = hidden
    return Document(blocks=blocks, extractor="docling", title=title, metadata={"slides": len(slides), **metadata})


def _open(source: Source) -> Any:
    from docling.backend.mspowerpoint_backend import MsPowerpointDocumentBackend
    from docling.datamodel.base_models import InputFormat

    content = as_plain_package(Path(source.path).read_bytes(), MAIN_TYPE)
    return open_backend(MsPowerpointDocumentBackend, InputFormat.PPTX, content, source.path)


def _beside(slide: Any) -> Iterator[tuple[str, str]]:
    """Heading and text of what Docling leaves out of a slide."""
    for text in diagram_texts(slide.part):
        yield "Diagram", text
    described = (properties.get("descr") for properties in slide.element.iterfind(f".//{P}pic/{P}nvPicPr/{P}cNvPr"))
    pictures = [" ".join(text.split()) for text in described if text and text.strip()]
    if pictures:
        yield "Pictures", "\n\n".join(pictures)
    for rel in slide.part.rels.values():
        if rel.reltype == MODERN_COMMENTS:
            comments = paragraph_texts(parse_part(rel.target_part))
            yield "Comments", "\n\n".join(comments)


def _take_pictures_out(slide: Any) -> None:
    for picture in [*slide.element.iter(f"{P}pic")]:
        picture.getparent().remove(picture)


def _interleave(blocks: tuple[Block, ...], beside: list[tuple[tuple[str, str], ...]]) -> tuple[Block, ...]:
    """Each slide's blocks, then what stands beside it, under the slide's own title."""
    joined: list[Block] = []
    for number, extras in enumerate(beside, 1):
        own = [block for block in blocks if block.page == number]
        slide_title = own[0].heading[:1] if own else ()
        joined += own
        joined += [Block(text=text, heading=(*slide_title, heading), page=number) for heading, text in extras if text]
    return tuple(joined)
