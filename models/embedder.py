"""Texts to unit vectors, with onnxruntime on the CPU.

A text's vector does not depend on the texts beside it. For the default model it is the same to the last bit alone and in
any batch (192 passages of 21-256 tokens, batches of 4-64: greatest difference 0.0): its int8 weights are cast to float32
and nothing is scaled by what else is in the batch; tests allow 1e-5 for processors whose kernels sum in another order.
Graphs that quantise activations (`DynamicQuantizeLinear`) take one scale for the whole batch, so there the neighbours
would change a vector; such a graph is given one text at a time.

Does not fetch, check or cache anything, and does not cut texts well: what exceeds `max_tokens` is dropped.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from models.errors import ModelDamaged, ModelUnusable
from models.tokenizer import encodable, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from models.locate import ModelFiles
    from models.spec import ModelSpec

MAX_BATCH_TOKENS = 1024
"""What a batch may hold with its padding; `batch_size` bounds it for short texts only. Larger is slower and takes more memory:
all-MiniLM on 2 busy cores, texts of 8 and 25 words, 1024 against 4096 tokens a batch: 1.3-1.5 times the texts a second; texts of
200 words, peak memory of the process at 256, 1024, 4096 and 16384: 266, 373, 816 and 1555 MB."""

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_TEXT_OUTPUT = "sentence_embedding"
_RANK_OF_TOKENS = 3  # (texts, tokens, dim), against (texts, dim) of a graph that pools by itself


class _Graph(msgspec.Struct, frozen=True):
    """What an ONNX graph asks for and gives."""

    inputs: tuple[str, ...]
    output: str
    pooled: bool
    """The output is a vector a text, not a vector a token."""
    mixes_batch: bool
    """Activations are scaled by the greatest of the batch, so that texts would change each other's vectors."""


class Embedder:
    """One loaded model. Safe to call from several threads, as onnxruntime sessions are."""

    def __init__(self, spec: ModelSpec, tokenizer: Tokenizer, session: InferenceSession, graph: _Graph) -> None:
        self.spec = spec
        self._tokenizer = tokenizer
        self._session = session
        self._graph = graph

    @classmethod
    def load(cls, files: ModelFiles, *, threads: int = 0, spinning: bool = False) -> Embedder:
        """Open the files. Prefixes other than the model's own come with `files.with_prefixes`.

        threads: 0 means as many as this process may use cores. spinning: idle threads wait in a busy loop, a little
        faster and at the cost of a core. Raises ModelDamaged or ModelUnusable.
        """
        spec = files.spec
        session = _open(files.onnx, threads or usable_cores(), spinning=spinning)
        graph = _inspect(session, files)
        return cls(spec, load_tokenizer(files.tokenizer, spec.max_tokens), session, graph)

    def embed_passages(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        """Unit rows, float32 (len(texts), dim), in the order of the texts."""
        return self._embed([self.spec.passage_prefix + text for text in texts], batch_size)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, float32 (dim,)."""
        row: NDArray[np.float32] = self._embed([self.spec.query_prefix + text], 1)[0]
        return row

    def _embed(self, texts: list[str], batch_size: int) -> NDArray[np.float32]:
        import numpy as np

        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        rows = np.empty((len(texts), self.spec.dim), np.float32)
        tokens = [found.ids for found in self._tokenizer.encode_batch_fast([encodable(text) for text in texts])]
        for batch in _batches([len(ids) for ids in tokens], 1 if self._graph.mixes_batch else batch_size):
            rows[batch] = self._run([tokens[i] for i in batch])
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return rows

    def _run(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Vectors of any length, float32 (len(tokens), dim)."""
        import numpy as np

        lengths = [len(ids) for ids in tokens]
        ids = np.zeros((len(tokens), max(lengths)), np.int64)  # padding is masked, so its id does not matter
        mask = np.zeros_like(ids)
        for row, (text, length) in enumerate(zip(tokens, lengths, strict=True)):
            ids[row, :length] = text
            mask[row, :length] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (output,) = self._session.run([self._graph.output], {name: feeds[name] for name in self._graph.inputs})
        return self._pool(output, lengths)

    def _pool(self, output: Any, lengths: list[int]) -> NDArray[np.float32]:
        import numpy as np

        if output.shape[-1] != self.spec.dim:
            raise ModelUnusable(
                f"{self.spec.name} gave vectors of {output.shape[-1]} numbers, not {self.spec.dim} as it says.",
                "The ONNX file and the configuration beside it belong to different models; fetch it again.",
            )
        if self._graph.pooled:
            vectors = output
        elif self.spec.pooling == "cls":
            vectors = output[:, 0]
        else:
            # Only the text's own tokens, so that not even the order of summation depends on the padding.
            vectors = np.stack([row[:length].mean(axis=0) for row, length in zip(output, lengths, strict=True)])
        return np.asarray(vectors, np.float32)


def usable_cores() -> int:
    """The cores this process may run on, which in a container or under taskset are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _batches(lengths: list[int], batch_size: int) -> list[list[int]]:
    """Indices grouped longest first, so that a batch holds texts of like length and little padding is computed."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches = []
    while order:
        size = max(1, min(batch_size, MAX_BATCH_TOKENS // max(1, lengths[order[0]])))
        batches.append(order[:size])
        order = order[size:]
    return batches


def _open(path: Path, threads: int, *, spinning: bool) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only: warnings about other people's graphs help nobody
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common root but Exception
        reason = str(error).partition("\n")[0]
        raise ModelDamaged(f"{path} cannot be loaded: {reason}", "Fetch or install the model again.") from error


def _inspect(session: InferenceSession, files: ModelFiles) -> _Graph:
    inputs = tuple(node.name for node in session.get_inputs())
    if "input_ids" not in inputs or not set(inputs) <= set(_INPUTS):
        raise ModelUnusable(
            f"{files.spec.name} asks for the inputs {', '.join(inputs)}; known are {', '.join(_INPUTS)}.",
            "Name an encoder exported for feature extraction.",
        )
    output, pooled = _choose_output(session, files.spec.name)
    return _Graph(inputs, output, pooled, mixes_batch=_quantises_activations(files.onnx))


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


def _quantises_activations(path: Path) -> bool:
    """Searches the file for the operator's name: 8 ms for 23 MB; onnxruntime does not tell the operators of a session."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"DynamicQuantizeLinear") >= 0
