"""What of a text is indexed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer2Error", ["HTTPServer2Error", "HTTP", "Server", "2", "Error"]),
        ("see src/utils/io_helpers.py.", ["src/utils/io_helpers.py", "io_helpers.py"]),
        ("(foo@bar.com)", ["foo@bar.com"]),
        ("version 3.14.1, then", ["3.14.1"]),
        ("C++ and C#", ["C++", "C#"]),
        ("C/C++ and C++17", ["C/C++", "C++", "C++17", "C++"]),
        ("on .NET", [".NET"]),
        ("rm -rf --force", ["-rf", "--force"]),
        ("std::vector", ["std::vector"]),
        ("config.max_tokens", ["config.max_tokens"]),
        ("a user-agent", ["user-agent"]),
        ("https://example.com/a-b?x=1", ["https://example.com/a-b", "example.com", "a-b"]),
        ("Straße_naïve", ["Straße_naïve"]),
    ],
)
def test_an_identifier_is_listed_whole_and_in_the_parts_a_tokenizer_does_not_give(text, expected):
    assert terms.identifiers(text).split() == expected


@pytest.mark.parametrize("text", ["plain words, and more.", "- a list", "a - b", "-----", "_____", "5 > 3", "हिन्दी में"])
def test_prose_and_markup_hold_no_identifiers(text):
    assert terms.identifiers(text) == ""


@pytest.mark.parametrize("word", ["iOS", "LaTeX", "APIs", "URLs", "aGbVsCbGd", "Plain", "UPPER"])
def test_names_that_only_look_like_camel_case_have_no_parts(word):
    assert terms.camel_parts(word) == []


def test_the_parts_of_a_compound_are_all_its_plain_words_in_order():
    assert terms.parts("src/myUtils/io_helpers.py") == ["src", "my", "Utils", "io", "helpers", "py"]


def test_data_is_no_identifier():
    assert terms.identifiers("a_" * terms.LONGEST_IDENTIFIER) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ofﬁce", "office"),
        ("\uff26\uff55\uff4c\uff4c\u3000\uff57\uff49\uff44\uff45", "Full wide"),
        ("ﺍﻟﻌﺮﺑﻴﺔ", "العربية"),
        ("in\u00adter\u00adest", "interest"),
        ("half \ud800 pair", "half  pair"),
        ("e\u0301", "é"),
    ],
)
def test_what_looks_the_same_is_spelled_the_same(text, expected):
    assert terms.normalise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("検索エンジン", ["検", "索", "エ", "ン", "ジ", "ン"]),
        ("使用max_tokens设置", ["使", "用", "max_tokens", "设", "置"]),
        ("데이터", ["데", "이", "터"]),
        ("ก่อน", ["ก่", "อ", "น"]),
        ("plain words", ["plain", "words"]),
        ("Übermaß हिन्दी", ["Übermaß", "हिन्दी"]),
    ],
)
def test_characters_of_scripts_without_spaces_are_set_apart_with_their_marks(text, expected):
    assert terms.spaced(text).split() == expected


@given(st.text())
def test_spacing_loses_nothing(text):
    assert "".join(terms.spaced(text).split()) == "".join(text.split())


@given(st.text(st.characters()))
def test_any_text_can_be_indexed(text):
    (terms.spaced(terms.normalise(text)) + terms.identifiers(terms.normalise(text))).encode()


@given(st.text(st.characters() | st.sampled_from("azAZ9_-.")))
def test_a_word_is_compound_where_it_holds_a_symbol_or_a_hump(word):
    has_symbol = re.search(r"[-_./\\@:+#]", word) and word.strip("_")
    assert terms.is_compound(word) == bool(has_symbol or re.search(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]", word))
