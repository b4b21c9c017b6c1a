"""Reads EPUB books: the chapters in reading order, each through the route of a web page.

Follows container, package and spine (EPUB 2 and 3). A chapter without headings of its own goes under its name in the table
of contents. Fonts that are only obfuscated do no harm; encrypted chapters (DRM) are a clear error. Nothing is unpacked to
disk, and pictures are not read.
"""

from __future__ import annotations

import posixpath
import zipfile
from urllib.parse import unquote

import msgspec

from kb.errors import EncryptedFile, NoText
from kb.read import epub_package
from kb.read.archive import open_archive, read_member
from kb.read.backend import reading
from kb.read.html import read_page
from kb.types import Block, Document, ReadOptions, Source

ENCRYPTION = "META-INF/encryption.xml"
CIPHER = "{http://www.w3.org/2001/04/xmlenc#}CipherReference"
CONTENT_SUFFIXES = (".xhtml", ".html", ".htm", ".xml", ".opf", ".ncx")


def read(source: Source, options: ReadOptions) -> Document:
    """Raises UnreadableFile for damage and bombs, EncryptedFile for DRM, NoText for a book of pictures."""
    with open_archive(source, options) as archive, reading(source.path):
        _refuse_drm(archive, source)
        package = epub_package.read(archive, source.path)
        blocks: list[Block] = []
        warnings: list[str] = []
        for name in package.chapters:
            if name not in archive.namelist():
                warnings.append(f"chapter {name} is missing in the archive")
                continue
            page = read_page(read_member(archive, name, options.max_expanded_bytes), f"{source.path}: {name}")
            blocks += _under(page.blocks, package.labels.get(name))
            warnings += [f"{name}: {warning}" for warning in page.warnings]
    if not blocks:
        raise NoText(
            f"{source.path}: the book holds no text", "A book of pictures must be made searchable by OCR first."
        )
    metadata = dict(package.metadata)
    title = metadata.pop("title", None)
    return Document(blocks=tuple(blocks), extractor="docling", title=title, metadata=metadata, warnings=tuple(warnings))


def _under(blocks: tuple[Block, ...], label: str | None) -> tuple[Block, ...]:
    if label is None or any(block.heading for block in blocks):
        return blocks
    return tuple(msgspec.structs.replace(block, heading=(label,)) for block in blocks)


def _refuse_drm(archive: zipfile.ZipFile, source: Source) -> None:
    """A book may list obfuscated fonts as encrypted; only its text matters here."""
    if ENCRYPTION not in archive.namelist():
        return
    root = epub_package.parse(archive.read(ENCRYPTION))
    names = [unquote(reference.get("URI", "")) for reference in root.iter(CIPHER)]
    if any(posixpath.splitext(name)[1].lower() in CONTENT_SUFFIXES for name in names):
        raise EncryptedFile(f"{source.path}: the book is encrypted (DRM)", "Only the shop's own reader can open it.")
