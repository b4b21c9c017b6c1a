"""A model of a few hundred bytes in the sentence-transformers layout, made by hand for the tests.

The graph looks each token up in a table; with `quantised=True` the looked-up values pass through one scale for the whole
batch, as in graphs from dynamic quantisation. ONNX is written as protobuf by the three functions at the end, since the
`onnx` package is no dependency. Field numbers: onnx.proto3 of onnx 1.17.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, processors

TABLE: Mapping[str, Sequence[float]] = {
    "[PAD]": (9.0, 9.0, 9.0, 9.0),
    "[UNK]": (0.0, 0.0, 0.0, 1.0),
    "[CLS]": (0.0, 0.0, 1.0, 0.0),
    "[SEP]": (0.0, 0.0, 1.0, 0.0),
    "red": (1.0, 0.013, 0.0, 0.0),
    "green": (0.0, 1.0, 0.0, 0.0),
    "huge": (400.0, 0.0, 0.0, 0.0),
}
WORDS = {word: number for number, word in enumerate(TABLE)}
DIM = 4


def write_model(
    folder: Path,
    *,
    onnx_file: str = "onnx/model.onnx",
    quantised: bool = False,
    output: str = "last_hidden_state",
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    pooling: dict[str, object] | None = None,
    dim: int = DIM,
    max_tokens: int = 12,
    table: Mapping[str, Sequence[float]] = TABLE,
) -> Path:
    """The folder, filled: at most 12 tokens a text, of 16 positions, mean pooling unless told; `dim` from 4, filled with zeros."""
    write_json(
        folder / "config.json", {"hidden_size": dim, "max_position_embeddings": max_tokens + 4, "model_type": "bert"}
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": False})
    write_json(folder / "modules.json", [module("", "Transformer"), module("1_Pooling", "Pooling")])
    write_json(
        folder / "1_Pooling/config.json", pooling or {"word_embedding_dimension": dim, "pooling_mode_mean_tokens": True}
    )
    write_tokenizer(folder / "tokenizer.json", table)
    (folder / onnx_file).parent.mkdir(parents=True, exist_ok=True)
    (folder / onnx_file).write_bytes(
        onnx_bytes(quantised=quantised, output=output, inputs=inputs, dim=dim, table=table)
    )
    return folder


def module(path: str, kind: str) -> dict[str, str]:
    return {"path": path, "type": f"sentence_transformers.models.{kind}"}


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_tokenizer(path: Path, words: Iterable[str] = TABLE) -> None:
    """Words and [CLS] ... [SEP]; cuts at 5 tokens and pads to 5, as files of the hub do with their own figures."""
    ids = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(word, ids[word]) for word in ("[CLS]", "[SEP]")]
    )
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=5)
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))


def onnx_bytes(
    *,
    quantised: bool,
    output: str,
    inputs: tuple[str, ...],
    dim: int = DIM,
    table: Mapping[str, Sequence[float]] = TABLE,
) -> bytes:
    looked_up = "looked_up" if quantised or output == "sentence_embedding" else output
    nodes = [node("Gather", ["table", "input_ids"], [looked_up])]
    if quantised:
        nodes += [
            node("DynamicQuantizeLinear", [looked_up], ["quantised", "scale", "zero"]),
            node("DequantizeLinear", ["quantised", "scale", "zero"], [output]),
        ]
    elif output == "sentence_embedding":
        axes = text(1, "axes") + number(8, 1) + number(20, 7)
        keep = text(1, "keepdims") + number(3, 0) + number(20, 2)
        nodes += [node("ReduceMean", [looked_up], [output], [axes, keep])]
    wide = [(*row, *(0.0,) * (dim - len(row))) for row in table.values()]
    values = struct.pack(f"<{len(table) * dim}f", *(value for row in wide for value in row))
    rows = number(1, len(table)) + number(1, dim) + number(2, 1) + text(8, "table") + block(9, values)
    ids_shape, float32, int64 = ("batch", "tokens"), 1, 7
    out_shape = ("batch", dim) if output == "sentence_embedding" else ("batch", "tokens", dim)
    graph = b"".join(block(1, each) for each in nodes) + text(2, "tiny") + block(5, rows)
    graph += b"".join(block(11, tensor(name, int64, ids_shape)) for name in inputs)
    graph += block(12, tensor(output, float32, out_shape))
    return number(1, 8) + block(8, text(1, "") + number(2, 17)) + block(7, graph)


def node(operator: str, inputs: list[str], outputs: list[str], attributes: list[bytes] | None = None) -> bytes:
    named = b"".join(text(1, name) for name in inputs) + b"".join(text(2, name) for name in outputs)
    return named + text(4, operator) + b"".join(block(5, attribute) for attribute in attributes or [])


def tensor(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    sizes = b"".join(block(1, number(1, size) if isinstance(size, int) else text(2, size)) for size in shape)
    return text(1, name) + block(2, block(1, number(1, kind) + block(2, sizes)))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: str) -> bytes:
    return block(field, value.encode())


def block(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
