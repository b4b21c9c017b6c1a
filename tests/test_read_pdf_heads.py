"""Heads of tables in PDFs: a table that goes on has its own head, and no row of it is repeated as one."""

from __future__ import annotations

import pdf_files as files
import pytest

from kb.read.pdf.heads import with_true_heads
from kb.read.tables import markdown_table
from kb.types import Block

HEAD = ("Day", "Boat", "Crew")
DAYS = [
    (f"0{day}/03/2026", boat, str(crew)) for day, boat, crew in ((1, "Aurora", 4), (2, "Bella", 12), (3, "Cora", 7))
]


def tables(*grids, pages=(), headings=()):
    pages = pages or range(1, len(grids) + 1)
    headings = headings or [()] * len(grids)
    return [
        Block(text=markdown_table(grid), kind="table", page=page, heading=heading)
        for grid, page, heading in zip(grids, pages, headings, strict=True)
    ]


def first_rows(blocks):
    """The head and the first row of each."""
    return [[row for row in block.text.split("\n")[:3] if "---" not in row] for block in with_true_heads(blocks)]


def test_a_table_of_two_pages_has_one_head(tmp_path):
    document = files.new()
    for rows in ([HEAD, *DAYS], DAYS):
        files.ruled_table(files.page_of(document, *[files.LOREM] * 3), rows)

    read = files.read(files.save(document, tmp_path / "a.pdf"))

    assert [b.text.split("\n")[0] for b in read.blocks if b.kind == "table"] == ["| Day | Boat | Crew |"] * 2


def test_the_head_is_carried_over_all_pages_and_the_first_row_stays_a_row():
    found = first_rows([*tables([HEAD, *DAYS], DAYS, DAYS), Block(text="end", page=3)])

    assert found[:3] == [["| Day | Boat | Crew |", "| 01/03/2026 | Aurora | 4 |"]] * 3
    assert found[3] == ["end"]


def test_no_cell_is_lost():
    _, below = with_true_heads(tables([HEAD, *DAYS], DAYS))

    assert below.text == markdown_table([HEAD, *DAYS])


@pytest.mark.parametrize(
    "above",
    [
        pytest.param(tables([("Boat", "Crew"), ("Aurora", "4"), ("Bella", "12")]), id="of other columns"),
        pytest.param(tables([HEAD, *DAYS], pages=[7]), id="on no page before it"),
        pytest.param(tables([HEAD, *DAYS], headings=[("Boats", "North")]), id="of another section"),
        pytest.param([], id="none"),
    ],
)
def test_where_no_table_goes_on_a_row_is_no_head_either(above):
    below = tables(DAYS, pages=[2], headings=[("Boats", "South")])

    assert first_rows([*above, *below])[-1] == ["|  |  |  |", "| 01/03/2026 | Aurora | 4 |"]


@pytest.mark.parametrize(
    "head",
    [
        HEAD,
        ("", "Boat", "Crew"),
        ("Day", "Boat", "2026"),
        ("1", "2", "Crew (4 and more)"),
    ],
)
def test_a_first_row_of_another_kind_is_a_head(head):
    grid = [head, *DAYS]

    assert with_true_heads(tables([HEAD, *DAYS], grid)) == tables([HEAD, *DAYS], grid)


def test_years_over_numbers_are_a_head():
    grid = [("Port", "2014", "2015"), ("Bergen", "1,204", "31 %"), ("Cork", "17.5", "(8)")]

    assert with_true_heads(tables(grid)) == tables(grid)


def test_where_all_are_words_the_first_row_stays_the_head():
    grid = [("Radio", "Artists"), ("Film", "Writers"), ("Records", "Composers")]

    assert with_true_heads(tables([("Medium", "Who"), *grid], grid))[1] == tables(grid, pages=[2])[0]


def test_a_cell_that_holds_a_bar_is_one_cell():
    days = [(day, f"{boat} | {boat}", crew) for day, boat, crew in DAYS]

    assert first_rows(tables([HEAD, *days], days))[1][0] == "| Day | Boat | Crew |"
