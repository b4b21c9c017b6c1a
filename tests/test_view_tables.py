"""Rows of tables where they stand: a row is marked as a whole, in one band of its page, or not at all."""

import base64
import io
import re

import pdf_files
import pytest
import small_store
from PIL import Image
from running import here
from serving import serving
from talking import agent
from test_view import file_document, pixels

from kb.read.pdf import marking
from kb.read.pdf.words import Word
from kb.read.picture import MARKER
from kb.read.tables import markdown_table
from kb.view import view

HEAD = ("Notice", "Effective", "Company", "City", "No.", "Kind")
ROWS = (
    ("02/02/2016", "04/10/2016", "Autodesk, Inc.", "San Rafael", "48", "Layoff Permanent"),
    ("02/03/2016", "04/09/2016", "JCPenney", "Cupertino", "147", "Closure Permanent"),
    ("02/08/2016", "04/08/2016", "Inland Early Steps", "Corona", "79", "Closure Permanent"),
    ("02/10/2016", "04/11/2016", "Yahoo! Inc.", "Sunnyvale", "107", "Layoff Permanent"),
    ("02/08/2016", "04/08/2016", "Southern Edison", "Rosemead", "48", "Layoff Permanent"),
    ("02/12/2016", "04/15/2016", "Kraft Heinz Foods", "San Rafael", "117", "Closure Permanent"),
    ("02/17/2016", "04/18/2016", "Yahoo! Inc.", "Sunnyvale", "127", "Layoff Permanent"),
)
LINES = tuple("   ".join(f"{cell:18}" for cell in row) for row in ROWS)
"""The rows on the grid of `words_of`."""
WIDTH, HEIGHT, TOP = 84, 22, 300


def words_of(*lines):
    """Words on a grid: a line each, ten letters four times as wide as they are high."""
    return [
        Word(match[0], (5 * match.start(), 16 * y, 5 * match.end(), 16 * y + 12), (0, y))
        for y, line in enumerate(lines)
        for match in re.finditer(r"\S+", line)
    ]


def marked(passage, *lines, is_here=False):
    """The lines of a page as they are marked: what is not is left out."""
    words = words_of(*lines)
    found = marking.find(words, passage, is_here=is_here).words
    return [
        " ".join(word.text for number, word in enumerate(words) if number in found and word.line[1] == line)
        for line in range(len(lines))
    ]


def plain(*lines):
    return [" ".join(line.split()) for line in lines]


def by_columns(page, rows):
    """A table of which the file has one column after the other, the last ones from below, as some programs write them."""
    for column in range(len(rows[0])):
        numbered = list(enumerate(rows))
        for number, row in numbered if column == 0 else numbered[::-1]:
            page.insert_text((40 + column * WIDTH, TOP + number * HEIGHT), row[column], fontsize=9)


def row_of_mark(box, dpi):
    return round(((box[1] + box[3]) / 2 * 72 / dpi - TOP) / HEIGHT)


@pytest.fixture
def a_table(make_store, tmp_path):
    """A store with a PDF of these rows, and one passage."""

    def store(passage, rows=ROWS, degrees=0):
        document = pdf_files.new()
        page = pdf_files.page_of(document, "Notices received, by date of receipt")
        by_columns(page, rows)
        page.set_rotation(degrees)
        path = pdf_files.save(document, tmp_path / "table.pdf")
        make_store(file_document(path, small_store.chunk(passage, page=1), doc_type="pdf"))

    return store


def test_rows_that_share_their_cells_with_others_are_marked_and_no_others(a_table, data_dir):
    a_table(markdown_table([HEAD, *ROWS[1:5]]))

    answer = view(data_dir, "1").answer

    assert (answer.table_rows, answer.table_rows_marked, answer.warnings) == (4, 4, ())
    rows = [row_of_mark(box, answer.dpi) for box in answer.marks]
    assert {row: rows.count(row) for row in rows} == {1: 6, 2: 6, 3: 6, 4: 6}


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rows_of_a_page_that_is_shown_turned_are_found_as_they_stand_in_the_file(degrees, a_table, data_dir):
    a_table(markdown_table([HEAD, *ROWS[1:5]]), degrees=degrees)

    seen = view(data_dir, "1")

    assert (seen.answer.table_rows_marked, len(seen.answer.marks)) == (4, 24)
    left, top, *_ = seen.answer.marks[0]
    assert pixels(seen).getpixel((left, top)) == MARKER


def test_a_head_is_marked_where_it_stands():
    head = "   ".join(f"{cell:18}" for cell in HEAD)

    assert marked(markdown_table([HEAD, ROWS[1]]), head, *LINES) == plain(head, "", LINES[1], *[""] * 5)


def test_a_head_that_stands_over_none_of_the_rows_is_not_marked():
    head = "   ".join(f"{cell:18}" for cell in HEAD)
    other = ("02/19/2016", "04/19/2016", "Brake Parts", "Chowchilla", "111", "Layoff Permanent")

    assert marked(markdown_table([HEAD, other]), head, *LINES) == [""] * 8


def test_a_row_of_the_page_before_is_not_marked_at_one_that_is_nearly_the_same():
    other = ("02/17/2016", "04/18/2016", "Yahoo! Inc.", "Sunnyvale", "227", "Layoff Permanent")

    assert marked(markdown_table([HEAD, other, ROWS[0]]), *LINES) == plain(LINES[0], *[""] * 6)


def test_rows_that_are_the_same_are_told_apart_by_those_beside_them():
    twice = ("Monday 12", "Friday 13", "Monday 12", "Sunday 14")

    assert marked("| Day | No |\n| --- | --- |\n| Monday | 12 |\n| Sunday | 14 |", *twice) == ["", "", *twice[2:]]


def test_a_row_that_is_there_twice_is_not_marked():
    twice = ("Monday 12", "Friday 13", "Monday 12", "Sunday 14")

    assert marked("| Day | No |\n| --- | --- |\n| Monday | 12 |", *twice) == [""] * 4


def test_what_is_not_marked_of_a_table_is_said(a_table, data_dir):
    a_table(markdown_table([HEAD, ROWS[1], ROWS[2]]), rows=(*ROWS[:3], ROWS[2], ROWS[3], ROWS[2]))
    again = view(data_dir, "1").answer
    assert (again.table_rows_marked, again.warnings) == (2, ())

    a_table(markdown_table([HEAD, ROWS[2]]), rows=(*ROWS[:3], ROWS[2]))

    answer = view(data_dir, "2").answer
    assert (answer.marks, answer.table_rows, answer.table_rows_marked) == ((), 1, 0)
    assert answer.warnings == (
        "0 of 1 rows of the table are marked: the others are not in the text of this page, or not in one place for sure",
    )


def test_cells_of_several_lines_are_marked_in_all_of_them():
    lines = (
        "Name            Address           Since",
        "Harbour         Long quay 4       2011",
        "office          second floor",
        "Harbour         Short quay 4      2011",
        "master          second floor",
    )
    passage = markdown_table([("Name", "Address", "Since"), ("Harbour master", "Short quay 4 second floor", "2011")])

    assert marked(passage, *lines) == plain(lines[0], "", "", *lines[3:])


def test_a_row_with_empty_cells_is_not_marked_at_one_that_has_them():
    lines = ("Apples   red     12", "Apples           12", "Pears    green   7")

    assert marked("| Fruit | Colour | No |\n| --- | --- | --- |\n| Apples |  | 12 |", *lines) == plain("", lines[1], "")


def test_a_row_of_the_page_before_that_has_empty_cells_is_not_marked_as_part_of_another():
    passage = "| A | B | C |\n| --- | --- | --- |\n|  | February | 45 |\n| South | March | 46 |"
    lines = ("North   February   45", "South   March   46")

    assert marked(passage, *lines) == plain("", lines[1])
    assert marked(passage, "        February   45", lines[1]) == plain("February 45", lines[1])


def test_a_cell_that_stands_for_several_rows_takes_no_row_away():
    """Readers write it in each of them."""
    lines = ("North   January    44", "        February   45")
    passage = "| A | B | C |\n| --- | --- | --- |\n| North | January | 44 |\n| North | February | 45 |"

    assert marked(passage, *lines) == plain(*lines)


def test_text_around_a_table_is_found_beside_its_rows():
    lines = ("All layoffs of the second month are below.", *LINES, "Layoff Permanent means that the place is closed.")
    passage = f"{lines[0]}\n\n{markdown_table([HEAD, ROWS[4]])}\n\n{lines[-1]}"

    assert marked(passage, *lines) == plain(lines[0], *[""] * 4, LINES[4], "", "", lines[-1])


def test_tables_of_two_columns_are_found_in_both():
    """The second stands higher up."""
    lines = ("Some text of the first column    May    5    7", "goes on and on and ends here     June   6    8",
             "January    44    12              and more of the second", "February   45    13              column below it")  # fmt: skip
    tables = (
        "| M | R |\n| --- | --- |\n| January | 44 | 12 |\n| February | 45 | 13 |",
        "| May | 5 | 7 |\n| June | 6 | 8 |",
    )

    assert marked("\n\n".join(tables), *lines) == ["May 5 7", "June 6 8", "January 44 12", "February 45 13"]


def test_of_a_row_that_is_not_found_a_long_cell_is_marked_where_the_page_has_it_once():
    lines = ("1   Other single nonresident   x", "2   Other married nonresident   y")
    passage = "| No | Kind | Box |\n| --- | --- | --- |\n| 2 | Other married nonresident | yy |"

    assert marked(passage, *lines, is_here=True) == ["", "Other married nonresident"]
    assert marked(passage, *lines, is_here=False) == ["", ""]


def test_of_a_scan_it_is_said_that_the_page_has_no_text(make_store, tmp_path, data_dir):
    document = pdf_files.new()
    pdf_files.scan(document, pdf_files.picture("Monday 12", "Friday 13"))
    path = pdf_files.save(document, tmp_path / "scan.pdf")
    passage = "| Day | No |\n| --- | --- |\n| Monday | 12 |\n| Friday | 13 |"
    make_store(file_document(path, small_store.chunk(passage, page=1), doc_type="pdf"))

    answer = view(data_dir, "1").answer

    assert (answer.kind, answer.marks) == ("page", ())
    assert "a scan" in answer.warnings[0]


def test_the_layer_of_text_under_a_scan_is_marked(make_store, tmp_path, data_dir):
    document = pdf_files.new()
    page = pdf_files.scan(document, pdf_files.picture("Monday 12", "Friday 13"))
    for number, row in enumerate([("Monday", "12"), ("Friday", "13"), ("Sunday", "12")]):
        for column, text in enumerate(row):
            page.insert_text((40 + 200 * column, 40 + 30 * number), text, render_mode=3)
    path = pdf_files.save(document, tmp_path / "layer.pdf")
    passage = "| Day | No |\n| --- | --- |\n| Friday | 13 |\n| Sunday | 12 |"
    make_store(file_document(path, small_store.chunk(passage, page=1), doc_type="pdf"))

    answer = view(data_dir, "1").answer

    assert (answer.table_rows_marked, len(answer.marks)) == (2, 4)


def test_many_rows_that_are_the_same_do_not_take_for_ever():
    rows = [("Monday", "12", "open")] * 40

    assert marked(markdown_table(rows), *["Monday   12   open"] * 50) == [""] * 50


def test_a_page_of_one_number_does_not_take_for_ever():
    row = ("0",) * 20

    assert marked(markdown_table([row, row]), *["0   " * 20] * 60) == [""] * 60


def test_a_person_is_told_how_many_rows_are_marked(a_table, data_dir, tmp_path):
    a_table(markdown_table([HEAD, *ROWS[1:5]]))

    assert "4 of 4 rows of the table marked, 24 places marked" in here(tmp_path, "view", 1, KB_DATA_DIR=data_dir).stdout


def test_agents_and_programs_get_the_same_picture_and_count(a_table, data_dir, tmp_path):
    a_table(markdown_table([HEAD, ROWS[4], ("02/19/2016", "04/19/2016", "Brake Parts", "Chowchilla", "111", "Layoff")]))
    seen = view(data_dir, "1")
    said = seen.answer.warnings[0]
    assert said.startswith("1 of 2 rows of the table are marked")

    with serving(data_dir, cwd=tmp_path) as server:
        answer = server.get("/chunks/1/view").json
        drawn = server.get("/chunks/1/picture").body
    with agent(data_dir) as one:
        text, picture = one.raw("view", {"chunk_id": 1}).content

    assert (answer["table_rows"], answer["table_rows_marked"], answer["warnings"]) == (2, 1, [said])
    assert said in text.text
    for png in (drawn, base64.b64decode(picture.data)):
        assert Image.open(io.BytesIO(png)).convert("RGB").tobytes() == pixels(seen).tobytes()
