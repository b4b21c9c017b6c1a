"""Office files made by hand, for the XML that python-docx, python-pptx and openpyxl cannot write."""

from __future__ import annotations

import zipfile
from pathlib import Path

W_NAMESPACES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "v": "urn:schemas-microsoft-com:vml",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    }.items()
)
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def paragraph(text: str) -> str:
    return f"<w:p>{run(text)}</w:p>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def write_docx(
    path: Path, body: str, parts: dict[str, str] | None = None, main: str = f"{WORD_TYPE}.document.main+xml"
) -> Path:
    """A Word file with this body; `parts` are kind -> XML inside the root element of the kind (footnotes, header ...)."""
    roots = {"footnotes": "footnotes", "endnotes": "endnotes", "comments": "comments", "header": "hdr", "footer": "ftr"}
    given = parts or {}
    types = "".join(
        f'<Override PartName="/word/{kind}.xml" ContentType="{WORD_TYPE}.{kind}+xml"/>'
        for kind in given
        if kind in roots
    )
    relations = "".join(f'<Relationship Id="{kind}" Type="{OFFICE}/{kind}" Target="{kind}.xml"/>' for kind in given)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/>{types}</Types>',
        )
        archive.writestr(
            "_rels/.rels",
            _relations(f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/>'),
        )
        archive.writestr("word/_rels/document.xml.rels", _relations(relations))
        archive.writestr("word/document.xml", f"<w:document {W_NAMESPACES}><w:body>{body}</w:body></w:document>")
        for kind, content in given.items():
            root = f"w:{roots[kind]}" if kind in roots else "dgm:dataModel"
            archive.writestr(f"word/{kind}.xml", f"<{root} {W_NAMESPACES}>{content}</{root}>")
    return path


def _relations(content: str) -> str:
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{content}</Relationships>'
    )


def add_members(path: Path, members: dict[str, str | bytes]) -> Path:
    """The archive with further members, or with these in the place of those of the same name."""
    with zipfile.ZipFile(path) as archive:
        content: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in {**content, **members}.items():
            archive.writestr(name, member)
    return path
