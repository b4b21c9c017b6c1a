"""What the Office formats have in common: their core properties, their variants, and the text of SmartArt diagrams.

Works on bytes and on the parts that python-docx and python-pptx have loaded; opens no file itself.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

from kb.errors import NoText
from kb.read.office_dates import stated_dates
from kb.types import Block

DIAGRAM_DATA = "/relationships/diagramData"  # the end of the relationship type, in both flavours of OOXML
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"

CONTENT_TYPES = "[Content_Types].xml"
VARIANT_TYPE = re.compile(  # what python-docx and python-pptx refuse to open
    rb"application/vnd\.(ms-(word|powerpoint)\.(document|template|slideshow)\.macroEnabled(Template)?"
    rb"|openxmlformats-officedocument\.(wordprocessingml\.template|presentationml\.(template|slideshow)))\.main\+xml"
)
PROPERTIES = {
    "title": ("title",),
    "author": ("author", "creator"),
    "subject": ("subject",),
    "keywords": ("keywords",),
    "language": ("language",),
}
TEMPLATE_TITLES = ("Word Document", "PowerPoint Presentation")  # what programs write when nobody gave a title
TEMPLATE_AUTHORS = ("python-docx", "openpyxl")  # libraries, not people


def core_metadata(properties: Any, archive: zipfile.ZipFile) -> dict[str, Any]:
    """The core properties that are set, under our names; dates in ISO 8601."""
    found = {name: _first(properties, attributes) for name, attributes in PROPERTIES.items()}
    if found["title"] in TEMPLATE_TITLES:
        found["title"] = None
    if found["author"] in TEMPLATE_AUTHORS:
        found["author"] = None
    return {name: value for name, value in found.items() if value} | stated_dates(archive)


def require_text(blocks: tuple[Block, ...], path: str) -> None:
    """Raises NoText for a file that says nothing."""
    if not blocks:
        raise NoText(f"{path}: holds no text", "Text in pictures is read from image and PDF files only.")


def as_plain_package(content: bytes, main_type: str) -> bytes:
    """A document with macros, a template or a slide show as the plain document that it is but for its declared type."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        types = archive.read(CONTENT_TYPES)
        plain = VARIANT_TYPE.sub(main_type.encode(), types)
        if plain == types:
            return content
        rewritten = io.BytesIO()
        with zipfile.ZipFile(rewritten, "w") as copy:
            for member in archive.infolist():
                copy.writestr(member.filename, plain if member.filename == CONTENT_TYPES else archive.read(member))
        return rewritten.getvalue()


def diagram_texts(part: Any) -> list[str]:
    """The texts of the SmartArt diagrams that a document or slide part shows, one a diagram."""
    roots = [parse_part(rel.target_part) for rel in _internal(part) if rel.reltype.endswith(DIAGRAM_DATA)]
    return [text for root in roots if (text := "\n".join(paragraph_texts(root)))]


def paragraph_texts(root: Any) -> list[str]:
    """The DrawingML paragraphs that hold text, in document order."""
    texts = ("".join(t.text or "" for t in p.iter(f"{A}t")).strip() for p in root.iter(f"{A}p"))
    return [text for text in texts if text]


def parse_part(part: Any) -> Any:
    """The XML of a part that its library keeps as bytes; entities stay unresolved, nothing is fetched."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(part.blob, parser)


def _internal(part: Any) -> list[Any]:
    return [rel for rel in part.rels.values() if not rel.is_external]


def _first(properties: Any, attributes: tuple[str, ...]) -> str | None:
    for attribute in attributes:
        value = getattr(properties, attribute, None)
        if value and str(value).strip():
            return str(value).strip()
    return None
