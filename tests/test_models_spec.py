"""The numbers of models: the table of well-known ones, short names, and the key under which vectors are stored."""

from __future__ import annotations

import msgspec
import pytest

from models.known import DEFAULT_MODEL, KNOWN, resolve
from models.spec import ModelSpec, content_in

SPEC = ModelSpec(name="o/m", dim=4, max_tokens=8, pooling="mean", passage_prefix="p: ", own_passage_prefix="p: ")


def test_the_key_is_the_name_while_the_passage_prefix_is_the_models_own():
    assert SPEC.key == "o/m"
    assert SPEC.with_prefixes("other query prefix: ", None).key == "o/m"


def test_another_passage_prefix_is_another_key():
    """Vectors of differently prefixed texts must not be taken for each other."""
    bare = SPEC.with_prefixes(None, "")
    other = SPEC.with_prefixes(None, "doc: ")

    assert len({SPEC.key, bare.key, other.key}) == 3
    assert other.key == "o/m#31125b93"
    assert msgspec.structs.replace(SPEC, passage_prefix="doc: ").key == other.key


def test_other_content_is_another_key_whatever_the_prefix():
    spec = msgspec.structs.replace(SPEC, content="c0ffee")

    assert spec.key == "o/m@c0ffee"
    assert spec.with_prefixes(None, "doc: ").key == "o/m@c0ffee#31125b93"


def test_the_content_is_found_in_a_key_again():
    spec = msgspec.structs.replace(SPEC, name="/odd@c0de#x/model")
    filled = msgspec.structs.replace(spec, content="c0ffee")

    for each in (spec, filled, filled.with_prefixes(None, "doc: "), spec.with_prefixes(None, "doc: ")):
        assert content_in(each.key, each.name) == each.content


def test_none_keeps_a_prefix_and_the_empty_text_removes_it():
    kept = SPEC.with_prefixes(None, None)
    removed = SPEC.with_prefixes(None, "")

    assert (kept, removed.passage_prefix) == (SPEC, "")


@pytest.mark.parametrize("name", KNOWN)
def test_every_known_model_is_stored_under_its_own_name(name):
    assert KNOWN[name].key == name


def test_the_issues_models_are_known_with_their_figures():
    expected = {
        "all-MiniLM-L6-v2": (384, 256, "mean", "", ""),
        "bge-small-en-v1.5": (
            384,
            512,
            "cls",
            "Represent this sentence for searching relevant passages: ",
            "",
        ),
        "bge-base-en-v1.5": (
            768,
            512,
            "cls",
            "Represent this sentence for searching relevant passages: ",
            "",
        ),
        "e5-small-v2": (384, 512, "mean", "query: ", "passage: "),
        "multilingual-e5-small": (384, 512, "mean", "query: ", "passage: "),
        "gte-small": (384, 512, "mean", "", ""),
        "nomic-embed-text-v1.5": (768, 2048, "mean", "search_query: ", "search_document: "),
    }
    found = {short: KNOWN[resolve(short)] for short in expected}

    assert expected == {
        short: (spec.dim, spec.max_tokens, spec.pooling, spec.query_prefix, spec.passage_prefix)
        for short, spec in found.items()
    }


def test_short_names_mean_full_ones_and_other_names_mean_themselves():
    assert resolve("bge-small-en-v1.5") == "BAAI/bge-small-en-v1.5"
    assert resolve("BAAI/bge-small-en-v1.5") == "BAAI/bge-small-en-v1.5"
    assert resolve("someone/something") == "someone/something"


def test_the_default_is_the_int8_model_and_not_the_hubs_float32_one():
    assert resolve(DEFAULT_MODEL) == DEFAULT_MODEL
    assert KNOWN[DEFAULT_MODEL].key != KNOWN["sentence-transformers/all-MiniLM-L6-v2"].key
