"""Texts to unit vectors, with onnxruntime.

A passage's vector does not depend on the texts beside it. For the default model (in `models.minilm`'s graph) it is the same to
the last bit in any batch (192 passages of 13-256 tokens, batches of 1-64: greatest difference 0.0): nothing is scaled by what
else is in the batch; tests allow 1e-5 for processors whose kernels sum in another order. Its queries are embedded in int8
(`models.minilm_int8`), which reads a quarter of the memory; other models have one graph for both. Graphs that quantise activations (`DynamicQuantizeLinear`) take one scale for the whole batch, so there the neighbours
would change a vector; such a graph is given one text at a time.

Does not fetch, check or cache anything, and does not cut texts well: what exceeds `max_tokens` is dropped.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from models.errors import ModelDamaged, ModelUnusable
from models.minilm import rewrite
from models.minilm_int8 import rewrite_int8
from models.session import batches, on_first_core, options_for, padded, providers, quantises_activations, usable_cores
from models.tokenizer import encodable, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from models.locate import ModelFiles
    from models.spec import ModelSpec

MOST_KEPT = 1024
"""Vectors of queries, the last ones asked: 1.5 MB at 384 dimensions."""
MOST_KEPT_CHARS = 2000
"""A longer query is embedded anew each time, so that what is kept is bounded in bytes too."""
TINY = 1e-38
"""Stands for the length of a vector that has none; the smallest float32 of full precision, about."""

_Rewriting = Callable[[Path], "tuple[bytes, dict[str, Any]]"]
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_TEXT_OUTPUT = "sentence_embedding"
_RANK_OF_TOKENS = 3  # (texts, tokens, dim), against (texts, dim) of a graph that pools by itself


class _Graph(msgspec.Struct, frozen=True):
    """An ONNX graph that is open: what it asks for and gives."""

    session: InferenceSession
    inputs: tuple[str, ...]
    output: str
    pooled: bool
    """The output is a vector a text, not a vector a token."""
    mixes_batch: bool
    """Activations are scaled by the greatest of the batch, so that texts would change each other's vectors."""
    weights: object
    """What the session was handed: it reads these arrays as long as it lives, and does not hold them."""

    def run(self, ids: NDArray[np.int64], mask: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """What it makes of (texts, tokens): float32 (texts, tokens, dim), or (texts, dim) where it pools. No mask: nothing is padding."""
        import numpy as np

        feeds = {"input_ids": ids}
        if "attention_mask" in self.inputs:
            feeds["attention_mask"] = np.ones_like(ids) if mask is None else mask
        if "token_type_ids" in self.inputs:
            feeds["token_type_ids"] = np.zeros_like(ids)
        (output,) = self.session.run([self.output], feeds)
        return np.asarray(output, np.float32)


class Embedder:
    """One loaded model. Safe to call from several threads, as onnxruntime sessions are."""

    def __init__(
        self, spec: ModelSpec, tokenizer: Tokenizer, passages: Callable[[], _Graph], queries: Callable[[], _Graph]
    ) -> None:
        self.spec = spec
        self._tokenizer = tokenizer
        self._passages = passages
        self._queries = queries
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def load(
        cls,
        files: ModelFiles,
        *,
        threads: int = 0,
        spinning: bool = False,
        for_queries: bool = False,
        device: str = "auto",
    ) -> Embedder:
        """Open the files. Prefixes other than the model's own come with `files.with_prefixes`.

        threads: 0 means as many as this process may use cores. spinning: while a call runs, its threads wait for each
        other in a busy loop, at most SPIN_US at a time; between calls they sleep. for_queries: open now what queries
        take, and what passages take when there is one; else the other way round. device: as `models.session.providers`
        takes it. Raises ModelDamaged or ModelUnusable, as the first call of the other kind does.
        """
        how = (threads or usable_cores(), spinning, device)
        passages = cache(partial(_open, files, how, rewrite))
        queries = cache(partial(_open, files, how, rewrite_int8)) if files.source == "package" else passages
        with ThreadPoolExecutor(1) as beside:  # a quarter of the time is the tokenizer's
            opening = beside.submit(queries if for_queries else passages)
            tokenizer = load_tokenizer(files.tokenizer, files.spec.max_tokens)
            opening.result()
        return cls(files.spec, tokenizer, passages, queries)

    def embed_passages(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        """Unit rows, float32 (len(texts), dim), in the order of the texts."""
        return self._embed([self.spec.passage_prefix + text for text in texts], batch_size)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, float32 (dim,), read-only; kept for when it is asked again."""
        if len(text) > MOST_KEPT_CHARS:
            return self._embed_one(text)
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
        vector = self._embed_one(text)
        with self._lock:
            self._kept[text] = vector
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return vector

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        """Without what a batch needs: in a process that slept, each call of numpy costs several times what it does in a loop."""
        import numpy as np

        tokens = self._tokenizer.encode(encodable(self.spec.query_prefix + text)).ids
        ids = np.array([tokens], np.int64)
        graph = self._queries()
        with on_first_core():
            output = graph.run(ids)
        [vector] = self._pool(graph, output, [len(tokens)])
        vector = vector / max(math.sqrt(vector @ vector), TINY)
        vector.flags.writeable = False
        return vector

    def _embed(self, texts: list[str], batch_size: int) -> NDArray[np.float32]:
        import numpy as np

        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        graph = self._passages()
        rows = np.empty((len(texts), self.spec.dim), np.float32)
        tokens = [found.ids for found in self._tokenizer.encode_batch_fast([encodable(text) for text in texts])]
        for batch in batches([len(ids) for ids in tokens], 1 if graph.mixes_batch else batch_size):
            ids, mask = padded([tokens[i] for i in batch])
            rows[batch] = self._pool(graph, graph.run(ids, mask), [len(tokens[i]) for i in batch])
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY)
        return rows

    def _pool(self, graph: _Graph, output: NDArray[np.float32], lengths: list[int]) -> list[NDArray[np.float32]]:
        """A vector a text, of any length."""
        if output.shape[-1] != self.spec.dim:
            raise ModelUnusable(
                f"{self.spec.name} gave vectors of {output.shape[-1]} numbers, not {self.spec.dim} as it says.",
                "The ONNX file and the configuration beside it belong to different models; fetch it again.",
            )
        if graph.pooled:
            return list(output)
        if self.spec.pooling == "cls":
            return list(output[:, 0])
        # Only the text's own tokens, so that not even the order of summation depends on the padding.
        return [row[:length].mean(axis=0) for row, length in zip(output, lengths, strict=True)]


def _open(files: ModelFiles, how: tuple[int, bool, str], rewritten: _Rewriting) -> _Graph:
    """`how`: threads, spinning, device, as `Embedder.load` takes them; `rewritten` makes the default model's graph."""
    import onnxruntime

    threads, spinning, device = how
    options, run_by = options_for(threads, spinning=spinning), providers(device)
    graph: str | bytes = str(files.onnx)
    weights: dict[str, Any] = {}
    try:
        if files.source == "package":
            graph, weights = rewritten(files.onnx)
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
            options.add_external_initializers(list(weights), values)
        session = onnxruntime.InferenceSession(graph, options, providers=run_by)
    except Exception as error:  # onnxruntime's exceptions have no common root but Exception
        reason = str(error).partition("\n")[0]
        raise ModelDamaged(f"{files.onnx} cannot be loaded: {reason}", "Fetch or install the model again.") from error
    return _inspect(session, files, weights)


def _inspect(session: InferenceSession, files: ModelFiles, weights: object) -> _Graph:
    inputs = tuple(node.name for node in session.get_inputs())
    if "input_ids" not in inputs or not set(inputs) <= set(_INPUTS):
        raise ModelUnusable(
            f"{files.spec.name} asks for the inputs {', '.join(inputs)}; known are {', '.join(_INPUTS)}.",
            "Name an encoder exported for feature extraction.",
        )
    output, pooled = _choose_output(session, files.spec.name)
    mixes_batch = files.source != "package" and quantises_activations(files.onnx)
    return _Graph(session, inputs, output, pooled, mixes_batch, weights)


def _choose_output(session: InferenceSession, name: str) -> tuple[str, bool]:
    """The output to read and whether it is pooled already. Token vectors first: their pooling is known and ours."""
    ranks = {node.name: len(node.shape) for node in session.get_outputs()}
    for output in _TOKEN_OUTPUTS:
        if output in ranks:
            return output, False
    if _TEXT_OUTPUT in ranks:
        return _TEXT_OUTPUT, True
    if len(ranks) == 1:
        ((output, rank),) = ranks.items()
        return output, rank < _RANK_OF_TOKENS
    raise ModelUnusable(
        f"{name} gives {', '.join(ranks)}; which of them is the embedding cannot be told.",
        "Name an encoder exported for feature extraction.",
    )
