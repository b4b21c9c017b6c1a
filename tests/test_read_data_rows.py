"""CSV and TSV: row groups as markdown tables with the header repeated."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.read.data import read, rows
from kb.types import Lines, ReadOptions, Source


@pytest.fixture
def tables(tmp_path):
    def blocks_of(text, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return read(Source(path=str(path), doc_type="data"), ReadOptions()).blocks

    return blocks_of


def test_the_header_is_repeated_in_every_group(tables):
    blocks = tables("id,name\n" + "".join(f"{number},name {number}\n" for number in range(100)))

    assert len(blocks) == 3
    assert all(block.kind == "table" and block.text.startswith("| id | name |\n| --- | --- |\n") for block in blocks)
    assert [block.lines for block in blocks] == [Lines(1, 41), Lines(42, 81), Lines(82, 101)]


def test_a_cell_longer_than_csv_allows_is_read_and_other_readers_keep_their_limit(tables):
    """The limit is the process's: a small table must not lower it for whoever reads a larger one."""
    limit = csv.field_size_limit()
    assert "x" * (limit + 1) in tables(f"name,note\na,{'x' * (limit + 1)}")[0].text
    tables("name,note\na,b")
    assert csv.field_size_limit() > limit


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tables, delimiter):
    blocks = tables("\n".join(delimiter.join(row) for row in (["name", "price"], ["x", "12"], ["y", "13"])))

    assert blocks[0].text == "| name | price |\n| --- | --- |\n| x | 12 |\n| y | 13 |"


def test_a_delimiter_inside_quotes_does_not_mislead(tables):
    assert "| 0 | x; y; z |" in tables('"0","x; y; z"\n"1","x; y; z"\n')[0].text


def test_a_tsv_file_is_cut_at_tabs_whatever_else_is_in_it(tables):
    assert "| 1 | x, y |" in tables("id\tname, first\n1\tx, y\n2\tz, w\n", "a.tsv")[0].text


def test_quoted_delimiters_quotes_and_line_ends_stay_in_their_cell(tables):
    blocks = tables('name,note\nMüller,"a ""q"", | b\nnext"\nx,y\n')

    assert '| Müller | a "q", \\| b next |\n| x | y |' in blocks[0].text
    assert blocks[0].lines == Lines(1, 4)


def test_ragged_rows_keep_all_their_cells(tables):
    assert tables("a,b\n1\n2,3,4\n")[0].text == "| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 2 | 3 | 4 |"


def test_a_first_row_of_numbers_is_not_a_header(tables):
    assert tables("1,2\n3,4\n")[0].text == "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"


def test_a_header_alone_is_a_table(tables):
    assert tables("a,b\n")[0].text == "| a | b |\n| --- | --- |"


def test_a_quote_that_is_never_closed_does_not_swallow_the_file(tables):
    blocks = tables('a,b\n1,"unclosed\n' + "2,3\n" * 3_000)

    assert len(blocks) > 50
    assert '"unclosed' in blocks[0].text


def test_a_huge_cell_is_kept_whole(tables):
    assert "x" * 300_000 in tables('a,b\n1,"' + "x" * 300_000 + '"\n')[0].text


CELLS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=";|"), min_size=1, max_size=20
).filter(str.strip)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=100))
def test_no_cell_is_lost(table):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table)

    text = "\n".join(block.text for block in rows.blocks(file.getvalue(), is_tabbed=False))

    for cell in (cell for row in table for cell in row):
        assert " ".join(cell.split()) in text
