"""The small parts of the Office and web readers: tables, values, joins, the net under Docling."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

from kb.read import kinds, leftover, sheet_value, tables
from kb.read.convert import join_inline
from kb.types import Block


@pytest.mark.parametrize("module", [tables, sheet_value])
def test_the_examples_in_the_docstrings_hold(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["so that ", "$x$", " holds"], "so that $x$ holds"),
        (["so that", "$x$", "."], "so that $x$."),
        (["(", "$x$", ")"], "($x$)"),
        (["a", "b"], "a b"),
    ],
)
def test_runs_are_joined_with_a_space_only_where_one_belongs(parts, expected):
    assert join_inline(parts) == expected


def test_rows_of_different_length_fill_up_and_empty_ones_go():
    assert tables.markdown_table([["a", "b"], [], ["", ""], ["1"]]) == "| a | b |\n| --- | --- |\n| 1 |  |"
    assert tables.markdown_table([["", ""]]) == ""


def test_a_passage_with_a_word_that_arrived_nowhere_is_missing():
    blocks = [Block(text="one two", heading=("three",), context="four")]
    assert leftover.missing(["two  one", "three", "four", "one five"], blocks) == ["one five"]


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx", "html", "epub", "notebook"])
def test_a_reader_imports_no_heavy_library_before_it_reads(kind):
    heavy = ("docling", "docling_core", "openpyxl", "bs4", "lxml", "docx", "pptx", "PIL", "numpy", "pydantic")
    module = next(k.module for k in kinds.KINDS if k.doc_type == kind)
    command = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
