"""Reads web pages: what the page says as headings, lists, tables and code, without navigation, scripts and forms.

The page is parsed once, cleaned (`kb.read.html_clean`) and handed to Docling. Nothing is ever loaded: images, frames and
style sheets are taken out before Docling sees the page, and its fetching is off. Pages nested too deeply for a walk are
read as plain text, with a warning.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kb.errors import NoText, NotFound, UnreadableFile
from kb.read import convert, html_carry, html_clean, html_head, leftover
from kb.read.backend import open_backend, reading
from kb.read.decode import Decoded, decode
from kb.types import Block, Document, ReadOptions, Source

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from docling_core.types.doc.document import DoclingDocument

MAX_DEPTH = 120  # Docling takes some six Python frames a level, of Python's 1,000; real pages end at about 60


class Page(msgspec.Struct, frozen=True):
    """What one HTML text says."""

    blocks: tuple[Block, ...]
    title: str | None
    metadata: dict[str, str]
    warnings: tuple[str, ...]


def read(source: Source, options: ReadOptions) -> Document:  # noqa: ARG001 a page has no password, archive or scan
    """Raises UnreadableFile for what is no text, NoText for a page that says nothing."""
    try:
        content = Path(source.path).read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"{source.path}: no such file") from error
    except OSError as error:
        raise UnreadableFile(
            f"{source.path}: {error.strerror}", "Check that it is a file that you may read."
        ) from error
    page = read_page(content, source.path)
    if not page.blocks:
        raise NoText(
            f"{source.path}: the page holds no text", "A page that a script fills must be saved after it has run."
        )
    return Document(
        blocks=page.blocks, extractor="docling", title=page.title, metadata=dict(page.metadata), warnings=page.warnings
    )


def read_page(content: bytes, path: str) -> Page:
    """The blocks and metadata of one page; `path` is for error messages. Raises UnreadableFile."""
    with reading(path):
        decoded = html_text(content)
        soup = _parsed(decoded.text)
        metadata = html_head.metadata(soup)
        warnings = [decoded.warning] if decoded.warning else []
        if html_clean.depth(soup) > MAX_DEPTH:
            warnings.append(f"elements nested deeper than {MAX_DEPTH}: read as plain text")
            blocks = _plain(soup)
        else:
            html_clean.clean(soup)
            passages = [str(text).translate(html_carry.INVISIBLE) for text in soup.find_all(string=True)]
            blocks = _structured(soup, path)
            lost = leftover.missing(passages, blocks)
            blocks += leftover.block(lost)
            warnings += leftover.warning(lost)
    title = metadata.pop("title", None) or next((block.heading[0] for block in blocks if block.heading), None)
    return Page(blocks, title, metadata, tuple(warnings))


def _parsed(text: str) -> BeautifulSoup:
    """By the parser that Docling is made for; by lxml where end tags are left out, which then nest ever deeper."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(text, "html.parser")
    return soup if html_clean.depth(soup) <= MAX_DEPTH else BeautifulSoup(text, "lxml")


def _structured(soup: BeautifulSoup, path: str) -> tuple[Block, ...]:
    codes = html_carry.load(soup)
    return html_carry.unload(convert.blocks(_docling(soup, path)), codes)


def html_text(content: bytes) -> Decoded:
    """The text of a page: by its byte order mark, else as it declares, else as it looks."""
    from bs4.dammit import EncodingDetector

    stripped, bom = EncodingDetector.strip_byte_order_mark(content)
    declared = bom or EncodingDetector.find_declared_encoding(content, is_html=True)
    if declared:
        try:
            return Decoded(stripped.decode(declared), declared)
        except (UnicodeDecodeError, LookupError):
            pass  # a wrong declaration is common; what the bytes look like decides
    return decode(content)


def _docling(soup: BeautifulSoup, path: str) -> DoclingDocument:
    from docling.backend.html_backend import HTMLDocumentBackend
    from docling.datamodel.backend_options import HTMLBackendOptions
    from docling.datamodel.base_models import InputFormat

    options = HTMLBackendOptions.model_validate({"add_title": False, "infer_furniture": False})
    backend = open_backend(HTMLDocumentBackend, InputFormat.HTML, b"<html></html>", path, options)
    backend.soup = soup
    document: DoclingDocument = backend.convert()
    return document


def _plain(soup: BeautifulSoup) -> tuple[Block, ...]:
    html_clean.drop_what_is_never_text(soup)
    lines = (" ".join(line.split()) for line in soup.get_text("\n").splitlines())
    text = "\n\n".join(line for line in lines if line)
    return (Block(text=text),) if text else ()
