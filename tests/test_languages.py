"""The language of a file by its name, else by its shebang."""

from __future__ import annotations

import pytest

from kb.read import languages
from kb.read.code.grammars import GRAMMARS


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/Store.PY", "python"),
        ("types.pyi", "python"),
        ("main.go", "go"),
        ("App.tsx", "tsx"),
        ("x.mjs", "javascript"),
        ("lib.rs", "rust"),
        ("Makefile", "make"),
        ("/home/me/.bashrc", "bash"),
        ("Gemfile", "ruby"),
        ("CMakeLists.txt", "cmake"),
        ("photo.png", None),
        ("README", None),
    ],
)
def test_a_name_says_its_language(path, language):
    assert languages.of_path(path) == language


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("#!/bin/sh", "bash"),
        ("#! /bin/bash -e", "bash"),
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/python3.11 -u", "python"),
        ("#!/usr/bin/env -S PYTHONPATH=. uv run --script", "python"),
        ("#!/usr/bin/env node", "javascript"),
        ("#!/usr/bin/ruby2.7", "ruby"),
        ("#!/usr/bin/env", None),
        ("#!/opt/unknown", None),
        ("# not a shebang", None),
        ("", None),
    ],
)
def test_a_shebang_names_an_interpreter(line, language):
    assert languages.of_shebang(f"{line}\nprint(1)\n") == language


def test_a_header_that_speaks_of_classes_is_cpp():
    assert languages.of("a.h", "int f(void);\n") == "c"
    assert languages.of("a.h", "#pragma once\nnamespace a {\n}\n") == "cpp"


def test_the_name_wins_over_the_shebang():
    assert languages.of("tool.py", "#!/bin/sh\n") == "python"
    assert languages.of("tool", "#!/bin/sh\n") == "bash"


def test_every_grammar_belongs_to_a_known_language():
    assert set(GRAMMARS) <= set(languages.LANGUAGES)
