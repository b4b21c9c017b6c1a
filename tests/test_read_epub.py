"""Books: the chapters in reading order, with the names of the table of contents, and DRM said clearly."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kb.errors import EncryptedFile, NoText, UnreadableFile
from kb.read import epub
from kb.types import Document, ReadOptions, Source

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>On Ducks</dc:title><dc:title>A subtitle</dc:title><dc:creator>Ann Example</dc:creator>
<dc:creator>Bob Example</dc:creator><dc:language>en</dc:language></metadata>
<manifest><item id="two" href="text/ch%202.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/ch1.xhtml" media-type="application/xhtml+xml"/>
<item id="toc" href="{toc}" media-type="{type}" properties="{properties}"/>
<item id="cover" href="cover.jpg" media-type="image/jpeg"/></manifest>
<spine><itemref idref="toc"/><itemref idref="one"/><itemref idref="two"/><itemref idref="missing"/></spine></package>"""
NAVIGATION = '<html><body><nav><ol><li><a href="text/ch1.xhtml#a">The first</a></li><li><a href="text/ch%202.xhtml">The second</a></li></ol></nav></body></html>'
NCX = (
    '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>The second</text></navLabel>'
    '<content src="text/ch%202.xhtml"/></navPoint></navMap></ncx>'
)
CHAPTERS = {
    "OEBPS/text/ch1.xhtml": '<?xml version="1.0"?><html><body><h1>One</h1><p>First chapter.</p></body></html>',
    "OEBPS/text/ch 2.xhtml": "<html><body><p>Second chapter, without a heading.</p></body></html>",
}


def book(tmp_path: Path, **members: str) -> Path:
    content = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": PACKAGE.format(toc="nav.xhtml", type="application/xhtml+xml", properties="nav"),
        "OEBPS/nav.xhtml": NAVIGATION,
        **CHAPTERS,
        **members,
    }
    path = tmp_path / "a.epub"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return path


def read(path: Path) -> Document:
    return epub.read(Source(path=str(path), doc_type="epub"), ReadOptions())


def test_chapters_come_in_reading_order_under_their_headings(tmp_path):
    document = read(book(tmp_path))
    assert [(block.heading, block.text) for block in document.blocks] == [
        (("One",), "# One\n\nFirst chapter."),
        (("The second",), "Second chapter, without a heading."),
    ]


def test_the_package_gives_title_authors_and_language(tmp_path):
    document = read(book(tmp_path))
    assert document.title == "On Ducks"
    assert document.metadata == {"author": "Ann Example; Bob Example", "language": "en"}


def test_the_table_of_contents_of_epub_2_names_chapters(tmp_path):
    package = PACKAGE.format(toc="toc.ncx", type="application/x-dtbncx+xml", properties="")
    document = read(book(tmp_path, **{"OEBPS/book.opf": package, "OEBPS/toc.ncx": NCX}))
    assert document.blocks[1].heading == ("The second",)


def test_a_missing_chapter_is_a_warning(tmp_path):
    package = PACKAGE.format(toc="gone.xhtml", type="application/xhtml+xml", properties="")
    document = read(book(tmp_path, **{"OEBPS/book.opf": package}))
    assert document.warnings == ("chapter OEBPS/gone.xhtml is missing in the archive",)


ENCRYPTED = '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData><e:CipherData><e:CipherReference URI="{}"/></e:CipherData></e:EncryptedData></encryption>'


def test_an_encrypted_chapter_is_an_encrypted_file(tmp_path):
    with pytest.raises(EncryptedFile, match="DRM"):
        read(book(tmp_path, **{"META-INF/encryption.xml": ENCRYPTED.format("OEBPS/text/ch1.xhtml")}))


def test_an_obfuscated_font_does_no_harm(tmp_path):
    assert read(book(tmp_path, **{"META-INF/encryption.xml": ENCRYPTED.format("OEBPS/font.otf")})).blocks


def test_an_archive_that_is_no_book_is_said_to_be_none(tmp_path):
    path = tmp_path / "a.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(UnreadableFile, match="not an EPUB"):
        read(path)


def test_a_book_of_pictures_holds_no_text(tmp_path):
    empty = dict.fromkeys(CHAPTERS, "<html><body><img src='a.jpg'/></body></html>")
    with pytest.raises(NoText):
        read(book(tmp_path, **empty))


def test_a_package_that_reads_a_local_file_gets_nothing(tmp_path):
    (tmp_path / "secret.txt").write_text("password")
    evil = f'<!DOCTYPE x SYSTEM "file://{tmp_path}/secret.txt">' + PACKAGE.format(
        toc="nav.xhtml", type="application/xhtml+xml", properties="nav"
    )
    assert "password" not in repr(read(book(tmp_path, **{"OEBPS/book.opf": evil})))
