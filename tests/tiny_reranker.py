"""A cross-encoder of a few hundred bytes in the hub's layout, made by hand for the tests.

Its number is that of the passage's best word in `NUMBERS`; words of the query, told apart by their token type, do not count.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

from tiny_model import WORDS, block, node, number, tensor, text, write_json, write_tokenizer
from tokenizers import Tokenizer, processors

NUMBERS = {"[PAD]": -9.0, "[UNK]": -3.0, "[CLS]": -9.0, "[SEP]": -9.0, "red": -1.0, "green": 4.0, "huge": 1.0}
OF_TYPES = (-20.0, 0.0)
"""Added to tokens of the query, and of the passage."""


def score(word: str) -> float:
    return 1 / (1 + math.exp(-NUMBERS[word]))


def write_reranker(
    folder: Path, *, labels: int = 1, numbers: dict[str, float] | None = None, outputs: tuple[str, ...] = ("logits",)
) -> Path:
    """The folder, filled: 16 positions. `numbers` replaces some of NUMBERS."""
    config = {"hidden_size": 4, "max_position_embeddings": 16, "model_type": "bert"}
    write_json(
        folder / "config.json", {**config, "id2label": {str(label): f"LABEL_{label}" for label in range(labels)}}
    )
    write_tokenizer(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, WORDS[name]) for name in ("[CLS]", "[SEP]")],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "onnx").mkdir(exist_ok=True)
    (folder / "onnx/model.onnx").write_bytes(_onnx({**NUMBERS, **(numbers or {})}, labels, outputs))
    return folder


def _onnx(numbers: dict[str, float], labels: int, outputs: tuple[str, ...]) -> bytes:
    axes = text(1, "axes") + number(8, 1) + number(20, 7)
    keep = text(1, "keepdims") + number(3, 0) + number(20, 2)
    nodes = [
        node("Gather", ["words", "input_ids"], ["of_words"]),
        node("Gather", ["types", "token_type_ids"], ["of_types"]),
        node("Add", ["of_words", "of_types"], ["sum"]),
        *(node("ReduceMax", ["sum"], [output], [axes, keep]) for output in outputs),
    ]
    words = [value for value in numbers.values() for _ in range(labels)]
    types = [value for value in OF_TYPES for _ in range(labels)]
    graph = b"".join(block(1, each) for each in nodes) + text(2, "tiny")
    graph += block(5, _table("words", words, labels)) + block(5, _table("types", types, labels))
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph += block(11, tensor(name, 7, ("batch", "tokens")))
    graph += b"".join(block(12, tensor(output, 1, ("batch", labels))) for output in outputs)
    return number(1, 8) + block(8, text(1, "") + number(2, 17)) + block(7, graph)


def _table(name: str, values: list[float], width: int) -> bytes:
    content = struct.pack(f"<{len(values)}f", *values)
    return number(1, len(values) // width) + number(1, width) + number(2, 1) + text(8, name) + block(9, content)
