"""The default model's graph written anew: the same weights in fewer and larger steps, the same vectors, less of everything.

The file's own graph has 385 nodes. When it is opened, it turns every int8 weight into float32, the 47 MB of the vocabulary
too, and onnxruntime finds no attention in it. Here queries, keys and values are one product in one operator, a text's length
takes the place of a mask of (tokens, tokens), and of the vocabulary only the rows of a text's tokens become float32:
52 nodes. A query takes a fifth less time, opening and memory are less than half (docs/embedding_speed.md has the table).
Vectors differ from those of the file's graph by less than 1e-6, which is the order in which the same numbers are added.

This is for passages; queries have a graph of their own (`models.minilm_int8`). Only for the file of `models.known.DEFAULT_SHA256`, whose names it knows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.onnxfile import INT32, MICROSOFT, model, node, read_tensors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LAYERS, HEADS, DIM = 6, 12, 384
EPSILON = 1e-12  # as the file has it
OUTPUT = "last_hidden_state"

_EMBEDDINGS = "inner.embeddings."
_MATRICES_A_LAYER = 6  # query, key, value, attention's output, up, down: int8, in this order in the file


def rewrite(path: Path) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """An ONNX file that asks for its weights by name, and these: float32 and int8, contiguous, copied from the mapped file."""
    import numpy as np

    tensors = read_tensors(path)
    words, positions, matrices = matrix_names(tensors)
    weights = embedding_weights(tensors, words, positions)
    nodes = [
        node("Cast", ["attention_mask"], "mask", to=INT32),
        node("ReduceSum", ["mask", "one"], "lengths", keepdims=0),
        *embedding_nodes(),
    ]
    for layer, own in enumerate(matrices):
        weights |= _layer_weights(tensors, layer, own)
        nodes += _layer_nodes(layer)
    weights = {name: np.array(array) if array.base is not None else array for name, array in weights.items()}
    graph = model(
        nodes, weights, {"zero": 0, "one": 1}, ("input_ids", "attention_mask"), (OUTPUT, ("texts", "tokens", DIM))
    )
    return graph, weights


def matrix_names(tensors: dict[str, NDArray[Any]]) -> tuple[str, str, list[list[str]]]:
    """The vocabulary, the positions, and of each layer: query, key, value, attention's output, up, down."""
    words, positions, *others = [name.removesuffix("_q") for name in tensors if name.endswith("_q")]
    return words, positions, [others[layer * _MATRICES_A_LAYER :][:_MATRICES_A_LAYER] for layer in range(LAYERS)]


def _dequantised(tensors: dict[str, NDArray[Any]], *names: str) -> NDArray[np.float32]:
    """The matrices of these names side by side, as float32."""
    import numpy as np

    whole = np.empty((len(tensors[f"{names[0]}_q"]), sum(tensors[f"{name}_q"].shape[1] for name in names)), np.float32)
    start = 0
    for name in names:
        quantised = tensors[f"{name}_q"]
        np.multiply(quantised, tensors[f"{name}_scale"], out=whole[:, start : start + quantised.shape[1]])
        start += quantised.shape[1]
    return whole


def embedding_weights(tensors: dict[str, NDArray[Any]], words: str, positions: str) -> dict[str, NDArray[Any]]:
    return {
        "words": tensors[f"{words}_q"],
        "word_scales": tensors[f"{words}_scale"],
        # Every token of a text alone is of type 0.
        "positions": _dequantised(tensors, positions) + tensors[f"{_EMBEDDINGS}token_type_embeddings.weight"][0],
        "norm_gain": tensors[f"{_EMBEDDINGS}LayerNorm.weight"],
        "norm_bias": tensors[f"{_EMBEDDINGS}LayerNorm.bias"],
    }


def embedding_nodes() -> list[bytes]:
    return [
        node("Gather", ["words", "input_ids"], "rows"),
        node("Cast", ["rows"], "float_rows", to=1),
        node("Gather", ["word_scales", "input_ids"], "row_scales"),
        node("Mul", ["float_rows", "row_scales"], "of_words"),
        node("Shape", ["input_ids"], "width", start=1, end=2),
        node("Slice", ["positions", "zero", "width", "zero"], "of_positions"),
        node("Add", ["of_words", "of_positions"], "embedded"),
        node("LayerNormalization", ["embedded", "norm_gain", "norm_bias"], "state0", axis=-1, epsilon=EPSILON),
    ]


def _layer_weights(tensors: dict[str, NDArray[Any]], layer: int, matrices: list[str]) -> dict[str, NDArray[Any]]:
    query, key, value, mix, up, down = matrices
    return {
        f"attend{layer}": _dequantised(tensors, query, key, value),
        f"mix{layer}": _dequantised(tensors, mix),
        f"up{layer}": _dequantised(tensors, up),
        f"down{layer}": _dequantised(tensors, down),
        **layer_vectors(tensors, layer),
    }


def layer_vectors(tensors: dict[str, NDArray[Any]], layer: int) -> dict[str, NDArray[Any]]:
    """Biases, and what normalisation takes: float32 in the file."""
    import numpy as np

    at = f"inner.encoder.layer.{layer}."
    biases = [tensors[f"{at}attention.self.{part}.bias"] for part in ("query", "key", "value")]
    return {
        f"attend_bias{layer}": np.concatenate(biases),
        f"mix_bias{layer}": tensors[f"{at}attention.output.dense.bias"],
        f"mix_norm_gain{layer}": tensors[f"{at}attention.output.LayerNorm.weight"],
        f"mix_norm_bias{layer}": tensors[f"{at}attention.output.LayerNorm.bias"],
        f"up_bias{layer}": tensors[f"{at}intermediate.dense.bias"],
        f"down_bias{layer}": tensors[f"{at}output.dense.bias"],
        f"down_norm_gain{layer}": tensors[f"{at}output.LayerNorm.weight"],
        f"down_norm_bias{layer}": tensors[f"{at}output.LayerNorm.bias"],
    }


def _layer_nodes(layer: int) -> list[bytes]:
    """Attention, then the two products of the feed-forward part; after each, add what came in and normalise."""
    state, following = f"state{layer}", OUTPUT if layer == LAYERS - 1 else f"state{layer + 1}"

    def of(name: str) -> str:
        return f"{name}{layer}"

    return [
        node(
            "Attention", [state, of("attend"), of("attend_bias"), "lengths"], of("attended"), MICROSOFT, num_heads=HEADS
        ),
        node("MatMul", [of("attended"), of("mix")], of("mixed")),
        add_and_normalise(layer, "mix", of("mixed"), state, of("middle")),
        node("MatMul", [of("middle"), of("up")], of("wide")),
        node("BiasGelu", [of("wide"), of("up_bias")], of("activated"), MICROSOFT),
        node("MatMul", [of("activated"), of("down")], of("narrow")),
        add_and_normalise(layer, "down", of("narrow"), of("middle"), following),
    ]


def add_and_normalise(layer: int, part: str, new: str, old: str, output: str) -> bytes:
    inputs = [new, old, f"{part}_norm_gain{layer}", f"{part}_norm_bias{layer}", f"{part}_bias{layer}"]
    return node("SkipLayerNormalization", inputs, output, MICROSOFT, epsilon=EPSILON)
