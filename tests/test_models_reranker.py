"""A cross-encoder of the tests, located and run by the product's own path."""

from __future__ import annotations

import math

import pytest
import tiny_reranker
from tiny_model import write_json
from tiny_reranker import NUMBERS, score, write_reranker

from models.errors import ModelDamaged, ModelMissing, ModelUnusable
from models.reranker import CrossEncoder
from models.rerankerfiles import DEFAULT_RERANKER, MOST_TOKENS, full_name, limit_of, locate_reranker


@pytest.fixture
def folder(tmp_path):
    return write_reranker(tmp_path / "reranker")


def scores(folder, query, passages):
    return dict(CrossEncoder.load(locate_reranker(str(folder))).scores(query, passages))


def test_a_score_is_the_sigmoid_of_what_the_network_says_of_the_passage(folder):
    found = scores(folder, "green", ["red", "green red", "something else"])

    assert found == pytest.approx({0: score("red"), 1: score("green"), 2: score("[UNK]")})


def test_a_passages_score_does_not_depend_on_those_beside_it(folder):
    passages = ["red " * count for count in range(1, 12)] + ["green"]

    together = scores(folder, "red", passages)

    assert together == pytest.approx({n: scores(folder, "red", [text])[0] for n, text in enumerate(passages)})
    assert together.keys() == set(range(12))


def test_what_exceeds_the_limit_is_cut_and_what_is_no_text_is_read(folder):
    found = scores(folder, "red", ["red " * 40 + "green", "", "\udcff red"])

    assert found[0] == pytest.approx(score("red"))  # 16 positions: the last word is not seen
    assert all(0 < each < 1 for each in found.values())


def test_nan_stays_nan(tmp_path):
    folder = write_reranker(tmp_path / "nan", numbers=dict.fromkeys(NUMBERS, math.nan))

    assert math.isnan(scores(folder, "x", ["red"])[0])


def test_no_number_is_too_large(tmp_path):
    folder = write_reranker(tmp_path / "steep", numbers={**dict.fromkeys(NUMBERS, -9e9), "green": 9e9})

    assert scores(folder, "x", ["red", "green"]) == pytest.approx({0: 0.0, 1: 1.0})


def test_what_tells_several_labels_apart_is_no_reranker(tmp_path):
    with pytest.raises(ModelUnusable, match="tells 3 labels apart"):
        locate_reranker(str(write_reranker(tmp_path / "three", labels=3)))


def test_a_network_that_gives_several_numbers_is_told_by_its_first_answer(tmp_path):
    folder = write_reranker(tmp_path / "two", labels=2)
    write_json(folder / "config.json", {"max_position_embeddings": 16})

    with pytest.raises(ModelUnusable, match="gave 2 numbers for 1 pairs"):
        scores(folder, "x", ["red"])


def test_a_network_with_other_outputs_is_refused(tmp_path):
    with pytest.raises(ModelUnusable, match="unlike a cross-encoder"):
        scores(write_reranker(tmp_path / "more", outputs=("logits", "more")), "x", ["red"])


def test_a_damaged_file_is_named(folder):
    (folder / "onnx/model.onnx").write_bytes(b"nothing")

    with pytest.raises(ModelDamaged, match=r"model\.onnx cannot be loaded"):
        scores(folder, "x", ["red"])


@pytest.mark.parametrize("name", ["./nowhere", "org/name", "ms-marco-MiniLM-L-6-v2", "not a name"])
def test_what_is_not_here_is_missing(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))

    with pytest.raises(ModelMissing, match="is not on this machine"):
        locate_reranker(name)


@pytest.mark.parametrize("file", ["tokenizer.json", "onnx/model.onnx"])
def test_a_part_of_one_is_missing_too(folder, file):
    (folder / file).unlink()

    with pytest.raises(ModelMissing, match="is not whole"):
        locate_reranker(str(folder))


def test_well_known_rerankers_have_short_names():
    assert full_name("ms-marco-MiniLM-L-6-v2") == DEFAULT_RERANKER
    assert full_name("bge-reranker-base") == "BAAI/bge-reranker-base"
    assert full_name("some/other") == "some/other"


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"max_position_embeddings": 512}, 512),
        ({"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}, 512),
        ({"max_position_embeddings": 8192}, MOST_TOKENS),
        ({}, MOST_TOKENS),
        ({"num_labels": 1, "max_position_embeddings": 128}, 128),
    ],
)
def test_a_pair_is_as_long_as_the_positions_that_the_network_knows(tmp_path, config, limit):
    write_json(tmp_path / "config.json", config)

    assert limit_of(tmp_path, "it") == limit


def test_every_word_of_the_tests_has_a_number():
    assert NUMBERS.keys() == tiny_reranker.WORDS.keys()
