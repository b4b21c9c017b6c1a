"""How well passages answer a query, read by a cross-encoder: query and passage go through the network together.

Slow, since nothing can be computed before the query is known. The score is the sigmoid of the one number that the network
gives. Configurations differ in whether they apply it themselves (bge's does, ms-marco's does not), and all mean the same
number by it: the log-odds of relevance. So scores of every model lie in [0, 1], in the model's own order.

Does not choose passages, and does not watch the clock: what comes first can be used before the rest is there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from models.errors import ModelDamaged, ModelUnusable
from models.session import batches, options_for, padded, quantises_activations, usable_cores
from models.tokenizer import encodable, load_tokenizer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

    from models.rerankerfiles import RerankerFiles

BATCH_SIZE = 8
"""Pairs a call; at 128 tokens and more the tokens of a batch bound it first. Small, so that time can be watched in between."""
STEEPEST = 700.0
"""Beyond it e to the power of a number is no float."""

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Reranker(Protocol):
    """Reads passages beside a query."""

    def scores(self, query: str, passages: Sequence[str]) -> Iterator[tuple[int, float]]:
        """The place of a passage among `passages`, and its score in [0, 1], each as it becomes known; in any order."""
        ...


class CrossEncoder:
    """One loaded model. Safe to use from several threads."""

    def __init__(self, name: str, tokenizer: Tokenizer, session: InferenceSession, *, mixes_batch: bool) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._session = session
        self._mixes_batch = mixes_batch

    @classmethod
    def load(cls, files: RerankerFiles, *, threads: int = 0, spinning: bool = False) -> CrossEncoder:
        """threads: 0 means as many as this process may use cores. Raises ModelDamaged or ModelUnusable."""
        import onnxruntime

        options = options_for(threads or usable_cores(), spinning=spinning)
        try:
            session = onnxruntime.InferenceSession(str(files.onnx), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions have no common root but Exception
            reason = str(error).partition("\n")[0]
            raise ModelDamaged(f"{files.onnx} cannot be loaded: {reason}", "Fetch the model again.") from error
        _check(session, files.name)
        tokenizer = load_tokenizer(files.tokenizer, files.max_tokens)
        return cls(files.name, tokenizer, session, mixes_batch=quantises_activations(files.onnx))

    def scores(self, query: str, passages: Sequence[str]) -> Iterator[tuple[int, float]]:
        """As `Reranker`: a batch at a time, the longest passages first, so that it shows early how long all will take."""
        asked = encodable(query)
        pairs = self._tokenizer.encode_batch([(asked, encodable(passage)) for passage in passages])
        for batch in batches([len(pair.ids) for pair in pairs], 1 if self._mixes_batch else BATCH_SIZE):
            yield from zip(batch, self._run([pairs[place] for place in batch]), strict=True)

    def _run(self, pairs: list[Encoding]) -> list[float]:
        ids, mask = padded([pair.ids for pair in pairs])
        kinds, _ = padded([pair.type_ids for pair in pairs])
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
        (output,) = self._session.run(None, {node.name: feeds[node.name] for node in self._session.get_inputs()})
        if output.size != len(pairs):
            raise ModelUnusable(
                f"{self.name} gave {output.size} numbers for {len(pairs)} pairs; a reranker gives one each.",
                "Name a cross-encoder that was made for ranking.",
            )
        return [_sigmoid(float(number)) for number in output.reshape(-1)]


def _check(session: InferenceSession, name: str) -> None:
    inputs = [node.name for node in session.get_inputs()]
    outputs = [node.name for node in session.get_outputs()]
    if "input_ids" not in inputs or not set(inputs) <= set(_INPUTS) or len(outputs) != 1:
        raise ModelUnusable(
            f"{name} takes {', '.join(inputs)} and gives {', '.join(outputs)}, unlike a cross-encoder.",
            "Name a cross-encoder exported for text classification.",
        )


def _sigmoid(number: float) -> float:
    """What is not a number stays so."""
    return 1 / (1 + math.exp(-max(-STEEPEST, min(STEEPEST, number)))) if not math.isnan(number) else number
