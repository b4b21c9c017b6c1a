"""Makes a loaded Word document plain before Docling walks it, so that no text is lost and no sentence is cut.

Docling 2.142 leaves out moved text, custom XML, ruby bases and what content controls hold in table cells and rows, and
cuts a paragraph into items where its formatting changes, which turns `H2O` with a subscript into `H 2 O`. Works in memory
on python-docx's tree; the file is never written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
PIC = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
VML = "{urn:schemas-microsoft-com:vml}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"

WRAPPERS = tuple(W + name for name in ("ins", "moveTo", "customXml", "smartTag", "hyperlink", "fldSimple"))
WRAPPER_PROPERTIES = tuple(W + name for name in ("customXmlPr", "smartTagPr"))
GONE = tuple(W + name for name in ("del", "moveFrom"))
RUN_FORMATS = tuple(W + n for n in ("b", "bCs", "i", "iCs", "u", "strike", "dstrike", "vertAlign", "rStyle"))
STORIES = ("header", "footer", "comments")
NOTES = ("footnotes", "endnotes")


def deleted_texts(document: Any) -> list[str]:
    """What tracked changes have deleted, one entry a paragraph, with who and when."""
    return [text for story in _stories(document) for p in story.iter(f"{W}p") if (text := _deleted(p))]


def make_plain(document: Any) -> None:
    """Changes the tree of the body, the page headers and footers, the comments and the notes."""
    from lxml import etree

    for story in _stories(document):
        _plain(story)
    for part in _parts(document, NOTES):
        root = _parse(part)
        _plain(root)
        part._blob = etree.tostring(root, encoding="UTF-8", standalone=True)  # noqa: SLF001 python-docx has no setter


def passages(document: Any) -> Iterator[str]:
    """The text of each paragraph of the body, as the net under Docling wants it."""
    for paragraph in document.element.body.iter(f"{W}p"):
        runs = (t for t in paragraph.iter(f"{W}t") if next(t.iterancestors(f"{W}p")) is paragraph)
        if not any(True for _ in paragraph.iterancestors(f"{MC}Fallback")):
            yield "".join(t.text or "" for t in runs)


def _stories(document: Any) -> Iterator[Any]:
    yield document.element.body
    for part in _parts(document, STORIES):
        yield part.element


def _parts(document: Any, names: tuple[str, ...]) -> Iterator[Any]:
    for rel in document.part.rels.values():
        if not rel.is_external and rel.reltype.rsplit("/", 1)[-1] in names:
            yield rel.target_part


def _parse(part: Any) -> Any:
    from docx.oxml import parse_xml

    return parse_xml(part.blob)


def _plain(root: Any) -> None:
    for element in [*root.iter(*GONE)]:
        element.getparent().remove(element)
    for element in [*root.iter(*WRAPPERS, f"{W}sdt")]:
        _unwrap(element)
    for element in [*root.iter(f"{W}ruby")]:
        _replace_by_text(element, "".join(t.text or "" for t in element.iterfind(f"{W}rubyBase//{W}t")))
    for element in [*root.iter(f"{W}drawing", f"{W}pict")]:
        _leave_picture_out(element)
    for run_properties in [*root.iter(f"{W}rPr")]:
        for element in [*run_properties.iterchildren(*RUN_FORMATS)]:
            run_properties.remove(element)


def _unwrap(element: Any) -> None:
    """Puts the children in the place of the element. A check box stays, as Docling reads its state."""
    if element.find(f"{W}sdtPr/{W14}checkbox") is not None:
        return
    content = element.find(f"{W}sdtContent") if element.tag == f"{W}sdt" else element
    children = [] if content is None else [c for c in content if c.tag not in WRAPPER_PROPERTIES]
    parent = element.getparent()
    place = parent.index(element)
    parent[place : place + 1] = children


def _leave_picture_out(element: Any) -> None:
    """A picture becomes its alternative text; without its image data, Docling does not decode and keep it."""
    has_text = any(True for _ in element.iter(f"{W}txbxContent", f"{A}t"))
    has_picture = any(True for _ in element.iter(f"{PIC}pic", f"{VML}imagedata"))
    for image in [*element.iter(f"{A}blip", f"{VML}imagedata")]:
        image.getparent().remove(image)
    if has_picture and not has_text:
        described = next(element.iter(f"{WP}docPr"), None)
        text = "" if described is None else " ".join((described.get("descr") or "").split())
        _replace_by_text(element, f" [image: {text}] " if text else "")


def _replace_by_text(element: Any, text: str) -> None:
    parent = element.getparent()
    new = parent.makeelement(f"{W}t", {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
    new.text = text
    parent.replace(element, new)


def _deleted(paragraph: Any) -> str:
    deletions = [*paragraph.iter(f"{W}del")]
    text = "".join(t.text or "" for d in deletions for t in d.iter(f"{W}delText")).strip()
    if not text:
        return ""
    who = ", ".join(filter(None, (deletions[0].get(f"{W}author"), (deletions[0].get(f"{W}date") or "")[:10])))
    return f"{text} (deleted by {who})" if who else text
