"""A reranker's files on this machine: a cross-encoder that was fetched into the hub's cache, or lies in a folder.

    config.json       labels, positions, kind of network
    tokenizer.json
    onnx/model.onnx   or one of `models.layout.ONNX_FILES`

Never touches the network and never imports huggingface_hub or onnxruntime (`models.fetch` and `models.reranker` do).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from models.errors import ModelMissing, ModelUnusable
from models.layout import TOKENIZER_FILE, onnx_files, pick_onnx, positions, read_config
from models.locate import folder_of, is_folder

DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L-6-v2"
SHORT_NAMES = {
    name.rpartition("/")[2]: name
    for name in (
        DEFAULT_RERANKER,
        "BAAI/bge-reranker-base",
        "jinaai/jina-reranker-v1-tiny-en",
        "jinaai/jina-reranker-v1-turbo-en",
        "jinaai/jina-reranker-v2-base-multilingual",
    )
}
"""Not a list of what is allowed: any cross-encoder with one label and an ONNX file works."""
MOST_TOKENS = 512
"""Of a pair. What ms-marco-MiniLM and bge see; jina's models take 8192, and twice the tokens cost more than twice the time."""


class RerankerFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What a reranker is loaded from."""

    name: str
    onnx: Path
    tokenizer: Path
    max_tokens: int
    """What it sees of query and passage together, special tokens included; the longer of the two is cut first."""


def full_name(name: str) -> str:
    """The name of a well-known reranker given its short one; any other name as it is."""
    return SHORT_NAMES.get(name, name)


def locate_reranker(name: str) -> RerankerFiles:
    """Raises ModelMissing, with the command that fetches it; ModelUnusable or ModelDamaged if it is here and cannot serve."""
    name = full_name(name)
    folder = folder_of(name)
    if folder is None:
        hint = "Name a folder that exists." if is_folder(name) else f"Fetch it with: kb init --rerank {name}"
        raise ModelMissing(f"The reranker {name} is not on this machine.", hint)
    onnx_file = pick_onnx(onnx_files(folder))
    if onnx_file is None or not (folder / TOKENIZER_FILE).is_file():
        raise ModelMissing(
            f"The reranker {name} is not whole: {folder} has no {TOKENIZER_FILE if onnx_file else 'ONNX file'}.",
            f"Fetch it with: kb init --rerank {name}",
        )
    return RerankerFiles(
        name=name, onnx=folder / onnx_file, tokenizer=folder / TOKENIZER_FILE, max_tokens=limit_of(folder, name)
    )


def limit_of(folder: Path, name: str) -> int:
    """The `max_tokens` of the reranker in this folder. Raises ModelUnusable for what is no reranker, and ModelDamaged."""
    network = read_config(folder)
    labels = network.label_count
    if labels is not None and labels != 1:
        raise ModelUnusable(
            f"{name} tells {labels} labels apart; a reranker gives one number.",
            f"Name a cross-encoder that was made for ranking, e.g. {DEFAULT_RERANKER}.",
        )
    return min(positions(network) or MOST_TOKENS, MOST_TOKENS)
