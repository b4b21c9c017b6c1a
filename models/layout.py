"""A folder in the sentence-transformers layout, read into a `ModelSpec`.

    modules.json                        which modules: transformer, pooling, normalise
    1_Pooling/config.json               how token vectors become one
    sentence_bert_config.json           how long a text may be
    config.json                         positions and width of the network
    config_sentence_transformers.json   prompts, if any
    tokenizer.json
    onnx/model.onnx                     or one of `ONNX_FILES`

Does not open the ONNX file or the tokenizer, and does not look for folders (`models.locate`).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

import msgspec

from models.errors import ModelDamaged, ModelUnusable
from models.spec import ModelSpec, Pooling

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILES = (
    "modules.json",
    "*_Pooling/config.json",
    "sentence_bert_config.json",
    "config.json",
    "config_sentence_transformers.json",
)
"""Names, or patterns of names, of the files that `read_spec` reads."""

ONNX_FILES = (
    "onnx/model.onnx",
    "model.onnx",
    "onnx/model_quantized.onnx",
    "model_quantized.onnx",
    "onnx/model_int8.onnx",
    "model_int8.onnx",
)
"""Most faithful first: full precision, then the names that Optimum and transformers.js give quantised files."""

# These count positions from the padding id + 1, so that a table of 514 holds 512 tokens (transformers, modeling_roberta).
_OFFSET_POSITIONS = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})

_T = TypeVar("_T")


class _Module(msgspec.Struct):
    path: str
    type: str


class _PoolingConfig(msgspec.Struct):
    """Both forms: flags (before sentence-transformers 5.2) and one name (since)."""

    word_embedding_dimension: int | None = None
    embedding_dimension: int | None = None
    pooling_mode: str | list[str] | None = None
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False

    def modes(self) -> list[str]:
        if self.pooling_mode is not None:
            return [self.pooling_mode] if isinstance(self.pooling_mode, str) else self.pooling_mode
        flags = {
            "cls": self.pooling_mode_cls_token,
            "mean": self.pooling_mode_mean_tokens,
            "max": self.pooling_mode_max_tokens,
            "mean_sqrt_len_tokens": self.pooling_mode_mean_sqrt_len_tokens,
            "weightedmean": self.pooling_mode_weightedmean_tokens,
            "lasttoken": self.pooling_mode_lasttoken,
        }
        return [mode for mode, on in flags.items() if on]


class TransformerConfig(msgspec.Struct):
    """What of `config.json` concerns us."""

    hidden_size: int | None = None
    n_embd: int | None = None
    max_position_embeddings: int | None = None
    n_positions: int | None = None
    pad_token_id: int | None = None
    model_type: str = ""
    num_labels: int | None = None
    id2label: dict[str, str] | None = None

    @property
    def label_count(self) -> int | None:
        """How many numbers a classifier gives; None where nothing is said. `transformers` writes only the names of labels."""
        return self.num_labels if self.id2label is None else len(self.id2label)


class _SentenceConfig(msgspec.Struct):
    max_seq_length: int | None = None


class _Prompts(msgspec.Struct):
    prompts: dict[str, str] = {}
    default_prompt_name: str | None = None


def read_spec(folder: Path, name: str, onnx_file: str) -> ModelSpec:
    """The numbers of the model in `folder`. Raises ModelUnusable or ModelDamaged, naming the file."""
    pooling = _read_pooling(folder, name)
    network = read_config(folder)
    limit = _read(folder / "sentence_bert_config.json", _SentenceConfig).max_seq_length
    query, passage = _read_prompts(folder)
    return ModelSpec(
        name=name,
        dim=_first(pooling.word_embedding_dimension, pooling.embedding_dimension, network.hidden_size, network.n_embd)
        or _unknown(name, "the size of its vectors"),
        max_tokens=_least(limit, positions(network)) or _unknown(name, "how long a text may be"),
        pooling=_pooling_mode(pooling, name),
        query_prefix=query,
        passage_prefix=passage,
        own_passage_prefix=passage,
        onnx_file=onnx_file,
    )


def pick_onnx(files: Collection[str], preferred: str | None = None) -> str | None:
    """Which of the files of a repository to run; None if there is no ONNX file, or none to prefer among several."""
    for name in (preferred, *ONNX_FILES):
        if name is not None and name in files:
            return name
    others = [name for name in files if name.endswith(".onnx")]
    return others[0] if len(others) == 1 else None


def onnx_files(folder: Path) -> list[str]:
    """The ONNX files of a folder, relative to it; a link whose target is gone is not one."""
    found = (path for pattern in ("*.onnx", "onnx/*.onnx") for path in sorted(folder.glob(pattern)))
    return [path.relative_to(folder).as_posix() for path in found if path.is_file()]


def _read_pooling(folder: Path, name: str) -> _PoolingConfig:
    modules = _read(folder / "modules.json", list[_Module])
    path = "1_Pooling"
    for module in modules:
        kind = module.type.rpartition(".")[2]
        if kind == "Pooling":
            path = module.path
        elif kind not in ("Transformer", "Normalize"):
            raise ModelUnusable(
                f"{name} ends in a {kind} module, which its ONNX file does not hold.",
                "Name a model made of transformer, pooling and normalisation only.",
            )
    return _read(folder / path / "config.json", _PoolingConfig)


def _pooling_mode(config: _PoolingConfig, name: str) -> Pooling:
    modes = config.modes() or ["mean"]  # what sentence-transformers takes where a repository says nothing
    if modes == ["mean"]:
        return "mean"
    if modes == ["cls"]:
        return "cls"
    raise ModelUnusable(
        f"{name} pools by {' + '.join(modes)}; only mean and cls are known here.",
        "Name a model that pools by the mean or the first token, e.g. BAAI/bge-small-en-v1.5.",
    )


def _read_prompts(folder: Path) -> tuple[str, str]:
    config = _read(folder / "config_sentence_transformers.json", _Prompts)
    default = config.prompts.get(config.default_prompt_name or "", "")
    query = config.prompts.get("query", default)
    passage = config.prompts.get("document", config.prompts.get("passage", default))
    return query, passage


def read_config(folder: Path) -> TransformerConfig:
    """Of the network itself. Raises ModelDamaged."""
    return _read(folder / "config.json", TransformerConfig)


def positions(network: TransformerConfig) -> int | None:
    """How many tokens the network can tell the places of."""
    places = _first(network.max_position_embeddings, network.n_positions)
    if places is None or network.model_type not in _OFFSET_POSITIONS:
        return places
    return places - (network.pad_token_id or 0) - 1


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _unknown(name: str, what: str) -> int:
    raise ModelUnusable(
        f"{name} does not say {what}: config.json and the sentence-transformers files are missing or silent.",
        "Name a folder or repository in the sentence-transformers layout.",
    )


def _read(path: Path, kind: type[_T]) -> _T:
    """The file as `kind`; `kind()` if it is not there, since each of these files is optional."""
    if not path.is_file():
        return kind()
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelDamaged(f"{path} cannot be read: {error}", "Remove it and fetch the model again.") from error
