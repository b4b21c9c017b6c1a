"""The default model's graph for queries: products of 8-bit numbers, a quarter of the memory, nearly the float32 vectors.

A query is one short text, so what its embedding takes is the reading of the weights: 12 MB here, 42 in `models.minilm`. They
are the file's own codes, not rounded again; what is rounded is what they are multiplied with, to 256 steps between the least
and the greatest number of the text. A few channels reach ten times as far as the others, and would leave these ten steps. So
each of those is cut into several equal parts beside each other, and its row of weights is there as often ("outlier channel
splitting", Zhao et al. 2019, arXiv 1901.09504): the same product with finer steps. 1,175 queries: cosine with the float32
vector at least 0.9990, median 0.9995, without the parts 0.9877 and 0.9948; single words of code 0.9969 (docs/embedding_speed.md).

Only for one text at a time, since the steps are of all that is given at once; passages are embedded in float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.minilm import (
    DIM,
    HEADS,
    LAYERS,
    add_and_normalise,
    embedding_nodes,
    embedding_weights,
    layer_vectors,
    matrix_names,
)
from models.onnxfile import MICROSOFT, model, node, read_tensors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Channels that are cut, each as often as it stands here, so into one part more. 32 cuts for each product, one after the other where the
# parts reached furthest in 72 beginnings of passages (6-30 words) of SciFact, Cranfield, MEDLINE, CISI, Vaswani and of code.
ATTEND_CUTS = (
    6, 18, 63, 94, 97, 98, 99, 99, 102, 112, 127, 137, 145, 157, 163, 221, 223, 232, 236, 245, 252, 277, 288, 297, 322, 338, 347,
    351, 354, 363, 364, 383,
)  # fmt: skip
"""Of what enters attention, in every layer."""
UP_CUTS = (
    63, 63, 63, 99, 99, 99, 99, 99, 99, 99, 127, 127, 127, 157, 163, 223, 223, 223, 223, 238, 246, 249, 252, 267, 267, 297, 303,
    319, 338, 347, 359, 363,
)  # fmt: skip
"""Of what enters the feed-forward part, in every layer. Channel 99 is nearly all that [CLS] and [SEP] are there."""
DOWN_CUTS = (
    (
        200, 282, 329, 374, 433, 544, 546, 585, 590, 691, 743, 799, 826, 829, 856, 856, 856, 856, 856, 944, 984, 1083, 1120, 1135,
        1170, 1239, 1246, 1337, 1359, 1383, 1477, 1480,
    ),
    (
        26, 82, 89, 116, 251, 278, 327, 334, 484, 486, 505, 607, 607, 607, 607, 607, 646, 821, 838, 869, 898, 920, 947, 1028, 1072,
        1162, 1184, 1200, 1249, 1250, 1352, 1491,
    ),
    (
        86, 122, 191, 218, 218, 218, 304, 316, 389, 456, 805, 849, 874, 939, 994, 1004, 1004, 1004, 1004, 1008, 1042, 1073, 1166,
        1255, 1265, 1306, 1321, 1407, 1445, 1465, 1467, 1484,
    ),
    (
        112, 119, 201, 245, 267, 287, 318, 346, 358, 358, 358, 383, 444, 493, 548, 568, 618, 701, 750, 759, 805, 1004, 1057, 1187,
        1268, 1279, 1355, 1399, 1415, 1439, 1493, 1506,
    ),
    (
        122, 128, 169, 192, 337, 373, 409, 524, 619, 637, 654, 682, 689, 716, 720, 763, 767, 852, 915, 945, 1031, 1097, 1257, 1313,
        1321, 1321, 1357, 1390, 1443, 1476, 1499, 1526,
    ),
    (
        81, 105, 119, 242, 250, 256, 372, 423, 480, 486, 580, 617, 714, 743, 745, 784, 857, 885, 923, 959, 1052, 1085, 1132, 1191,
        1226, 1269, 1276, 1280, 1297, 1300, 1302, 1407,
    ),
)  # fmt: skip
"""Of the feed-forward part's wide middle, by layer."""

SUM = "sentence_embedding"
"""The output: the sum of the tokens' vectors, whose direction is that of their mean."""
_FLIP = 0x80
"""int8 as uint8: the same number, 128 higher. Two unsigned factors, since x86's product of an unsigned and a signed one, without
VNNI, saturates (cosines 0.005 lower)."""


def rewrite_int8(path: Path) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """As `models.minilm.rewrite`, for a text alone: the graph asks for no mask."""
    import numpy as np

    tensors = read_tensors(path)
    words, positions, matrices = matrix_names(tensors)
    weights = embedding_weights(tensors, words, positions) | _cuts("attend", ATTEND_CUTS) | _cuts("up", UP_CUTS)
    weights["middle_code"] = np.array([_FLIP], np.uint8)
    nodes = embedding_nodes()
    for layer, own in enumerate(matrices):
        weights |= _layer_weights(tensors, layer, own)
        nodes += _layer_nodes(layer)
    nodes.append(node("ReduceSum", [f"state{LAYERS}", "one"], SUM, keepdims=0))
    weights = {name: np.array(array, order="C") if array.base is not None else array for name, array in weights.items()}
    return model(nodes, weights, {"zero": 0, "one": 1}, ("input_ids",), (SUM, ("texts", DIM))), weights


def _cuts(product: str, cuts: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    """What the channels are multiplied with, and which are repeated at the end."""
    import numpy as np

    return {f"{product}_shares": _shares(DIM, cuts), f"{product}_repeated": np.array(cuts, np.int64)}


def _shares(channels: int, cuts: tuple[int, ...]) -> NDArray[np.float32]:
    import numpy as np

    return (1 / (1 + np.bincount(cuts, minlength=channels))).astype(np.float32)


def _layer_weights(tensors: dict[str, NDArray[Any]], layer: int, matrices: list[str]) -> dict[str, NDArray[Any]]:
    import numpy as np

    query, key, value, mix, up, down = matrices
    vectors = layer_vectors(tensors, layer)
    width = tensors[f"{down}_q"].shape[0]
    wide = [*range(width), *DOWN_CUTS[layer]]
    """The wide middle is made with its repetitions: by columns of the matrix before it."""
    vectors[f"up_bias{layer}"] = vectors[f"up_bias{layer}"][wide]
    codes = {
        "attend": np.concatenate([tensors[f"{name}_q"] for name in (query, key, value)], axis=1),
        "mix": tensors[f"{mix}_q"],
        "up": tensors[f"{up}_q"][:, wide],
        "down": tensors[f"{down}_q"][wide],
    }
    codes["attend"] = codes["attend"][[*range(DIM), *ATTEND_CUTS]]
    codes["up"] = codes["up"][[*range(DIM), *UP_CUTS]]
    scales = {
        "attend": np.concatenate([tensors[f"{name}_scale"][0] for name in (query, key, value)]),
        "mix": tensors[f"{mix}_scale"][0],
        "up": tensors[f"{up}_scale"][0][wide],
        "down": tensors[f"{down}_scale"][0],
    }
    return {
        **vectors,
        f"down_shares{layer}": _shares(width, DOWN_CUTS[layer])[wide],
        **{f"{name}{layer}": found.view(np.uint8) ^ np.uint8(_FLIP) for name, found in codes.items()},
        **{f"{name}_scales{layer}": found for name, found in scales.items()},
    }


def _layer_nodes(layer: int) -> list[bytes]:
    """The steps of `models.minilm._layer_nodes`; attention's in three, since its operator takes no codes."""
    state, following = f"state{layer}", f"state{layer + 1}"

    def of(name: str) -> str:
        return f"{name}{layer}"

    def product(name: str, given: str, output: str, *bias: str) -> bytes:
        inputs = [given, of(name), of(f"{name}_scales"), "middle_code", *bias]
        return node("DynamicQuantizeMatMul", inputs, output, MICROSOFT)

    def in_parts(name: str, given: str) -> list[bytes]:
        return [
            node("Mul", [given, f"{name}_shares"], of(f"{name}_first")),
            node("Gather", [of(f"{name}_first"), f"{name}_repeated"], of(f"{name}_others"), axis=2),
            node("Concat", [of(f"{name}_first"), of(f"{name}_others")], of(f"{name}_parts"), axis=2),
        ]

    heads = [of("query"), of("key"), of("value")]
    return [
        *in_parts("attend", state),
        product("attend", of("attend_parts"), of("projected"), of("attend_bias")),
        node("Split", [of("projected")], heads, axis=2),
        node("MultiHeadAttention", heads, of("attended"), MICROSOFT, num_heads=HEADS),
        product("mix", of("attended"), of("mixed")),
        add_and_normalise(layer, "mix", of("mixed"), state, of("middle")),
        *in_parts("up", of("middle")),
        product("up", of("up_parts"), of("wide")),
        node("BiasGelu", [of("wide"), of("up_bias")], of("activated"), MICROSOFT),
        node("Mul", [of("activated"), of("down_shares")], of("down_parts")),
        product("down", of("down_parts"), of("narrow")),
        add_and_normalise(layer, "down", of("narrow"), of("middle"), following),
    ]
