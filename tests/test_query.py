"""The language of queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.query import MOST_CHARS, MOST_PARTS, MOST_WORDS, Phrase, Word, beginning, parse


def words(raw):
    return [word.text for word in parse(raw).words]


def phrases(raw):
    return [phrase.text for phrase in parse(raw).phrases]


def excluded(raw):
    return [phrase.text for phrase in parse(raw).excluded]


@given(st.text(st.characters()) | st.text('"-+#.C\u2018\u2019\u201c\u201d a\xe9検ก\n'))
def test_no_text_is_an_error(raw):
    parse(raw)


def test_words_are_alternatives_and_repetition_is_kept():
    assert words("red green, (red)") == ["red", "green", "red"]


@pytest.mark.parametrize("raw", ['"rank fusion"', "“rank fusion”", "„rank  fusion“", "«rank fusion»"])
def test_quotes_of_every_shape_make_a_phrase(raw):
    assert parse(raw).phrases == (Phrase(text="rank fusion"),)
    assert words(raw) == []


@pytest.mark.parametrize(("raw", "expected"), [('5" disk', ["5", "disk"]), ('disk "', ["disk"]), ('"disk', ["disk"])])
def test_a_quote_without_its_partner_is_literal(raw, expected):
    assert words(raw) == expected
    assert phrases(raw) == []


@pytest.mark.parametrize("raw", ['""', '"  "', '"!?"', "", "  ", "-", "--", "->", "-!!!"])
def test_what_holds_nothing_to_search_is_empty(raw):
    assert parse(raw).is_empty
    assert not parse(raw).is_only_exclusions


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("cat -python", ["python"]),
        ('cat -"two words"', ["two words"]),
        ("cat -max_tokens", ["max_tokens"]),
        ("cat -C++ -C#", ["C++", "C#"]),
        ("cat -検索", ["検索"]),
    ],
)
def test_a_dash_before_a_word_or_phrase_excludes(raw, expected):
    assert excluded(raw) == expected
    assert words(raw) == ["cat"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("rm -rf", ["rm", "-rf"]),
        ("ls -l", ["ls", "-l"]),
        ("git push --force", ["git", "push", "--force"]),
        ("user-agent", ["user-agent"]),
        ("cats - dogs", ["cats", "dogs"]),
    ],
)
def test_options_and_dashes_elsewhere_are_searched(raw, expected):
    assert words(raw) == expected
    assert excluded(raw) == []


def test_a_query_of_exclusions_only_says_so():
    query = parse('-python -"two words"')
    assert query.is_empty
    assert query.is_only_exclusions


def test_function_words_are_left_out_where_others_remain():
    assert words("how do I configure the parser?") == ["configure", "parser"]
    assert words("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert words('the "rank of fusion"') == []
    assert phrases('the "rank of fusion"') == ["rank of fusion"]


@pytest.mark.parametrize("raw", ["the user's guide", "the user\u2019s guide"])
def test_the_end_of_a_contraction_is_no_word(raw):
    assert words(raw) == ["user", "guide"]


def test_an_identifier_is_looked_for_whole_then_spelled_then_in_parts():
    assert parse("max_tokens").words == (
        Word(
            text="max_tokens",
            whole="max_tokens",
            spellings=("max_tokens", "max tokens", "maxtokens"),
            loose=("max", "tokens"),
        ),
    )
    assert parse("HTTPServer2Error").words[0].loose == ("HTTP", "Server", "2", "Error")
    assert parse("3.14.1").words[0].spellings == ("3.14.1", "3 14 1")


def test_a_name_that_lives_by_its_symbol_is_not_spelled_without_it():
    assert parse("C++").words == (Word(text="C++", whole="C++", spellings=("C++",)),)
    assert parse(".NET").words == (Word(text=".NET", whole=".NET", loose=("NET",)),)
    assert parse('".NET runtime"').phrases == (Phrase(text=".NET runtime", symbols=(".NET",)),)


def test_a_run_without_spaces_becomes_pairs_of_neighbours():
    assert parse("東京都").words == (Word(text="東京都", spellings=("東 京", "京 都")),)
    assert parse("都").words == (Word(text="都", spellings=("都",)),)
    assert words("使用C++编程") == ["使用", "C++", "编程"]


def test_a_pasted_page_is_cut_and_says_so():
    assert not parse("word " * MOST_WORDS).is_cut
    query = parse("word " * (MOST_WORDS + 1))
    assert query.is_cut
    assert len(query.words) == MOST_WORDS


@pytest.mark.parametrize("between", [" ", "\n", "\t", "\u3000"])
def test_a_query_of_more_characters_than_are_read_is_cut_between_words(between):
    """Half of a word that is excluded would exclude another word."""
    query = "-outermost" + f"{between}-outer" * MOST_CHARS
    assert {phrase.text for phrase in parse(query).excluded} == {"outermost", "outer"}
    assert parse(query).is_cut
    assert beginning("x" * (MOST_CHARS + 1)) == "x" * MOST_CHARS
    assert beginning(f"x{between}" * MOST_CHARS) == f"x{between}" * (MOST_CHARS // 2)
    assert beginning(between * (MOST_CHARS + 1)) == between * MOST_CHARS
    assert not parse(("x" * (MOST_CHARS - 1)) + " ").is_cut


@pytest.mark.parametrize("letters", ["日本", "max_tokens_"])
def test_a_word_of_thousands_of_parts_is_cut_as_a_page_is(letters):
    """Words pasted with `_` between them, or a page without spaces: each part would become as many clauses as a word."""
    [word] = parse(letters * MOST_PARTS).words
    assert max(len(word.spellings), len(word.loose)) == MOST_PARTS
    query = parse(f"{letters * MOST_PARTS} word")
    assert query.is_cut
    assert query.words == (word,)
    assert not parse(letters * (MOST_PARTS // 2)).is_cut
