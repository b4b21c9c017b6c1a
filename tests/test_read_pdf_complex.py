"""PDF: triage, tables, columns, the account of who read what."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pdf_files as files
import pytest

from kb.errors import BadConfig
from kb.read.line import Line
from kb.read.pdf import engine_status
from kb.read.pdf.account import Account, ranges
from kb.read.pdf.order import reading_order, rows
from kb.read.pdf.page import extract
from kb.read.pdf.prose import parts_of
from kb.read.pdf.seams import joined
from kb.read.pdf.style import style_of
from kb.read.pdf.table import table_of
from kb.read.pdf.triage import judge
from kb.types import ReadOptions

DATA = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real documents are not at {DATA}")

ROWS = (("Port", "Boats", "Crew"), ("Aberdeen", "12", "84"), ("Bergen", "7", "51"), ("Cork", "31", "190"))


def verdict_of(path, number=1, password=None):
    from kb.read.pdf.opening import opened

    with opened(str(path), password) as (document, _):
        return judge(extract(document, number), document)


def line(text, x0, y0, x1=None, **more):
    return Line(text, x0, y0, x1 if x1 is not None else x0 + 5 * len(text), y0 + 10, 10, **more)


def test_ruled_table_comes_back_as_one_markdown_table(tmp_path):
    document = files.new()
    files.ruled_table(files.page_of(document, *[files.LOREM] * 3), ROWS)
    read = files.read(files.save(document, tmp_path / "a.pdf"))
    (table,) = [b for b in read.blocks if b.kind == "table"]
    assert table.text == (
        "| Port | Boats | Crew |\n| --- | --- | --- |\n| Aberdeen | 12 | 84 |\n| Bergen | 7 | 51 |\n| Cork | 31 | 190 |"
    )
    assert table.page == 1
    assert read.extractor == "pymupdf+layout"


def test_only_complex_pages_escalate_and_the_verdicts_are_in_the_metadata(tmp_path):
    document = files.new()
    files.page_of(document, *[files.LOREM] * 3)
    files.ruled_table(files.page_of(document, *[files.LOREM] * 3), ROWS)
    files.page_of(document, *[files.LOREM] * 3)
    document.new_page()
    metadata = files.read(files.save(document, tmp_path / "a.pdf")).metadata
    assert metadata["triage"]["plain"] == {"no remark": "1, 3"}
    assert metadata["triage"]["blank"] == {"no remark": "4"}
    assert "ruling lines" in next(iter(metadata["triage"]["complex"]))
    assert (metadata["pages"], metadata["engine"], metadata["improvable"]) == (4, "pymupdf", True)
    assert msgspec.json.decode(msgspec.json.encode(metadata)) == metadata


def test_plain_document_cannot_be_improved(tmp_path):
    document = files.new()
    files.page_of(document, *[files.LOREM] * 3)
    assert files.read(files.save(document, tmp_path / "a.pdf")).metadata["improvable"] is False


def test_borderless_table_is_seen_by_its_aligned_gaps(tmp_path):
    document = files.new()
    page = document.new_page()
    for number, row in enumerate(ROWS):
        for column, text in enumerate(row):
            page.insert_text((72 + 140 * column, 100 + 20 * number), text, fontsize=11)
    verdict = verdict_of(files.save(document, tmp_path / "a.pdf"))
    assert (verdict.kind, verdict.reasons) == ("complex", ("aligned gaps",))


def test_two_columns_are_read_one_after_the_other(tmp_path):
    document = files.new()
    page = document.new_page()
    page.insert_text((72, 60), "A title that runs across both of the columns of this page", fontsize=16)
    for number in range(12):
        page.insert_text((72, 120 + 14 * number), f"Left {number} tells of boats upon the water", fontsize=11)
        page.insert_text((320, 120 + 14 * number), f"Right {number} tells of birds above the sea", fontsize=11)
    path = files.save(document, tmp_path / "a.pdf")
    assert "columns" in verdict_of(path).reasons
    text = files.text_of(files.read(path))
    assert text.index("A title") < text.index("Left 0") < text.index("Left 11") < text.index("Right 0")


def test_garbled_text_is_told_by_its_unreadable_characters(tmp_path):
    document = files.new()
    files.page_of(document, *["\ue000\ue001\ue002 \ue003\ue004\ue005\ue006" * 3] * 3)
    page = extract(document, 1)
    garbled = msgspec.structs.replace(page, lines=tuple(line("\ufffd" * 30, 72, 100 + 20 * n) for n in range(3)))
    verdict = judge(garbled, document)
    assert (verdict.kind, verdict.keeps_text) == ("scan", False)


def test_scan_with_an_invisible_text_layer_is_read_from_the_layer(tmp_path):
    document = files.new()
    page = files.scan(document, files.picture("nothing to see", size=(900, 1200)))
    for number in range(4):
        page.insert_text((72, 200 + 20 * number), files.LOREM, fontsize=11, render_mode=3)
    read = files.read(files.save(document, tmp_path / "a.pdf"))
    assert files.LOREM in files.text_of(read)
    assert read.metadata["triage"] == {"plain": {"ocr layer": "1"}}
    assert read.metadata["ocr_pages"] == [[1, 1]]
    assert read.extractor == "pymupdf"


def test_pdf_engine_docling_without_docling_is_an_error_that_says_why(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM)
    path = files.save(document, tmp_path / "a.pdf")
    with pytest.raises(BadConfig, match="pdf_engine is docling, but") as error:
        files.read(path, pdf_engine="docling", docling_artifacts=str(tmp_path / "nothing"))
    assert "kb init --docling" in error.value.hint


def test_engine_status_says_why():
    assert engine_status(ReadOptions(pdf_engine="pymupdf")) == ("pymupdf", "pdf_engine is pymupdf")
    name, reason = engine_status(ReadOptions())
    assert name == "pymupdf"
    assert "not installed" in reason or "not been fetched" in reason


def test_columns_need_running_text_so_labels_and_values_stay_in_rows():
    form = [box for n in range(6) for box in (line("Name:", 72, 100 + 20 * n), line("Jonathan", 200, 100 + 20 * n))]
    assert [b.text for b in reading_order(form)] == ["Name:", "Jonathan"] * 6


def test_right_to_left_columns_begin_on_the_right():
    page = [line(side * 30, x, 100 + 14 * n) for side, x in (("l", 72), ("r", 320)) for n in range(4)]
    assert [b.text[0] for b in reading_order(page, rtl=True)] == ["r"] * 4 + ["l"] * 4


def test_every_line_is_read_once():
    page = [line(f"word {n}", 72 + 37 * (n % 5), 90 + 11 * (n % 17)) for n in range(60)]
    assert sorted(b.text for b in reading_order(page)) == sorted(b.text for b in page)
    assert sum(map(len, rows(page))) == len(page)


def test_false_border_through_a_column_is_undone_and_two_sparse_columns_stay_two():
    cut = [["Port", "Boats", ""], ["Aberdeen", "", "12"], ["Bergen", "7", ""], ["Cork", "", "31"]]
    assert table_of(cut).splitlines()[2:] == ["| Aberdeen | 12 |", "| Bergen | 7 |", "| Cork | 31 |"]
    ledger = [["Day", "Debit", "Credit"], ["1", "5", ""], ["2", "", "9"]]
    assert table_of(ledger).splitlines()[0] == "| Day | Debit | Credit |"


def test_header_of_two_rows_becomes_one():
    grid = [["", "Catch", ""], ["Port", "cod", "herring"], ["Bergen", "7", "9"], ["Cork", "1", "2"]]
    assert table_of(grid).splitlines()[0] == "| Port | Catch cod | herring |"


def test_one_row_or_one_column_is_no_table():
    assert table_of([["a", "b"]]) == table_of([["a"], ["b"]]) == table_of([]) == ""


def test_scripts_without_spaces_are_joined_without_spaces():
    assert joined("わたくしと", "いふ現象") == "わたくしといふ現象"
    assert joined("well-", "known", frozenset({"well-known"})) == "well-known"
    assert joined("soft\u00ad", "ware") == "software"
    assert joined("Jean-", "Paul") == "Jean- Paul"


def test_vertical_columns_are_joined_and_spaces_between_glyphs_go():
    column = [Line(c, 500, 60 + 9 * n, 509, 69 + 9 * n, 9, vertical=True) for n, c in enumerate("わたくし")]
    spaced = [line("現 象 で す", 72, 200)]
    assert [p.text for p in parts_of(column, style_of(column))] == ["わたくし"]
    assert [p.text for p in parts_of(spaced, style_of(spaced))] == ["現象です"]


def test_lines_broken_on_purpose_stay_lines():
    page = [line("w" * 80, 72, 100), line("w" * 80, 72, 112), line("w" * 80, 72, 124)]
    address = [line("Harbour Office", 72, 300), line("Quay Street", 72, 312), line("Cork", 72, 324)]
    assert parts_of(address, style_of(page))[0].text == "Harbour Office\nQuay Street\nCork"


def test_page_numbers_are_written_as_ranges():
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"


def test_extractor_names_all_who_read():
    account = Account("pymupdf")
    assert account.extractor == "pymupdf"
    for reader in ("rapidocr", "layout"):
        account.use(reader)
    assert account.extractor == "pymupdf+layout+rapidocr"


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "page", "row"),
    [
        ("pdf/2305.03393v1-pg9.pdf", 1, "| 2 | 4 | OTSL | 0.923 | 0.897 | 0.915 | 0.859 | 1.91 |"),
        ("pdf/SPARSE-2024-INV-1234_borderless_table.pdf", 2, "| SKU-9201 | Hardware | $32.50 | $25,285.00 |"),
        ("pdf/multicolumn.pdf", 3, "| Czech Republic | 10.7 | 78,866 | Prague | Czech |"),
        ("pdf/nics-background-checks-2015-11-rotated.pdf", 1, "| Maryland | 1,512 | 3,220 | 8,310 |"),
    ],
)
def test_real_tables_come_back_with_their_cells(name, page, row):
    read = files.read(DATA / name)
    assert any(row in b.text and b.page == page for b in read.blocks if b.kind == "table")


@needs_data
@pytest.mark.data
@pytest.mark.heavy
def test_table_of_sixteen_pages_is_a_table_on_each():
    read = files.read(DATA / "pdf" / "ca-warn-report.pdf")
    assert {b.page for b in read.blocks if b.kind == "table"} == set(range(1, 17))
    assert "ProCourier, Inc." in files.text_of(read)
    assert not any(b.text.startswith(("| 0", "| 1")) for b in read.blocks)  # a day at the beginning of a head
