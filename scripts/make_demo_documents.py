"""Makes the demo documents that cannot be written by hand: DOCX, XLSX, PPTX, PDF, EPUB and a scanned page.

    python scripts/make_demo_documents.py

Run it after changing scripts/demo_texts.toml, and commit what it writes to scripts/demo_documents. Dates inside the files
are fixed, so that a second run with the same library versions changes no byte. It does not touch the documents that are
plain text.
"""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import pymupdf
from docx import Document
from docx.document import Document as DocxDocument
from openpyxl import Workbook
from openpyxl.styles import Font
from PIL import Image, ImageDraw, ImageFont
from pptx import Presentation

FOLDER = Path(__file__).parent / "demo_documents"
TEXTS = tomllib.loads(Path(__file__).with_name("demo_texts.toml").read_text(encoding="utf-8"))
ZIP_DATE = (2025, 11, 30, 12, 0, 0)
CORE_DATE = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")

EPUB_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""
EPUB_PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">lindholm-hill-booklet-1</dc:identifier><dc:title>First Nights</dc:title>
<dc:creator>Wilma Dray</dc:creator><dc:language>en</dc:language><dc:date>2025-08-30</dc:date>
<meta property="dcterms:modified">2025-08-30T12:00:00Z</meta>
</metadata>
<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>{items}</manifest>
<spine>{spine}</spine>
</package>"""
EPUB_PAGE = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">
<head><title>{title}</title></head>
<body><h1>{title}</h1>{body}</body>
</html>"""


def make_docx(path: Path) -> None:
    """Blocks apart by blank lines: headings begin with #, table rows with |."""
    document = Document()
    document.core_properties.title, document.core_properties.author = "Repair of the dome", "Sune Hallbrook"
    for block in TEXTS["dome_report"]["text"].strip().split("\n\n"):
        if block.startswith("#"):
            marks, heading = block.split(" ", 1)
            document.add_heading(heading, level=len(marks))
        elif block.startswith("|"):
            add_table(document, [row.removeprefix("|").split("|") for row in block.splitlines()])
        else:
            document.add_paragraph(block.replace("\n", " "))
    document.save(str(path))


def add_table(document: DocxDocument, rows: list[list[str]]) -> None:
    table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text.strip()


def make_xlsx(path: Path) -> None:
    """A sheet a table, with a bold head and a row of totals."""
    book = Workbook()
    book.remove(book.active)
    for name, rows in TEXTS["budget"].items():
        sheet = book.create_sheet(name)
        totals = [sum(row[column] for row in rows[1:]) for column in (1, 2)]
        for row in [*rows, ["Total", *totals, ""]]:
            sheet.append(row)
        for cell in sheet[1]:
            cell.font = Font(bold=True)
    book.save(path)


def make_pptx(path: Path) -> None:
    deck = Presentation()
    for texts in TEXTS["slide"]:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = texts["title"]
        slide.placeholders[1].text = "\n".join(texts["lines"])
        slide.notes_slide.notes_text_frame.text = texts["note"]
    deck.save(str(path))


def make_pdf(path: Path) -> None:
    document = pymupdf.open()
    for html in TEXTS["mirror_report"]["pages"]:
        page = document.new_page()
        page.insert_htmlbox(page.rect + (60, 60, -60, -60), html, css="td, th {border: 1px solid; padding: 4px}")  # noqa: RUF005 - adds coordinates
    document.set_metadata({"title": "Re-coating of the primary mirror", "author": "Tobiah Renholt"})
    document.subset_fonts()
    document.save(path, garbage=4, deflate=True, no_new_id=True)


def make_png(path: Path) -> None:
    """A page as a scanner leaves it: grey paper, slightly turned, no text layer."""
    page = Image.new("L", (1000, 1414), 244)
    font = ImageFont.load_default(25)
    ImageDraw.Draw(page).multiline_text((110, 110), TEXTS["street_lamp_letter"]["text"], fill=40, font=font, spacing=13)
    page = page.rotate(0.4, Image.Resampling.BICUBIC, fillcolor=244)
    few_greys = page.point(lambda grey: grey // 24 * 24)  # 47 KB instead of 116
    few_greys.save(path, optimize=True, dpi=(120, 120))


def make_epub(path: Path) -> None:
    chapters = {f"chapter{number}": chapter for number, chapter in enumerate(TEXTS["chapter"], start=1)}
    items = "".join(f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in chapters)
    links = "".join(f'<li><a href="{n}.xhtml">{chapter["title"]}</a></li>' for n, chapter in chapters.items())
    contents = f'<nav epub:type="toc"><ol>{links}</ol></nav>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr("META-INF/container.xml", EPUB_CONTAINER)
        spine = "".join(f'<itemref idref="{n}"/>' for n in chapters)
        book.writestr("book.opf", EPUB_PACKAGE.format(items=items, spine=spine))
        book.writestr("nav.xhtml", EPUB_PAGE.format(title="Contents", body=contents))
        for name, chapter in chapters.items():
            book.writestr(f"{name}.xhtml", EPUB_PAGE.format(**chapter))


def pin_dates(path: Path) -> None:
    """Rewrites a zip-based document with fixed dates, its members in the same order and compression."""
    with zipfile.ZipFile(path) as source:
        members = [(info.filename, info.compress_type, source.read(info)) for info in source.infolist()]
    with zipfile.ZipFile(path, "w") as target:
        for name, compression, content in members:
            pinned = CORE_DATE.sub(rb"\g<1>2025-11-30T12:00:00Z", content) if name.endswith("core.xml") else content
            target.writestr(zipfile.ZipInfo(name, ZIP_DATE), pinned, compression)


MAKERS = {
    "reports/dome-repair-2025.docx": make_docx,
    "reports/budget-2025.xlsx": make_xlsx,
    "reports/outreach-plan-2026.pptx": make_pptx,
    "reports/mirror-recoating-2025.pdf": make_pdf,
    "letters/from-the-street-lighting-office.png": make_png,
    "booklets/first-nights.epub": make_epub,
}


if __name__ == "__main__":
    for name, make in MAKERS.items():
        make(FOLDER / name)
        if zipfile.is_zipfile(FOLDER / name):
            pin_dates(FOLDER / name)
        print(f"{name}: {(FOLDER / name).stat().st_size} bytes")
