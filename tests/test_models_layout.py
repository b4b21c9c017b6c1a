"""A sentence-transformers folder read into numbers."""

from __future__ import annotations

import pytest
from tiny_model import DIM, module, write_json, write_model

from models.errors import ModelDamaged, ModelUnusable
from models.layout import pick_onnx, read_spec


def read(folder):
    return read_spec(folder, "o/m", "onnx/model.onnx")


def test_dim_limit_and_pooling_come_from_the_configuration(tmp_path):
    spec = read(write_model(tmp_path))

    assert (spec.name, spec.dim, spec.max_tokens, spec.pooling) == ("o/m", DIM, 12, "mean")


def test_the_limit_is_capped_by_the_positions_of_the_network(tmp_path):
    write_model(tmp_path)
    write_json(tmp_path / "sentence_bert_config.json", {"max_seq_length": 8192})

    assert read(tmp_path).max_tokens == 16


def test_without_a_stated_limit_the_positions_are_the_limit_and_not_the_tokenizers_figure(tmp_path):
    write_model(tmp_path)
    (tmp_path / "sentence_bert_config.json").unlink()

    assert read(tmp_path).max_tokens == 16


def test_roberta_loses_the_positions_up_to_its_padding_id(tmp_path):
    """xlm-roberta has 514 positions and sees 512 tokens."""
    write_model(tmp_path)
    write_json(tmp_path / "sentence_bert_config.json", {})
    network = {"hidden_size": DIM, "max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}
    write_json(tmp_path / "config.json", network)

    assert read(tmp_path).max_tokens == 512


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"embedding_dimension": DIM, "pooling_mode": ["mean"]}, "mean"),
        ({}, "mean"),
    ],
)
def test_pooling_is_read_from_flags_and_from_the_newer_name(tmp_path, config, expected):
    assert read(write_model(tmp_path, pooling={"word_embedding_dimension": DIM, **config})).pooling == expected


@pytest.mark.parametrize(
    "config",
    [
        {"pooling_mode_lasttoken": True},
        {"pooling_mode": "lasttoken"},
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
    ],
)
def test_unknown_pooling_is_an_error_that_names_it(tmp_path, config):
    write_model(tmp_path, pooling=config)

    with pytest.raises(ModelUnusable, match=r"pools by .*(lasttoken|mean)"):
        read(tmp_path)


def test_the_pooling_folder_is_the_one_that_modules_json_names(tmp_path):
    write_model(tmp_path)
    write_json(tmp_path / "modules.json", [module("", "Transformer"), module("2_Pooling", "Pooling")])
    write_json(tmp_path / "2_Pooling/config.json", {"pooling_mode_cls_token": True})

    assert read(tmp_path).pooling == "cls"


def test_a_layer_after_pooling_is_an_error_since_the_graph_does_not_hold_it(tmp_path):
    write_model(tmp_path)
    write_json(tmp_path / "modules.json", [module("", "Transformer"), module("2_Dense", "Dense")])

    with pytest.raises(ModelUnusable, match="Dense"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ({"query": "q: ", "passage": "p: "}, ("q: ", "p: ")),
        ({"query": "q: ", "document": "d: "}, ("q: ", "d: ")),
        ({"query": "q: "}, ("q: ", "")),
        ({}, ("", "")),
    ],
)
def test_prefixes_come_from_the_prompts(tmp_path, prompts, expected):
    write_model(tmp_path)
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})
    spec = read(tmp_path)

    assert (spec.query_prefix, spec.passage_prefix) == expected
    assert spec.key == spec.name


def test_the_default_prompt_is_the_prefix_of_both(tmp_path):
    write_model(tmp_path)
    config = {"prompts": {"similarity": "s: "}, "default_prompt_name": "similarity"}
    write_json(tmp_path / "config_sentence_transformers.json", config)

    assert read(tmp_path).query_prefix == read(tmp_path).passage_prefix == "s: "


def test_a_broken_file_is_damage_and_is_named(tmp_path):
    write_model(tmp_path)
    (tmp_path / "config.json").write_text("{")

    with pytest.raises(ModelDamaged, match=r"config\.json"):
        read(tmp_path)


def test_a_folder_that_does_not_say_its_sizes_is_unusable(tmp_path):
    with pytest.raises(ModelUnusable, match="size of its vectors"):
        read(tmp_path)
    write_json(tmp_path / "config.json", {"hidden_size": DIM})
    with pytest.raises(ModelUnusable, match="how long a text"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["model.onnx", "onnx/model.onnx"], "onnx/model.onnx"),
        (["onnx/model_quantized.onnx", "model.onnx"], "model.onnx"),
        (["model_quantized.onnx"], "model_quantized.onnx"),
        (["README.md", "odd.onnx"], "odd.onnx"),
        (["odd.onnx", "even.onnx"], None),
        (["model.safetensors"], None),
    ],
)
def test_the_most_faithful_onnx_file_is_picked(files, expected):
    assert pick_onnx(files) == expected


def test_a_known_models_own_file_comes_first():
    assert pick_onnx(["model.onnx", "onnx/model.onnx"], "model.onnx") == "model.onnx"
