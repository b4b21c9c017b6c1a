"""Presentations: a slide is a page, its title the heading, and everything on it is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from office_xml import add_members
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from kb.errors import NoText, UnreadableFile
from kb.read import pptx
from kb.types import Document, ReadOptions, Source

A_NAMESPACE = "http://schemas.openxmlformats.org/drawingml/2006/main"
DIAGRAM = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
TITLE_AND_BODY, TITLE_ONLY, BLANK = 1, 5, 6  # layouts of the default template


def read(path: Path) -> Document:
    return pptx.read(Source(path=str(path), doc_type="pptx"), ReadOptions())


def saved(deck, tmp_path: Path, name: str = "a.pptx") -> Document:
    deck.save(str(tmp_path / name))
    return read(tmp_path / name)


def rows(document: Document) -> list[tuple]:
    return [(block.page, block.heading, block.text) for block in document.blocks]


def test_slides_are_pages_under_their_titles(tmp_path):
    deck = Presentation()
    for title, text in (("Plan", "First\nSecond"), ("Result", "Done")):
        slide = deck.slides.add_slide(deck.slide_layouts[TITLE_AND_BODY])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY]).shapes.title.text = "Questions?"
    document = saved(deck, tmp_path)
    assert rows(document) == [
        (1, ("Plan",), "# Plan\n\n- First\n- Second"),
        (2, ("Result",), "# Result\n\n- Done"),
        (3, ("Questions?",), "# Questions?"),
    ]
    assert (document.title, document.metadata["slides"]) == ("Plan", 3)


def test_the_title_comes_first_wherever_it_stands(tmp_path):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "above"
    slide.shapes.title.text = "The title"
    slide.shapes.title.top = Inches(5)
    assert rows(saved(deck, tmp_path)) == [(1, ("The title",), "# The title\n\nabove")]


def test_notes_are_text_under_their_slide(tmp_path):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    slide.shapes.title.text = "Plan"
    slide.notes_slide.notes_text_frame.text = "Do not forget the budget"
    assert (1, ("Plan", "Notes"), "Do not forget the budget") in rows(saved(deck, tmp_path))


def test_tables_charts_and_nested_groups_are_text(tmp_path):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(1)).table
    for at, text in enumerate(("Year", "Sum", "2024", "12")):
        table.cell(at // 2, at % 2).text = text
    group = slide.shapes.add_group_shape()
    group.shapes.add_group_shape().shapes.add_textbox(0, 0, 9, 9).text_frame.text = "deep inside"
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Sales", (1.5, 2.5))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, Inches(5), Inches(3), Inches(3), data)
    texts = [block.text for block in saved(deck, tmp_path).blocks]
    assert "| Year | Sum |\n| --- | --- |\n| 2024 | 12 |" in texts
    assert "deep inside" in texts
    assert any("| East | 1.5 |" in text for text in texts)


def test_smart_art_and_modern_comments_are_text(tmp_path):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    slide.shapes.title.text = "Plan"
    for name, kind, text in (
        ("/ppt/diagrams/data1.xml", DIAGRAM, "A step of the process"),
        ("/ppt/comments/c1.xml", pptx.MODERN_COMMENTS, "Please check the figures"),
    ):
        xml = f'<x xmlns:a="{A_NAMESPACE}"><a:p><a:r><a:t>{text}</a:t></a:r></a:p></x>'.encode()
        slide.part.relate_to(Part(PackURI(name), "application/xml", slide.part.package, xml), kind)
    found = rows(saved(deck, tmp_path))
    assert (1, ("Plan", "Diagram"), "A step of the process") in found
    assert (1, ("Plan", "Comments"), "Please check the figures") in found


def test_hidden_slides_are_read_and_said_to_be_hidden(tmp_path):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_AND_BODY])
    slide.shapes.title.text = "Backup"
    slide.placeholders[1].text = "the secret plan"
    slide.element.set("show", "0")
    document = saved(deck, tmp_path)
    assert "the secret plan" in document.blocks[0].text
    assert document.metadata["hidden_slides"] == [1]


def test_a_picture_gives_its_alternative_text(tmp_path):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    (tmp_path / "p.png").write_bytes(PNG)
    picture = slide.shapes.add_picture(str(tmp_path / "p.png"), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "A duck on the lake")
    assert rows(saved(deck, tmp_path)) == [(1, ("Pictures",), "A duck on the lake")]


def test_a_slide_show_is_read(tmp_path):
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY]).shapes.title.text = "Plan"
    deck.save(str(tmp_path / "a.ppsx"))
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.ppsx") as archive:
        types = archive.read("[Content_Types].xml").replace(b"presentation.main+xml", b"slideshow.main+xml")
    add_members(tmp_path / "a.ppsx", {"[Content_Types].xml": types})
    assert rows(read(tmp_path / "a.ppsx")) == [(1, ("Plan",), "# Plan")]


def test_a_deck_without_text_is_said_to_hold_none(tmp_path):
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[BLANK])
    with pytest.raises(NoText, match="holds no text"):
        saved(deck, tmp_path)


def test_an_old_deck_is_refused_with_a_word_on_what_to_do(tmp_path):
    path = tmp_path / "old.ppt"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    with pytest.raises(UnreadableFile, match="old binary") as caught:
        read(path)
    assert "save it as .pptx" in caught.value.hint


def test_a_word_file_under_the_wrong_name_is_one_clear_line(tmp_path):
    import docx as python_docx

    python_docx.Document().save(str(tmp_path / "a.pptx"))
    with pytest.raises(UnreadableFile, match="damaged"):
        read(tmp_path / "a.pptx")


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
