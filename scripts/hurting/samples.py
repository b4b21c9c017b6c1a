"""Files of every kind that can be read, to be damaged: the real ones of the collection where it is, and small ones made here."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from kb.detect import type_of_name

TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
OPEN = Path(__file__).parents[3] / "shared" / "data" / "docs" / "open"
MOST_BYTES = {"image": 110_000, "pdf": 100_000, "docx": 60_000, "html": 70_000}
MOST_BYTES_ELSE = 25_000
"""Of a real file: damage to a long one is not worse, and takes longer to read."""
SLOW = frozenset({
    "columns.pdf", "AcroForm_TEST_compiled.pdf", "SPARSE-2024-INV-1234_borderless_table.pdf", "multicolumn.pdf",
    "nics-background-checks-2015-11-rotated.pdf", "ocr_test.pdf", "scotus-transcript-p1.pdf", "skew.pdf", "truetype_font_nomapping.pdf",
    "phototest.tif", "pytesseract-test.webp", "typewriter.png", "front-matter.md", "html-reader.html", "longline.json", "manifest.tsv",
    "v8-blog.html", "mercurial.html",
})  # fmt: skip
"""Pages and pictures that networks read, in 0.3 to 12 s, and the longest texts of a type, in 0.1 to 0.4 s."""

TEXTS = {
    "note.md": "---\ntitle: Note\ntags: [a, b]\n---\n# One\n\nText *with* `code`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Two\n\n```py\nx = 1\n```\n\n> quote\n\n1. one\n   - two\n",
    "plain.txt": "Title\n=====\n\nA plain paragraph of some words. Grüße aus Köln.\n\nUser: what?\nAssistant: that.\n",
    "talk.vtt": "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\n<v Ann>Hello there.\n\n00:00:03.000 --> 00:00:04.000\n<v Bob>And you?\n",
    "talk.srt": "1\n00:00:01,000 --> 00:00:02,500\nHello there.\n\n2\n00:00:03,000 --> 00:00:04,000\nAnd you?\n",
    "session.jsonl": "".join(
        json.dumps({"type": role, "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "message": {"role": role, "content": text}}) + "\n"
        for role, text in (("user", "What is red?"), ("assistant", [{"type": "text", "text": "A colour."}, {"type": "tool_use", "name": "Read", "input": {"file": "a.md"}}]))
        for _ in range(3)
    ),
    "chat.txt": "User: what is it?\n\nAssistant: it is red.\n\nUser: why?\n\nAssistant: because.\n\n" * 3,
    "book.ipynb": json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}, "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "print(1)", "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}, {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "x", "text/html": "<b>x</b>"}}]},
    ]}),
    "rows.csv": 'name,age,city\nAnn,30,Bern\nBob,41,"Köln, old"\n' * 4,
    "rows.tsv": "name\tage\nAnn\t30\nBob\t41\n",
    "lines.jsonl": '{"a": 1, "b": [1, 2]}\n{"a": 2, "b": {"c": "d"}}\n',
    "deep.json": json.dumps({"a": {"b": [{"c": 1.5, "d": None, "e": "text \U0001f600"}] * 3}, "list": list(range(20))}, indent=1),
    "conf.yaml": "base: &b\n  x: 1\nother:\n  <<: *b\n  text: |\n    several\n    lines\n  list: [1, 2, {a: b}]\n---\nsecond: document\n",
    "conf.toml": 'title = "x"\n[a.b]\nc = [1, 2]\nd = """long\ntext"""\n[[t]]\nn = 1979-05-27T07:32:00Z\n',
    "page.html": "<!DOCTYPE html><html lang=en><head><title>Page</title><meta name=author content=Ann></head><body><nav>menu</nav><main><h1>One</h1><p>Text <b>bold</b> <a href='#x'>link</a></p><table><tr><th>a</th><th colspan=2>b</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></table><pre>code</pre><ul><li>x<ul><li>y</ul></ul></main></body></html>",
    "mod.py": 'class A:\n    """Doc."""\n\n    def f(self, x: int) -> int:\n        return x + 1\n\n\nasync def g(*a, **k):\n    async with a as b:\n        yield b\n',
    "mod.js": "class A { f(x) { return x + 1 } }\nexport const g = async () => { await `t${1}` };\n",
    "mod.ts": "interface A<T> { x: T }\nexport function f<T extends A<T>>(x: T): T { return x }\n",
    "mod.go": 'package main\n\nimport "fmt"\n\ntype A struct{ x int }\n\nfunc (a *A) F() int { return a.x }\n\nfunc main() { fmt.Println(1) }\n',
    "mod.rs": "pub struct A { x: i32 }\nimpl A { pub fn f(&self) -> i32 { self.x } }\nmacro_rules! m { () => {} }\n",
    "mod.c": "#include <stdio.h>\nstruct a { int x; };\nstatic int f(struct a *p) { return p->x; }\nint main(void) { return f(0); }\n",
    "mod.cpp": "template <class T> class A { public: T f() { return x; } T x; };\nnamespace n { int g() { return A<int>{}.f(); } }\n",
    "mod.java": "package p;\npublic class A { private int x; public int f() { return x; } interface B { void g(); } }\n",
    "mod.rb": "class A\n  def f(x)\n    x + 1\n  end\nend\nmodule M; end\n",
    "mod.sh": '#!/bin/bash\nf() {\n  echo "$1" <<EOF\ntext\nEOF\n}\nf x | grep y\n',
    "mod.sql": "CREATE TABLE a (x INT PRIMARY KEY);\nCREATE FUNCTION f() RETURNS INT AS $$ SELECT 1 $$ LANGUAGE sql;\nSELECT * FROM a;\n",
}  # fmt: skip


class Sample(NamedTuple):
    name: str
    doc_type: str
    content: bytes

    @property
    def is_slow(self) -> bool:
        return self.name in SLOW


def _type_of(name: str) -> str:
    kind = "transcript" if name in {"session.jsonl", "chat.txt"} else type_of_name(Path(name))
    if kind is None:
        raise ValueError(f"{name} is of no type")
    return kind


def samples() -> dict[str, list[Sample]]:
    """Of each type its samples, in a settled order."""
    found: defaultdict[str, list[Sample]] = defaultdict(list)
    for name, text in TEXTS.items():
        found[_type_of(name)].append(Sample(name, _type_of(name), text.encode()))
    for name, content in {**_office(), **_pages(), **_pictures()}.items():
        found[_type_of(name)].append(Sample(name, _type_of(name), content))
    for path in sorted(OPEN.rglob("*.*")):
        kind = type_of_name(path)
        if kind and 0 < path.stat().st_size <= MOST_BYTES.get(kind, MOST_BYTES_ELSE):
            found[kind].append(Sample(path.name, kind, path.read_bytes()))
    return dict(found)


def _office() -> dict[str, bytes]:
    made = {"letter.docx": _letter(), "sheet.xlsx": _sheet(), "books.xlsx": _sheets(), "deck.pptx": _deck()}
    return {**made, "book.epub": _book()}


def _letter() -> bytes:
    import docx

    letter = docx.Document()
    letter.add_heading("Letter", 1)
    letter.add_paragraph("Some text.", style="List Bullet")
    letter.add_table(2, 2).cell(0, 0).text = "cell"
    return _saved(letter)


def _sheet() -> bytes:
    import openpyxl

    sheet = openpyxl.Workbook()
    for row in (("name", "value"), ("a", 1.5), ("b", "=A1")):
        sheet.active.append(row)
    sheet.active.merge_cells("D1:E2")
    return _saved(sheet)


def _sheets() -> bytes:
    """Dates, formats, a comment, a link, a table, a chart, a hidden sheet."""
    from datetime import date

    import openpyxl
    from openpyxl.chart import BarChart, Reference
    from openpyxl.comments import Comment
    from openpyxl.worksheet.table import Table

    book = openpyxl.Workbook()
    sheet = book.active
    for row in (("day", "share"), (date(2026, 1, 2), 0.25), ("x", True), ("y", "#N/A")):
        sheet.append(row)
    sheet["B2"].number_format = "0%"
    sheet["B3"].comment = Comment("a note", "Ann")
    sheet["A3"].hyperlink = "https://example.com"
    sheet.add_table(Table(displayName="T", ref="A1:B4"))
    chart = BarChart()
    chart.title = "Shares"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=4), titles_from_data=True)
    sheet.add_chart(chart, "D2")
    book.create_sheet("hidden").sheet_state = "hidden"
    book["hidden"]["C3"] = "deep"
    return _saved(book)


def _deck() -> bytes:
    """A title, notes, a list, a table, a chart, a group of shapes."""
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text, slide.notes_slide.notes_text_frame.text = "Title", "a note"
    slide.placeholders[1].text = "one\ntwo"
    slide.shapes.add_table(2, 2, 0, 0, 99, 99).table.cell(0, 0).text = "cell"
    slide.shapes.add_group_shape().shapes.add_textbox(0, 0, 9, 9).text_frame.text = "in a group"
    numbers = CategoryChartData()
    numbers.categories = ["a", "b"]
    numbers.add_series("s", (1, 2.5))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 99, 99, numbers)
    return _saved(deck)


def _book() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container' version='1.0'><rootfiles><rootfile full-path='o.opf' media-type='application/oebps-package+xml'/></rootfiles></container>",
        )
        archive.writestr(
            "o.opf",
            "<package xmlns='http://www.idpf.org/2007/opf' version='3.0'><metadata xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>Book</dc:title></metadata><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/><item id='n' href='n.xhtml' properties='nav' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>",
        )
        archive.writestr(
            "a.xhtml",
            "<html xmlns='http://www.w3.org/1999/xhtml'><body><h1>One</h1><p>Text of a chapter.</p></body></html>",
        )
        archive.writestr(
            "n.xhtml",
            "<html xmlns='http://www.w3.org/1999/xhtml' xmlns:epub='http://www.idpf.org/2007/ops'><body><nav epub:type='toc'><ol><li><a href='a.xhtml'>One</a></li></ol></nav></body></html>",
        )
    return _undated(made.getvalue())


def _pages() -> dict[str, bytes]:
    """PDFs with and without compression: without it, what is damaged is what is drawn."""
    from kb.read.pdf.opening import import_pymupdf

    plain, columns = import_pymupdf().open(), import_pymupdf().open()
    for number in (1, 2):
        page = plain.new_page()
        for line in range(20):
            page.insert_text((72, 100 + 14 * line), f"A line of text on page {number}, number {line}.", fontsize=9)
    page = columns.new_page()
    for column in (72, 320):
        for line in range(20):
            page.insert_text((column, 100 + 14 * line), f"A page of two columns. {line}", fontsize=9)
    page.draw_rect((72, 400, 300, 440))
    return {
        "pages.pdf": plain.tobytes(expand=255, no_new_id=True),
        "packed.pdf": plain.tobytes(deflate=True, use_objstms=1, no_new_id=True),
        "columns.pdf": columns.tobytes(expand=255, no_new_id=True),
    }


def _pictures() -> dict[str, bytes]:
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (220, 60), "white")
    ImageDraw.Draw(picture).text((10, 20), "Some text in a picture", fill="black")
    made = {}
    for kind in ("png", "jpeg", "tiff", "bmp", "webp"):
        file = io.BytesIO()
        picture.save(file, kind)
        made[f"picture.{kind}"] = file.getvalue()
    return made


def _saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return _undated(file.getvalue())


def _undated(archive: bytes) -> bytes:
    """The same whenever it was made, so that a seed makes the same files of it."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as dated, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as undated:
        for name in dated.namelist():
            content = dated.read(name)
            is_archive = content.startswith(b"PK\x03\x04")  # the numbers of a chart
            content = _undated(content) if is_archive else TIME.sub(b"2026-01-01T00:00:00Z", content)
            undated.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()
