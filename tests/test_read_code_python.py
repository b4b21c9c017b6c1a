"""Python: functions, methods and what stands between them, by the standard library's own parser."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

from kb.read.code import outline, python, read
from kb.types import ReadOptions, Source

STORE = '''\
#!/usr/bin/env python3
"""Keeps things."""

import os

# How many.
LIMIT = 3


class Store(Base,
            metaclass=Meta):
    """Opens a store.

    More.
    """

    size: int = 0

    # Says where.
    @property
    @cached
    def path(self):
        def inner():
            return "}"
        return inner()
    # end of path

    other = 1

    class Row:
        def key(self): ...

        x = 2


try:
    import fast
except ImportError:
    # Slow.
    async def fast():
        pass

if __name__ == "__main__":
    main()
'''


def outline_of(text):
    return outline.blocks(text.split("\n"), python.definitions(text))


def named(blocks, symbol):
    return [block for block in blocks if block.symbol == symbol]


def test_each_definition_is_a_block_and_so_is_what_stands_between():
    blocks = outline_of(STORE)

    assert [(block.symbol, block.lines.first, block.lines.last) for block in blocks] == [
        (None, 1, 2),
        (None, 4, 7),
        ("Store", 10, 17),
        ("Store.path", 19, 25),
        ("Store", 26, 28),
        ("Store.Row", 30, 30),
        ("Store.Row.key", 31, 31),
        ("Store.Row", 33, 33),
        (None, 36, 38),
        ("fast", 39, 41),
        (None, 43, 44),
    ]


def test_decorators_and_comments_stay_with_their_function_and_nested_functions_in_it():
    (path,) = named(outline_of(STORE), "Store.path")

    assert path.text.startswith("    # Says where.\n    @property\n    @cached\n    def path")
    assert path.text.endswith("return inner()")


@pytest.mark.parametrize(
    ("comment", "begins"),
    [
        ("# Finding", 1),
        ("#", 1),
        ("# Finding\n# and more", 4),
        (f"# {'very ' * 30}long", 3),
        ("FOUND = 1", 3),
    ],
)
def test_a_title_stays_with_what_it_stands_above(comment, begins):
    """A comment of one line that blank lines set apart; what says more has room of its own."""
    [*_, found] = outline_of(f"{comment}\n\ndef find(): ...\n")
    assert found.lines.first == begins
    assert found.symbol == "find"


def test_a_title_between_methods_stays_with_the_next_and_one_at_the_end_alone():
    blocks = outline_of("class A:\n    def say(self): ...\n\n    # Doing\n\n    def do(self): ...\n\n# The end\n")
    texts = [block.text for block in blocks]
    assert texts == ["class A:", "    def say(self): ...", "    # Doing\n\n    def do(self): ...", "# The end"]


def test_a_method_is_told_its_class_with_signature_and_first_paragraph():
    blocks = outline_of(STORE)

    assert named(blocks, "Store.path")[0].heading == ("Store",)
    assert named(blocks, "Store.path")[0].context == "class Store(Base, metaclass=Meta):\nOpens a store."
    assert named(blocks, "Store.Row.key")[0].heading == ("Store", "Row")
    assert named(blocks, "Store.Row.key")[0].context.endswith("class Row:")


def test_a_class_is_not_told_of_itself():
    assert named(outline_of(STORE), "Store")[0].context == ""


def test_what_looks_like_a_line_end_to_str_splitlines_does_not_shift_lines():
    blocks = outline_of('x = 1\n\fclass A:\n\tdef f(self):\n\t\treturn "a\x1cb\u2028c\x85d"\n\ndef g(): pass\n')

    assert [(block.symbol, block.lines.first) for block in blocks] == [(None, 1), ("A", 2), ("A.f", 3), ("g", 6)]


def test_a_hash_inside_a_string_is_not_a_comment_of_the_next_function():
    (block,) = named(outline_of('x = """\n# not a comment\n"""\n# a comment\ndef f(): pass\n'), "f")

    assert block.lines.first == 4


def test_two_definitions_on_one_line_are_one_block():
    blocks = outline_of("class A: pass; x = 1\nclass B: x = 1; y = 2\n")

    assert [block.symbol for block in blocks] == ["A", "B"]


def test_nothing_is_executed_and_no_warning_of_the_parser_is_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert python.definitions('raise SystemExit\nx = "\\d" is 1\n') == ()


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n",
        "print 'python 2'\n",
        "x = 1\0\n",
        "(" * 5_000 + ")" * 5_000,
        "not " * 100_000 + "1",
        "-" * 100_000 + "1",
        "a" + ".a" * 100_000,
        "lambda: " * 50_000 + "1",
        "if x == 0:\n  pass\n" + "".join(f"elif x == {number}:\n  pass\n" for number in range(10_000)),
    ],
)
def test_what_the_parser_refuses_is_left_to_others(text):
    assert python.definitions(text) is None


def test_python_2_is_read_by_the_grammar(tmp_path):
    path = tmp_path / "old.py"
    path.write_text(
        "# old\nclass A:\n    # about f\n    @deco\n    def f(self, (a, b)):\n        print 'x', `a`\n\n"
        "    def g(self):\n        exec 'x' in d\n\ndef h():\n    print >>f, 1\n"
    )

    document = read(Source(path=str(path), doc_type="code"), ReadOptions())

    assert document.extractor == "tree-sitter"
    assert [(block.symbol, block.lines.first) for block in document.blocks] == [
        ("A", 1),
        ("A.f", 3),
        ("A.g", 8),
        ("h", 11),
    ]


def test_the_standard_library_is_held_line_by_line():
    for path in sorted(Path(ast.__file__).parent.glob("*.py"))[::4]:
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        covered = []
        for block in outline_of(text):
            assert block.text == "\n".join(lines[block.lines.first - 1 : block.lines.last])
            covered += range(block.lines.first, block.lines.last + 1)
        assert covered == sorted(set(covered))
        assert {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(covered)
