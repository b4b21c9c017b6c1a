"""The texts that hang on a worksheet in parts of their own: comments (notes and threads), text boxes, chart titles.

Follows the relationships in the archive; openpyxl's streaming mode does not read them.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any

PartTexts = dict[str, dict[str, list[str]]]
"""Sheet's name in the archive -> heading -> texts."""

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
THREADED = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
LEGACY_COPY = "[Threaded comment]"  # what Excel writes into the old part for programs that do not know threads


def texts(archive: zipfile.ZipFile) -> PartTexts:
    """For every sheet with such parts."""
    names = [n for n in archive.namelist() if n.startswith("xl/worksheets/") and n.endswith(".xml")]
    found = {name: _sheet_texts(archive, name) for name in names}
    return {name: by_heading for name, by_heading in found.items() if by_heading}


def _sheet_texts(archive: zipfile.ZipFile, name: str) -> dict[str, list[str]]:
    by_heading: dict[str, list[str]] = {}
    for kind, target in _targets(archive, name):
        root = _parse(archive, target)
        match kind:
            case "comments":
                by_heading.setdefault("Comments", []).extend(_comments(root))
            case "threadedComment":
                by_heading.setdefault("Comments", []).extend(_threads(root))
            case "drawing":
                by_heading.setdefault("Text boxes and charts", []).extend(_drawing(archive, target, root))
    return {heading: found for heading, found in by_heading.items() if found}


def _targets(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[str, str]]:
    """Kind and name in the archive of each part that a part points to."""
    folder, file = posixpath.split(name)
    relations = f"{folder}/_rels/{file}.rels"
    if relations not in archive.namelist():
        return
    for relation in _parse(archive, relations):
        target = posixpath.normpath(posixpath.join(folder, relation.get("Target", ""))).lstrip("/")
        if relation.get("TargetMode") != "External" and target in archive.namelist():
            yield relation.get("Type", "").rsplit("/", 1)[-1], target


def _parse(archive: zipfile.ZipFile, name: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(archive.read(name), parser)


def _comments(root: Any) -> Iterator[str]:
    for comment in root.iter(f"{S}comment"):
        text = "".join(t.text or "" for t in comment.iter(f"{S}t")).strip()
        if text and not text.startswith(LEGACY_COPY):
            yield f"{comment.get('ref')}: {text}"


def _threads(root: Any) -> Iterator[str]:
    for comment in root.iter(f"{THREADED}threadedComment"):
        text = (comment.findtext(f"{THREADED}text") or "").strip()
        if text:
            yield f"{comment.get('ref')}: {text}"


def _drawing(archive: zipfile.ZipFile, name: str, root: Any) -> Iterator[str]:
    """The paragraphs of text boxes, then the titles in the charts that the drawing points to."""
    charts = [_parse(archive, target) for kind, target in _targets(archive, name) if kind == "chart"]
    for part in (root, *charts):
        for paragraph in part.iter(f"{A}p"):
            text = "".join(t.text or "" for t in paragraph.iter(f"{A}t")).strip()
            if text:
                yield text
