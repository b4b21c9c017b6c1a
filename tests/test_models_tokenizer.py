"""Counting and placing tokens, and the tokenizer as the model gets it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import write_tokenizer

from models.errors import ModelDamaged
from models.known import DEFAULT_MODEL, KNOWN
from models.locate import locate
from models.tokenizer import TokenCounter, load_tokenizer

DEFAULT = locate(DEFAULT_MODEL)
COUNTER = TokenCounter.load(DEFAULT.tokenizer)


def test_the_limit_is_ours_and_not_the_128_in_the_file():
    tokenizer = load_tokenizer(DEFAULT.tokenizer, DEFAULT.spec.max_tokens)

    assert len(tokenizer.encode("word " * 1000)) == 256
    assert len(tokenizer.encode("word " * 200)) == 202


def test_nothing_is_padded():
    assert len(load_tokenizer(DEFAULT.tokenizer, 256).encode("word")) == 3


def test_counting_neither_cuts_nor_pads_nor_counts_special_tokens():
    assert COUNTER.count("word " * 1000) == 1000
    assert COUNTER.count("word") == 1
    assert COUNTER.count("") == 0


def test_counting_many_is_counting_each():
    texts = ["one", "", "two words", "unbelievably tokenised"]

    assert COUNTER.count_many(texts) == [COUNTER.count(text) for text in texts]
    assert COUNTER.count_many([]) == []


def test_offsets_cut_the_text_at_its_tokens():
    text = "Naïve café, 😀 x"

    assert [text[start:end] for start, end in COUNTER.offsets(text)] == ["Naïve", "café", ",", "😀", "x"]


@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_can_be_counted_and_its_offsets_lie_in_it(text):
    """Lone surrogates too: a shell may hand over bytes that are no text."""
    offsets = COUNTER.offsets(text)

    assert len(offsets) == COUNTER.count(text) == COUNTER.count_many([text])[0]
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    assert [start for start, _ in offsets] == sorted(start for start, _ in offsets)


def test_the_room_for_a_passage_is_the_limit_less_special_tokens_and_prefix(tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json")
    tiny = TokenCounter.load(tmp_path / "tokenizer.json")

    assert COUNTER.room(DEFAULT.spec) == 254
    assert tiny.room(KNOWN["intfloat/e5-small-v2"]) == 512 - 2 - 2  # "passage" and ":" are two tokens here


def test_a_file_that_is_no_tokenizer_is_damage(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")

    with pytest.raises(ModelDamaged, match="not a tokenizer"):
        TokenCounter.load(tmp_path / "tokenizer.json")
