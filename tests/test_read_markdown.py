"""The markdown reader: blocks with heading chains and lines, and front matter taken off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import NoText
from kb.read.markdown import blocks_of, read
from kb.types import Document, Lines, ReadOptions, Source


@pytest.fixture
def read_markdown(tmp_path):
    def reading(text: str | bytes) -> Document:
        path = tmp_path / "a.md"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(Source(path=str(path), doc_type="markdown"), ReadOptions())

    return reading


def found(text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(block.text, block.kind, block.heading) for block in blocks_of(text)]


def test_atx_and_setext_headings_make_the_chain():
    text = "intro\n\n# A\n\none\n\nB\n---\n\ntwo\n\n### C\n\n## D\n\nC\n=\n\nlast"

    assert found(text) == [
        ("intro", "text", ()),
        ("# A\n\none", "text", ("A",)),
        ("B\n---\n\ntwo", "text", ("A", "B")),
        ("### C", "text", ("A", "B", "C")),
        ("## D", "text", ("A", "D")),
        ("C\n=\n\nlast", "text", ("C",)),
    ]


@pytest.mark.parametrize("fence", ["```", "~~~~", "````python"])
def test_a_hash_inside_a_fence_is_no_heading(fence):
    close = fence.rstrip("python")
    code = f"{fence}\n# comment\n\ntext\n---\n{close}"

    assert found(f"# A\n\n{code}\n\nafter") == [
        ("# A", "text", ("A",)),
        (code, "code", ("A",)),
        ("after", "text", ("A",)),
    ]


def test_a_fence_that_is_never_closed_runs_to_the_end():
    assert found("# A\n\n```\n# b\n# c") == [("# A", "text", ("A",)), ("```\n# b\n# c", "code", ("A",))]


@pytest.mark.parametrize("line", ["#hashtag", "\\# escaped", "    # indented code", "> # quoted", "- # in a list"])
def test_what_only_looks_like_a_heading_is_none(line):
    assert all(block.heading == () for block in blocks_of(line))


def test_a_table_is_a_block():
    table = "| a | b |\n|---|---|\n| 1 | 2 |"

    assert found(f"before\n\n{table}\n\nafter") == [
        ("before", "text", ()),
        (table, "table", ()),
        ("after", "text", ()),
    ]


@pytest.mark.parametrize(
    ("heading", "plain"),
    [
        ("# The `read` *function*", "The read function"),
        ("# [Link](http://a.b) and **bold**", "Link and bold"),
        ("# Set snake_case_names", "Set snake_case_names"),
        ("# Install {#install .x}", "Install"),
        ("# Closed ##", "Closed"),
    ],
)
def test_the_chain_holds_words_without_markup(heading, plain):
    assert [block.heading for block in blocks_of(heading)] == [(plain,)]


def test_lines_are_those_of_the_file_with_front_matter_counted(read_markdown):
    document = read_markdown("---\ntitle: T\n---\n\n# A\n\none\n\n\n```\ncode\n```\n")

    assert [block.lines for block in document.blocks] == [Lines(5, 7), Lines(10, 12)]


@given(st.lists(st.sampled_from(["# A", "text", "", "```", "| a |", "|---|", "- item", "    code", "---", "> q"])))
def test_every_line_is_in_one_block_in_order(lines):
    blocks = list(blocks_of("\n".join(lines)))

    assert [line for block in blocks for line in block.text.split("\n") if line.strip()] == [
        line for line in lines if line.strip()
    ]
    for block in blocks:
        assert block.text == "\n".join(lines[block.lines.first - 1 : block.lines.last])


def test_windows_line_ends_are_line_ends(read_markdown):
    assert read_markdown(b"# A\r\n\r\none\r\n").blocks[0].text == "# A\n\none"


def test_the_title_is_the_front_matters_else_the_first_heading(read_markdown):
    assert read_markdown("---\ntitle: Stated\n---\n# Heading\n").title == "Stated"
    assert read_markdown("words\n\n## Heading\n").title == "Heading"
    assert read_markdown("words").title is None


def test_front_matter_is_metadata_and_not_text(read_markdown):
    document = read_markdown("---\ntags: [a, b]\nauthor: X\n---\nbody")

    assert document.tags == ("a", "b")
    assert document.metadata == {"tags": ["a", "b"], "author": "X"}
    assert [block.text for block in document.blocks] == ["body"]


def test_front_matter_that_cannot_be_read_stays_text_and_makes_no_heading(read_markdown):
    """Under CommonMark its last line and the fence would be a setext heading."""
    document = read_markdown("---\ntitle: [broken\n---\n\n# Real\n\nbody\n")

    assert [(block.text, block.heading, block.lines) for block in document.blocks] == [
        ("---\ntitle: [broken\n---", (), Lines(1, 3)),
        ("# Real\n\nbody", ("Real",), Lines(5, 7)),
    ]
    assert document.title == "Real"
    assert document.warnings[0].startswith("front matter is kept as text: line 3: ")


@pytest.mark.parametrize("text", ["", " \n\t\n", "---\ntitle: T\n---\n\n"])
def test_a_file_without_text_is_said_to_hold_none(read_markdown, text):
    with pytest.raises(NoText):
        read_markdown(text)


def test_a_file_in_another_encoding_is_read(read_markdown):
    assert read_markdown("# Größe\n".encode("utf-16")).blocks[0].text == "# Größe"
    assert read_markdown("# Größe\n".encode("latin-1")).blocks[0].text == "# Größe"
