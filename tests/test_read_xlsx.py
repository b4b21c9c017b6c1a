"""Workbooks: each sheet a heading and a page, values as one sees them, and no cost for what is empty."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from openpyxl.comments import Comment

from kb.errors import EncryptedFile, NoText, UnreadableFile
from kb.read import xlsx
from kb.types import Document, ReadOptions, Source


def read(path: Path) -> Document:
    return xlsx.read(Source(path=str(path), doc_type="xlsx"), ReadOptions())


def saved(book: openpyxl.Workbook, tmp_path: Path) -> Document:
    book.save(tmp_path / "a.xlsx")
    return read(tmp_path / "a.xlsx")


def sheet_of(rows: list[list], tmp_path: Path) -> Document:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    return saved(book, tmp_path)


def test_a_sheet_is_a_heading_and_a_page_and_its_rows_a_markdown_table(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "First"
    book.active.append(["x"])
    prices = book.create_sheet("Prices")
    prices.append(["Part", "Price"])
    prices.append(["Valve | brass", 12])
    document = saved(book, tmp_path)
    assert [(b.page, b.heading, b.kind, b.text) for b in document.blocks] == [
        (1, ("First",), "text", "x"),
        (2, ("Prices",), "table", "| Part | Price |\n| --- | --- |\n| Valve \\| brass | 12 |"),
    ]
    assert document.metadata["sheets"] == ["First", "Prices"]


def test_values_are_shown_as_a_reader_sees_them(tmp_path):
    book = openpyxl.Workbook()
    values = {
        "moment": dt.datetime(2024, 5, 6, 7, 8, 9),  # noqa: DTZ001 a spreadsheet knows no time zone
        "day": dt.date(2024, 2, 29),
        "clock": dt.time(23, 5),
        "span": dt.timedelta(hours=30, minutes=5),
        "truth": True,
        "error": "#DIV/0!",
        "sum": 0.1 + 0.2,
        "whole": 1250.0,
        "share": 0.125,
    }
    for name, value in values.items():
        book.active.append([name, value])
    book.active.cell(len(values), 2).number_format = "0.0%"
    text = saved(book, tmp_path).blocks[0].text
    shown = dict(line.strip("| ").split(" | ") for line in text.split("\n") if "---" not in line)
    assert shown == {
        "moment": "2024-05-06 07:08:09",
        "day": "2024-02-29",
        "clock": "23:05:00",
        "span": "30:05:00",
        "truth": "TRUE",
        "error": "#DIV/0!",
        "sum": "0.3",
        "whole": "1250",
        "share": "12.5%",
    }


def test_formulas_give_their_stored_values(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_formula(1, 0, "=1+1", None, 2)
        sheet.write(1, 1, "=text")
    text = read(tmp_path / "a.xlsx").blocks[0].text
    assert "| 2 |" in text
    assert "=1+1" not in text


def test_formulas_that_were_never_calculated_are_a_warning(tmp_path):
    document = sheet_of([["a", "=1+1"], ["b", "=2+2"]], tmp_path)
    assert "2 formulas hold no stored value" in document.warnings[0]


def test_empty_rows_part_tables(tmp_path):
    document = sheet_of([["a", "b"], [1, 2], [None], ["c", "d"], [3, 4]], tmp_path)
    assert [block.text.split("\n")[0] for block in document.blocks] == ["| a | b |", "| c | d |"]


def test_merged_cells_stand_in_each_place_they_cover(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Budget"], ["Region", "Q1"], [None, "Jan", "Feb"], ["North", 1, 2], [None, 3, 4]):
        sheet.append(row)
    for merged in ("A1:C1", "A2:A3", "B2:C2", "A4:A5"):
        sheet.merge_cells(merged)
    (block,) = saved(book, tmp_path).blocks
    assert block.context == "Budget"
    assert block.text == "| Region | Q1 Jan | Q1 Feb |\n| --- | --- | --- |\n| North | 1 | 2 |\n| North | 3 | 4 |"


def test_hidden_sheets_are_read_and_said_to_be_hidden(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"] = "open"
    secret = book.create_sheet("Secret")
    secret["A1"] = "salary"
    secret.sheet_state = "veryHidden"
    document = saved(book, tmp_path)
    assert document.blocks[1].heading == ("Secret (hidden sheet)",)
    assert document.metadata["hidden_sheets"] == ["Secret"]


def test_a_cell_in_the_far_corner_costs_nothing(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"] = "near"
    book.active["XFD1"] = "right"
    book.active["XFD1048576"] = "far"
    document = saved(book, tmp_path)
    assert [block.text for block in document.blocks] == ["| near | right |\n| --- | --- |", "far"]


def test_scattered_cells_are_written_with_their_addresses(tmp_path):
    book = openpyxl.Workbook()
    for at in range(1, 101):
        book.active.cell(at, at, f"v{at}")
    (block,) = saved(book, tmp_path).blocks
    assert block.kind == "text"
    assert block.text.split("\n")[27] == "AB28: v28"


def test_a_range_merged_over_the_whole_sheet_costs_nothing(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_row(1, 0, ["c", "d"])
    from office_xml import add_members

    merged = '<mergeCells count="1"><mergeCell ref="C1:XFD1048576"/></mergeCells><pageMargins'
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        xml = archive.read("xl/worksheets/sheet1.xml").decode().replace("<pageMargins", merged)
    add_members(tmp_path / "a.xlsx", {"xl/worksheets/sheet1.xml": xml})
    assert read(tmp_path / "a.xlsx").blocks[0].text == "| a | b |\n| --- | --- |\n| c | d |"


def test_comments_text_boxes_and_chart_titles_are_text(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet("Data")
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_comment("B1", "please check")
        sheet.insert_textbox("D4", "written in a box")
        chart = book.add_chart({"type": "line"})
        chart.add_series({"values": "=Data!$A$1:$B$1"})
        chart.set_title({"name": "Sales by year"})
        sheet.insert_chart("D9", chart)
    found = {block.heading: block.text for block in read(tmp_path / "a.xlsx").blocks}
    assert found["Data", "Comments"] == "B1: please check"
    assert found["Data", "Text boxes and charts"] == "written in a box\n\nSales by year"


def test_comments_made_by_openpyxl_are_text(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"] = "x"
    book.active["A1"].comment = Comment("who said so?", "Ann")
    assert saved(book, tmp_path).blocks[1].text == "A1: who said so?"


def test_ten_thousand_rows_are_one_table(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx", {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        for row in range(10_000):
            sheet.write_row(row, 0, ["name", row])
    (block,) = read(tmp_path / "a.xlsx").blocks
    assert block.text.count("\n") == 10_000


def test_an_empty_workbook_holds_no_text(tmp_path):
    with pytest.raises(NoText):
        saved(openpyxl.Workbook(), tmp_path)


def test_an_encrypted_workbook_and_an_old_one_are_told_apart(tmp_path):
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    (tmp_path / "old.xls").write_bytes(old)
    (tmp_path / "locked.xlsx").write_bytes(old + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(UnreadableFile, match="old binary"):
        read(tmp_path / "old.xls")
    with pytest.raises(EncryptedFile):
        read(tmp_path / "locked.xlsx")


def test_a_broken_sheet_is_one_clear_line(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"] = "x"
    book.save(tmp_path / "a.xlsx")
    from office_xml import add_members

    add_members(tmp_path / "a.xlsx", {"xl/worksheets/sheet1.xml": "<worksheet><sheetData><row"})
    with pytest.raises(UnreadableFile, match="damaged") as caught:
        read(tmp_path / "a.xlsx")
    assert "\n" not in caught.value.message
