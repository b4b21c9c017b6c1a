"""Source code: what is true of every language, and of files that are not what they seem."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import NoText, UnreadableFile
from kb.read import windows
from kb.read.code import outline, read
from kb.read.code.grammars import GRAMMARS
from kb.read.code.outline import Definition
from kb.read.kinds import KINDS
from kb.read.languages import EXTENSIONS
from kb.types import ReadOptions, Source


@pytest.fixture
def reading(tmp_path):
    def read_text_as(name, text, language=None):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return read(Source(path=str(path), doc_type="code", language=language), ReadOptions())

    return read_text_as


def check_cover(blocks, lines):
    """Each line that is not blank is in exactly one block, in order, and the text of a block is its lines."""
    covered = []
    for block in blocks:
        assert block.text == "\n".join(lines[block.lines.first - 1 : block.lines.last])
        covered += range(block.lines.first, block.lines.last + 1)
    assert covered == sorted(set(covered))
    assert {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(covered)


@st.composite
def definitions(draw, depth=2):
    first = draw(st.integers(1, 30))
    members = draw(st.lists(definitions(depth=depth - 1), max_size=3)) if depth else []
    return Definition(
        first=first, last=first + draw(st.integers(0, 20)), name=draw(st.sampled_from("ab")), members=tuple(members)
    )


@given(
    st.lists(st.sampled_from(["", "x = 1", "}", "end", " "]), min_size=1, max_size=150),
    st.lists(definitions(), max_size=6),
)
def test_whatever_is_found_blocks_hold_every_line_once(lines, found):
    check_cover(outline.blocks(lines, found), lines)


@given(st.lists(st.sampled_from(["", "x", "x"]), max_size=300))
def test_windows_are_moderate_and_hold_every_line_once(lines):
    covered = []
    for first, last in windows.split(lines, 1, len(lines)):
        assert last - first < windows.MAX_WINDOW_LINES
        covered += range(first, last + 1)
    assert covered == sorted(set(covered))
    assert {n for n, line in enumerate(lines, start=1) if line} <= set(covered)


def test_a_language_without_a_grammar_is_cut_at_blank_lines(reading):
    text = "\n\n".join(f"sub f{number} {{\n" + "  x;\n" * 10 + "}" for number in range(10))

    document = reading("tool.pl", text)

    assert (document.extractor, document.language) == ("lines", "perl")
    assert len(document.blocks) == 4
    assert all(block.text.startswith("sub f") and block.text.endswith("}") for block in document.blocks)


def test_a_script_without_extension_is_known_by_its_shebang(reading):
    document = reading("tool", "#!/bin/sh\nrun() {\n  echo hi\n}\nrun\n")

    assert (document.language, [block.symbol for block in document.blocks]) == ("bash", ["run", None])


def test_the_language_of_the_request_wins(reading):
    assert reading("script.txt", "def f():\n    pass\n", language="python").blocks[0].symbol == "f"


def test_an_empty_file_has_no_text(reading):
    with pytest.raises(NoText, match=r"empty\.py: empty"):
        reading("empty.py", " \n\f\n")


def test_a_binary_file_is_refused(reading):
    with pytest.raises(UnreadableFile, match="binary"):
        reading("a.c", "\0\1\2" * 100)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prose.c", "This is only prose, and nothing more than that.\nIt is not C; it's English.\n\n" * 300),
        ("prose.py", "This is only prose, and nothing more than that.\nIts not Python.\n\n" * 300),
        ("deep.cpp", "namespace a {\n" * 20_000 + "}\n" * 20_000),
        ("min.js", 'function a(b){return b+"}"};' * 40_000),
        ("brackets.js", "(" * 100_000),
    ],
)
def test_what_no_grammar_fits_is_cut_into_windows(reading, name, text):
    document = reading(name, text)

    assert document.extractor == "lines"
    check_cover(document.blocks, text.split("\n"))


def test_windows_line_ends_do_not_shift_lines(reading):
    blocks = reading("a.go", "package a\r\n\r\n// F\r\nfunc F() {\r\n}\r\n").blocks

    assert [(block.symbol, block.lines.first, block.lines.last) for block in blocks] == [(None, 1, 1), ("F", 3, 5)]


def test_lost_characters_are_warned_of(tmp_path):
    (tmp_path / "a.py").write_bytes(("# 東京の都市\n" * 4 + "x = 1 # 東").encode()[:-1])

    document = read(Source(path=str(tmp_path / "a.py"), doc_type="code"), ReadOptions())

    assert document.warnings == ("1 character could not be decoded as utf-8",)


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_every_row_of_the_table_names_node_types_that_its_grammar_has(language):
    from tree_sitter import Language

    grammar = GRAMMARS[language]
    parser = Language(getattr(importlib.import_module(grammar.package), grammar.function)())
    types = {parser.node_kind_for_id(number) for number in range(parser.node_kind_count)}

    named = (
        grammar.leaves | grammar.containers | grammar.bindings | grammar.wrappers | grammar.groups | grammar.attached
    )

    assert named - types == set()


def test_every_extension_of_a_language_is_code():
    kind = next(kind for kind in KINDS if kind.doc_type == "code")

    assert set(kind.extensions) == set(EXTENSIONS)


GO = Path("/usr/share/go-1.19/src/net/http")
COMPLETIONS = Path("/usr/share/bash-completion/completions")


@pytest.mark.parametrize(("folder", "pattern"), [(GO, "*.go"), (COMPLETIONS, "*")])
def test_real_code_is_held_line_by_line(folder, pattern):
    if not folder.exists():
        pytest.skip(f"{folder} is not installed")
    for path in sorted(folder.glob(pattern))[:40]:
        document = read(Source(path=str(path), doc_type="code", language=None), ReadOptions())
        check_cover(document.blocks, path.read_text(encoding="utf-8").split("\n"))
