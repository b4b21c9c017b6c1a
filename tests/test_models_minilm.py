"""The default model's graphs written anew: for passages against the file's own graph, for queries against that for passages."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from models.embedder import Embedder, _Graph
from models.known import DEFAULT_MODEL
from models.locate import locate
from models.minilm import OUTPUT, rewrite
from models.minilm_int8 import ATTEND_CUTS, DOWN_CUTS, UP_CUTS, rewrite_int8
from models.tokenizer import load_tokenizer

TEXTS = ["", "one", "This is an example sentence", "a rather longer text than the others " * 12, "word " * 400]


@pytest.fixture(scope="module")
def files():
    return locate(DEFAULT_MODEL)


@pytest.fixture(scope="module")
def plain(files):
    """An embedder that runs the file as it is."""
    session = onnxruntime.InferenceSession(str(files.onnx), providers=["CPUExecutionProvider"])
    inputs = tuple(each.name for each in session.get_inputs())
    graph = _Graph(session, inputs, OUTPUT, pooled=False, mixes_batch=False, weights=None)
    return Embedder(files.spec, load_tokenizer(files.tokenizer, files.spec.max_tokens), lambda: graph, lambda: graph)


@pytest.mark.parametrize("batch_size", [1, 5])
def test_vectors_are_those_of_the_files_own_graph(files, plain, batch_size):
    """To rounding, alone and padded beside longer texts: stores made with either need no reindex."""
    rows = Embedder.load(files).embed_passages(TEXTS, batch_size)

    assert np.abs(rows - plain.embed_passages(TEXTS, batch_size)).max() < 1e-6


def test_the_rewritten_graphs_are_the_ones_that_run(files):
    embedder = Embedder.load(files)

    assert embedder._passages().inputs == ("input_ids", "attention_mask")
    assert embedder._queries().inputs == ("input_ids",)


@pytest.mark.parametrize("rewriting", [rewrite, rewrite_int8])
def test_weights_do_not_hold_the_file(files, rewriting):
    """Its 23 MB would stay mapped for a view of one row."""
    _, weights = rewriting(files.onnx)

    assert all(array.flags.owndata and array.flags.c_contiguous for array in weights.values())


@pytest.mark.parametrize("rewriting", [rewrite, rewrite_int8])
def test_the_vocabulary_stays_int8(files, rewriting):
    _, weights = rewriting(files.onnx)

    assert weights["words"].dtype == np.int8


def test_a_query_reads_a_quarter_of_what_a_passage_reads(files):
    read = [
        sum(array.nbytes for name, array in rewriting(files.onnx)[1].items() if name not in {"words", "word_scales"})
        for rewriting in (rewrite_int8, rewrite)
    ]

    assert read[0] < 0.3 * read[1]


def test_channels_that_reach_far_are_cut(files):
    """Without the cuts the cosines of these texts' two vectors are 0.989 to 0.997, with them 0.9988 at least."""
    texts = [text for text in TEXTS if text]
    embedder = Embedder.load(files)
    rows = embedder.embed_passages(texts)
    cosines = [row @ embedder.embed_query(text) for row, text in zip(rows, texts, strict=True)]

    assert min(cosines) > 0.998
    assert {len(ATTEND_CUTS), len(UP_CUTS), *map(len, DOWN_CUTS)} == {32}
