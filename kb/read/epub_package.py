"""What an EPUB's package says: its chapters in reading order, their names in the table of contents, its metadata.

Reads container.xml, the package file, and the navigation document (EPUB 3) or NCX (EPUB 2). Does not read chapters.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urldefrag

import msgspec

from kb.errors import UnreadableFile

CONTAINER = "META-INF/container.xml"
C = "{urn:oasis:names:tc:opendocument:xmlns:container}"
OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
CHAPTER_TYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
MODIFIED = "dcterms:modified"
METADATA = {
    "title": "title",
    "creator": "author",
    "language": "language",
    "publisher": "publisher",
    "date": "published",
    "description": "description",
    "identifier": "identifier",
    "subject": "subject",
}


class Package(msgspec.Struct, frozen=True):
    chapters: tuple[str, ...]
    """Names in the archive, in reading order; the table of contents itself left out."""
    labels: dict[str, str]
    """Name in the archive -> name in the table of contents."""
    metadata: dict[str, str]


class Item(msgspec.Struct, frozen=True):
    """An entry of the package's manifest."""

    name: str
    media_type: str
    is_navigation: bool


def read(archive: zipfile.ZipFile, path: str) -> Package:
    """Raises UnreadableFile where the archive is no book."""
    name = _package_name(archive, path)
    root = parse(archive.read(name))
    items = {entry.get("id", ""): _item(entry, name) for entry in root.iter(f"{OPF}item")}
    spine = [items[ref.get("idref")] for ref in root.iter(f"{OPF}itemref") if ref.get("idref") in items]
    chapters = [item.name for item in spine if item.media_type in CHAPTER_TYPES and not item.is_navigation]
    return Package(tuple(dict.fromkeys(chapters)), dict(_labels(archive, list(items.values()))), _metadata(root))


def parse(content: bytes) -> Any:
    """XML without entities or fetching; small damage is mended, as in every reading program."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    root = etree.fromstring(content, parser)
    return etree.Element("nothing") if root is None else root


def _package_name(archive: zipfile.ZipFile, path: str) -> str:
    names = archive.namelist()
    if CONTAINER in names:
        for rootfile in parse(archive.read(CONTAINER)).iter(f"{C}rootfile"):
            if rootfile.get("full-path") in names:
                return str(rootfile.get("full-path"))
    found = next((name for name in names if name.lower().endswith(".opf")), None)
    if found is None:
        raise UnreadableFile(f"{path}: an archive, but not an EPUB book", "Give --type if it is another kind.")
    return found


def _item(entry: Any, package: str) -> Item:
    is_navigation = "nav" in (entry.get("properties") or "").split()
    return Item(_resolved(entry.get("href", ""), package), entry.get("media-type", ""), is_navigation)


def _resolved(href: str, base: str) -> str:
    """A reference in the file `base` to a name in the archive."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(urldefrag(href).url)))


def _labels(archive: zipfile.ZipFile, items: list[Item]) -> Iterator[tuple[str, str]]:
    """From the NCX, then from the navigation document, which is the newer one and wins."""
    for item in sorted(items, key=lambda item: item.is_navigation):
        if item.name not in archive.namelist():
            continue
        if item.media_type == "application/x-dtbncx+xml":
            yield from reversed(list(_ncx_labels(parse(archive.read(item.name)), item.name)))
        elif item.is_navigation:
            yield from reversed(list(_navigation_labels(archive.read(item.name), item.name)))


def _ncx_labels(root: Any, name: str) -> Iterator[tuple[str, str]]:
    for point in root.iter(f"{NCX}navPoint"):
        label = " ".join((point.findtext(f"{NCX}navLabel/{NCX}text") or "").split())
        content = point.find(f"{NCX}content")
        if label and content is not None:
            yield _resolved(content.get("src", ""), name), label


def _navigation_labels(content: bytes, name: str) -> Iterator[tuple[str, str]]:
    from bs4 import BeautifulSoup

    for link in BeautifulSoup(content, "html.parser").select("nav a[href]"):
        label = " ".join(link.get_text(" ").split())
        if label:
            yield _resolved(str(link["href"]), name), label


def _metadata(root: Any) -> dict[str, str]:
    """The Dublin Core elements that are set; several of one kind joined."""
    found: dict[str, list[str]] = {}
    for element, ours in METADATA.items():
        texts = (" ".join("".join(e.itertext()).split()) for e in root.iter(f"{DC}{element}"))
        found[ours] = [text for text in dict.fromkeys(texts) if text]
    joined = {ours: "; ".join(texts) for ours, texts in found.items() if texts}
    if found["title"]:
        joined["title"] = found["title"][0]
    for element in root.iter(f"{OPF}meta"):
        if element.get("property") == MODIFIED and not element.get("refines") and element.text:
            joined["modified"] = element.text.strip()
    return joined
