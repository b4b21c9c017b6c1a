"""Protobuf by hand: what is read is what was written, and onnxruntime runs what we write."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from tiny_model import TABLE, onnx_bytes

from models.onnxfile import INT32, MICROSOFT, model, node, read_tensors


def run(nodes, weights, ids, numbers=None, dim=4):
    graph = model(nodes, weights, numbers or {}, ("input_ids",), ("last_hidden_state", ("texts", "tokens", dim)))
    options = onnxruntime.SessionOptions()
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
    options.add_external_initializers(list(weights), values)
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return session.run(["last_hidden_state"], {"input_ids": np.array(ids, np.int64)})[0]


def test_a_files_tensors_are_read_by_name(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_bytes(quantised=False, output="last_hidden_state", inputs=("input_ids",)))
    tensors = read_tensors(path)

    assert list(tensors) == ["table"]
    assert np.array_equal(tensors["table"], np.array(list(TABLE.values()), np.float32))


def test_a_written_graph_runs_with_weights_handed_beside_it():
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = run([node("Gather", ["table", "input_ids"], "last_hidden_state")], {"table": table}, [[2, 0]])

    assert np.array_equal(found, table[[2, 0]][None])


def test_int8_weights_and_attributes_of_both_kinds_and_negative_numbers():
    """Each value comes out wrong, or the session is refused, where an attribute is."""
    table = np.array([[1, 2, 3, 6], [-4, 0, 4, 8]], np.int8)
    ones, none = np.ones(4, np.float32), np.zeros(4, np.float32)
    found = run(
        [
            node("Gather", ["table", "input_ids"], "rows"),
            node("Cast", ["rows"], "floats", to=1),
            node("LayerNormalization", ["floats", "ones", "none"], "last_hidden_state", axis=-1, epsilon=5.0),
        ],
        {"table": table, "ones": ones, "none": none},
        [[1]],
    )
    row = table[1].astype(np.float32)

    assert found[0, 0] == pytest.approx((row - row.mean()) / np.sqrt(row.var() + 5))


def test_numbers_that_decide_shapes_are_inside():
    table = np.arange(8, dtype=np.float32).reshape(2, 4)
    nodes = [
        node("Shape", ["input_ids"], "width", start=1, end=2),
        node("Slice", ["table", "zero", "width", "zero"], "rows"),
        node("Unsqueeze", ["rows", "zero"], "last_hidden_state"),
    ]

    assert np.array_equal(run(nodes, {"table": table}, [[0]], {"zero": 0}), table[None, :1])


def test_operators_of_onnxruntimes_own_domain():
    table, bias = np.array([[0.0, 1.0, -1.0, 2.0]], np.float32), np.zeros(4, np.float32)
    nodes = [
        node("Gather", ["table", "input_ids"], "rows"),
        node("BiasGelu", ["rows", "bias"], "last_hidden_state", MICROSOFT),
    ]
    found = run(nodes, {"table": table, "bias": bias}, [[0]])

    assert found[0, 0] == pytest.approx([0, 0.841345, -0.158655, 1.954500], abs=1e-5)


def test_tensors_of_other_types_are_left_out(tmp_path):
    """A file may hold booleans and strings, which no weight of ours is."""
    path = tmp_path / "model.onnx"
    path.write_bytes(
        model(
            [node("Cast", ["input_ids"], "y", to=INT32)], {}, {"one": 1}, ("input_ids",), ("y", ("texts", "tokens", 4))
        )
    )

    assert read_tensors(path) == {}
