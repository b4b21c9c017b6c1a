"""The default model's graph written anew, against the file's own graph."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from models.embedder import Embedder, _Graph
from models.known import DEFAULT_MODEL
from models.locate import locate
from models.minilm import OUTPUT, rewrite
from models.tokenizer import load_tokenizer

TEXTS = ["", "one", "This is an example sentence", "a rather longer text than the others " * 12, "word " * 400]


@pytest.fixture(scope="module")
def files():
    return locate(DEFAULT_MODEL)


@pytest.fixture(scope="module")
def plain(files):
    """An embedder that runs the file as it is."""
    session = onnxruntime.InferenceSession(str(files.onnx), providers=["CPUExecutionProvider"])
    graph = _Graph(tuple(each.name for each in session.get_inputs()), OUTPUT, pooled=False, mixes_batch=False)
    return Embedder(files.spec, load_tokenizer(files.tokenizer, files.spec.max_tokens), session, graph)


@pytest.mark.parametrize("batch_size", [1, 5])
def test_vectors_are_those_of_the_files_own_graph(files, plain, batch_size):
    """To rounding, alone and padded beside longer texts: stores made with either need no reindex."""
    rows = Embedder.load(files).embed_passages(TEXTS, batch_size)

    assert np.abs(rows - plain.embed_passages(TEXTS, batch_size)).max() < 1e-6


def test_the_rewritten_graph_is_the_one_that_runs(files):
    session = Embedder.load(files)._session

    assert [each.name for each in session.get_inputs()] == ["input_ids", "attention_mask"]


def test_weights_do_not_hold_the_file(files):
    """Its 23 MB would stay mapped for a view of one row."""
    _, weights = rewrite(files.onnx)

    assert all(array.flags.owndata and array.flags.c_contiguous for array in weights.values())


def test_the_vocabulary_stays_int8(files):
    _, weights = rewrite(files.onnx)

    assert weights["words"].dtype == np.int8
