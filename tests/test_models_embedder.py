"""Texts to vectors: the real default model's values, and every rule of the embedder on a model made by hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest
from tiny_model import DIM, TABLE, write_json, write_model

from models.embedder import MOST_KEPT, MOST_KEPT_CHARS, Embedder
from models.errors import ModelDamaged, ModelUnusable
from models.known import DEFAULT_MODEL
from models.locate import locate
from models.session import MAX_BATCH_TOKENS, batches, usable_cores

# Computed with onnxruntime 1.32. The float32 model gives, for the first by its card (0.0676, 0.0635, 0.0487, 0.0793, 0.0448)
# and for the third by fastembed's tests (-0.0345, 0.0310, 0.0067, 0.0261, -0.0394): int8 weights move them by up to 0.007.
CANONICAL = {
    "This is an example sentence": [0.06679, 0.06119, 0.05091, 0.07902, 0.03837],
    "Each sentence is converted": [0.08540, 0.10413, 0.00817, 0.00246, -0.01025],
    "hello world": [-0.03482, 0.03014, 0.01300, 0.02538, -0.03745],
}


NEARLY = 0.996
"""Cosine of the default model's vector of a query with that of the same passage: of 599 texts of 1-250 words the least was 0.9969."""


@pytest.fixture(scope="module")
def minilm():
    return Embedder.load(locate(DEFAULT_MODEL))


def load(folder, **options) -> Embedder:
    return Embedder.load(locate(str(write_model(folder, **options))))


def unit(*rows) -> np.ndarray:
    """The mean of the rows, scaled to length 1."""
    mean = np.mean(np.array(rows, np.float32), axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("text", CANONICAL)
def test_the_default_model_gives_its_canonical_vectors(minilm, text):
    assert minilm.embed_passages([text])[0][:5] == pytest.approx(CANONICAL[text], abs=1e-3)
    assert minilm.embed_query(text)[:5] == pytest.approx(CANONICAL[text], abs=6e-3)


def test_what_belongs_together_is_closer(minilm):
    query = minilm.embed_query("How do I change my password?")
    right, wrong = minilm.embed_passages(["Open the settings to set new credentials.", "The cake rises for an hour."])

    assert query @ right > query @ wrong + 0.2


def test_a_batch_gives_the_vectors_that_each_text_gives_alone(minilm):
    """Also beside much longer neighbours, and whatever the batch size."""
    texts = [*CANONICAL, "short", "a " * 90, "much longer " * 140, ""]
    alone = np.stack([minilm.embed_passages([text])[0] for text in texts])

    for batch_size in (2, 3, 32):
        assert np.abs(minilm.embed_passages(texts, batch_size) - alone).max() < 1e-5


def test_rows_are_float32_unit_and_in_the_order_of_the_texts(minilm):
    texts = ["one", "a rather longer text than the others", "two two"]
    rows = minilm.embed_passages(texts, batch_size=2)

    assert (rows.shape, rows.dtype) == ((3, 384), np.float32)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)
    for row, text in zip(rows, texts, strict=True):
        assert row @ minilm.embed_query(text) > NEARLY


def test_what_exceeds_256_tokens_is_not_seen_and_what_exceeds_128_is(minilm):
    start = "word " * 200
    same = minilm.embed_passages([start + "word " * 54, start + "word " * 54 + "unseen ending"])
    other = minilm.embed_passages([start, start + "seen ending"])

    assert same[0] @ same[1] == pytest.approx(1, abs=1e-5)
    assert other[0] @ other[1] < 0.999


def test_no_texts_give_no_rows_of_the_right_width(minilm):
    assert minilm.embed_passages([]).shape == (0, 384)


def test_a_query_has_nearly_the_vector_of_the_same_passage(minilm):
    texts = [*CANONICAL, "", "a " * 300, "</div>", "naïve café", "the rain in Spain stays mainly in the plain " * 5]
    rows = minilm.embed_passages(texts)
    queries = np.stack([minilm.embed_query(text) for text in texts])

    assert np.linalg.norm(queries, axis=1) == pytest.approx(1, abs=1e-6)
    assert (rows * queries).sum(axis=1).min() > NEARLY


def test_of_another_model_a_query_has_the_vector_of_the_same_passage(tmp_path):
    embedder = load(tmp_path)
    [row] = embedder.embed_passages(["red green"])

    assert embedder.embed_query("red green") == pytest.approx(row, abs=1e-6)


def test_only_what_is_asked_for_is_opened():
    """The default model has a graph for queries and one for passages: a process that only searches does not hold 42 MB of float32 weights."""
    files = locate(DEFAULT_MODEL)
    opened: list[str] = []
    for for_queries in (True, False):
        embedder = Embedder.load(files, for_queries=for_queries)
        opened.append(f"{embedder._queries.cache_info().currsize}{embedder._passages.cache_info().currsize}")
        embedder.embed_query("red")
        embedder.embed_passages(["red"])
        opened.append(f"{embedder._queries.cache_info().currsize}{embedder._passages.cache_info().currsize}")

    assert opened == ["10", "11", "01", "11"]


def test_a_query_asked_again_is_not_embedded_again(tmp_path):
    embedder = load(tmp_path)
    first = embedder.embed_query("red green")

    assert embedder.embed_query("red green") is first
    assert embedder.embed_query("green red") is not first


def test_a_kept_vector_cannot_be_changed(tmp_path):
    vector = load(tmp_path).embed_query("red")

    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


def test_the_queries_asked_last_are_kept_and_no_more(tmp_path):
    embedder = load(tmp_path)
    first, second = embedder.embed_query("red"), embedder.embed_query("green")
    for number in range(MOST_KEPT - 2):
        embedder.embed_query(f"red {number}")
    assert embedder.embed_query("red") is first
    embedder.embed_query("one more")

    assert embedder.embed_query("red") is first
    assert embedder.embed_query("green") is not second


def test_a_long_query_is_not_kept(tmp_path):
    embedder = load(tmp_path)
    long = "red " * MOST_KEPT_CHARS

    assert np.array_equal(embedder.embed_query(long), embedder.embed_query(long))
    assert embedder.embed_query(long) is not embedder.embed_query(long)


def test_threads_may_ask_at_once(minilm):
    """Each gets its own query's vector, whoever else asks, and whether it was kept."""
    texts = [f"question number {number} of some" for number in range(20)] * 3
    other = Embedder.load(locate(DEFAULT_MODEL))
    expected = np.stack([other.embed_query(text) for text in texts])
    with ThreadPoolExecutor(8) as pool:
        found = np.stack(list(pool.map(minilm.embed_query, texts)))

    assert np.abs(found - expected).max() < 1e-6


def test_threads_and_spinning_are_options_of_speed_only(minilm):
    other = Embedder.load(locate(DEFAULT_MODEL), threads=1, spinning=True)
    options = other._queries().session.get_session_options()

    assert options.intra_op_num_threads == 1
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "1"
    assert other.embed_query("hello world") == pytest.approx(minilm.embed_query("hello world"), abs=1e-6)


def test_threads_sleep_between_calls_and_inside_them_too_unless_asked(minilm):
    options = minilm._passages().session.get_session_options()

    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert options.get_session_config_entry("session.force_spinning_stop") == "1"
    assert options.intra_op_num_threads == usable_cores()


def test_mean_pooling_is_over_the_texts_own_tokens(tmp_path):
    """The table's row for padding is far off, so one padded token would show."""
    rows = load(tmp_path).embed_passages(["red", "red green red green red"])

    assert rows[0] == pytest.approx(unit(TABLE["[CLS]"], TABLE["red"], TABLE["[SEP]"]), abs=1e-6)


def test_cls_pooling_takes_the_first_token(tmp_path):
    rows = load(tmp_path, pooling={"pooling_mode_cls_token": True}).embed_passages(["red", "green"])

    assert rows == pytest.approx(np.array([TABLE["[CLS]"]] * 2), abs=1e-6)


def test_a_graph_that_pools_by_itself_is_believed(tmp_path):
    row = load(tmp_path, output="sentence_embedding").embed_query("red")

    assert row == pytest.approx(unit(TABLE["[CLS]"], TABLE["red"], TABLE["[SEP]"]), abs=1e-6)


@pytest.mark.parametrize("output", ["token_embeddings", "some_other_name"])
def test_token_vectors_are_pooled_by_whatever_name_they_come(tmp_path, output):
    row = load(tmp_path, output=output, pooling={"pooling_mode_cls_token": True}).embed_query("red")

    assert row == pytest.approx(TABLE["[CLS]"], abs=1e-6)


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask", "token_type_ids")])
def test_a_graph_is_fed_what_it_asks_for(tmp_path, inputs):
    assert load(tmp_path, inputs=inputs).embed_query("red").shape == (DIM,)


def test_prefixes_go_before_queries_and_passages(tmp_path):
    write_model(tmp_path)
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": {"query": "green ", "document": "red "}})
    own = Embedder.load(locate(str(tmp_path)))
    bare = Embedder.load(locate(str(tmp_path)).with_prefixes("", ""))

    assert np.array_equal(own.embed_query("huge"), bare.embed_query("green huge"))
    assert np.array_equal(own.embed_passages(["huge"]), bare.embed_passages(["red huge"]))


def test_a_graph_that_scales_activations_by_the_batch_gets_one_text_at_a_time(tmp_path):
    """`huge` makes the scale of its batch so coarse that `red` would lose its second component."""
    embedder = load(tmp_path, quantised=True)
    alone = embedder.embed_passages(["red"])
    together = embedder.embed_passages(["red", "huge"])[:1]
    careless = msgspec.structs.replace(embedder._passages(), mixes_batch=False)
    mixed = Embedder(embedder.spec, embedder._tokenizer, lambda: careless, lambda: careless).embed_passages(
        ["red", "huge"]
    )[:1]

    assert np.array_equal(together, alone)
    assert np.abs(mixed - alone).max() > 1e-3


def test_a_text_of_undecodable_bytes_is_embedded(tmp_path):
    assert load(tmp_path).embed_query("red \udcff").shape == (DIM,)


@pytest.mark.parametrize("batch_size", [1, 3, 32])
@pytest.mark.parametrize("lengths", [[5], [1, 9, 4, 4, 7, 2], [400] * 10, [4000] * 3])
def test_batches_hold_each_text_once_longest_first_within_their_bounds(batch_size, lengths):
    found = batches(lengths, batch_size)
    in_order = [lengths[i] for batch in found for i in batch]

    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    assert in_order == sorted(lengths, reverse=True)
    assert all(len(batch) <= batch_size for batch in found)
    assert all(len(batch) == 1 or len(batch) * lengths[batch[0]] <= MAX_BATCH_TOKENS for batch in found)


def test_a_batch_of_less_than_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="batch_size"):
        load(tmp_path).embed_passages(["red"], batch_size=0)


def test_a_graph_with_unknown_inputs_is_unusable(tmp_path):
    with pytest.raises(ModelUnusable, match="pixel_values"):
        load(tmp_path, inputs=("input_ids", "pixel_values"))


def test_a_graph_of_another_width_than_its_configuration_is_unusable(tmp_path):
    with pytest.raises(ModelUnusable, match="vectors of 4 numbers, not 5"):
        load(tmp_path, pooling={"word_embedding_dimension": 5}).embed_query("red")


def test_a_file_that_is_no_graph_is_damage(tmp_path):
    write_model(tmp_path)
    (tmp_path / "onnx/model.onnx").write_bytes(b"not a model")

    with pytest.raises(ModelDamaged, match="cannot be loaded"):
        Embedder.load(locate(str(tmp_path)))
