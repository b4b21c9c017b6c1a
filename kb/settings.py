"""What the user prefers: `config.yaml` and KB_* variables over defaults, each value with where it came from.

Never what a store was built with (that is in the store). Precedence: flags, which the commands apply themselves, then the
environment, then the file, then the defaults below. Every setting has one variable, its path in capitals
(`search.default_top`: KB_SEARCH_DEFAULT_TOP); where the last word is unique, that alone will do (KB_DEFAULT_TOP).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from kb.errors import BadConfig
from kb.whichstore import said_or_found

Positive = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
WORDS_FOR = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
Fusion = Literal["weighted", "min-max", "deviation", "rrf", "rrf-bonus"]
RERANK_KEY = "KB_RERANK_KEY"
"""The variable with the key of the service at `search.rerank_url`: a secret, so it is no setting and nothing prints it."""
EMBEDDING_KEY = "KB_EMBEDDING_KEY"
"""The same for the service at `embedding.url`."""
SERVE_TOKEN = "KB_SERVE_TOKEN"  # noqa: S105  a name, not a secret
"""What a client of `kb serve` has to bear, where it is not in a file of the data directory: a secret too."""
Tokens = Annotated[int, msgspec.Meta(ge=16, le=100_000)]


class Embedding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    provider: Literal["onnx", "ollama", "openai"] = "onnx"
    """onnx: on this machine. Else every text and query is sent to a service: Ollama's, or one that is asked as OpenAI's is."""
    url: str = ""
    """Of that service; unset: ollama http://127.0.0.1:11434, openai https://api.openai.com, with the key KB_EMBEDDING_KEY."""
    model: str | None = None
    """Name or folder of the embedding model; unset: the one the store was built with, at first all-MiniLM-L6-v2."""
    max_tokens: Tokens = 512
    """What a service's model sees of a text, at most; an estimate by the default model's tokenizer, so set it a fifth below."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    """Seconds that a service may take for a batch."""
    query_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 4.0
    """Seconds for a query, in one try; from 5 on, a search gives up waiting for the daemon first."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 3
    """Further tries where a service is busy or does not answer, after 0.5, 1, 2 ... seconds or as long as it asks for."""
    query_prefix: str | None = None
    """Put before every query; unset: what the model's own configuration says."""
    passage_prefix: str | None = None
    """Put before every passage; unset: what the model's own configuration says."""
    windows: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    """Give each chunk of more words than this vectors of parts of that many too, and search all; 0: none. Changed by `kb reindex`."""
    batch_size: Positive = 32
    """Texts a call of the model."""
    threads: Natural = 0
    """Threads of one call; 0: one a core."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where a model on this machine runs; auto: on CUDA where the installed onnxruntime has it."""
    spinning: bool = True
    """Let the threads of a query wait for each other in a busy loop, 0.1 ms at a time: a fifth faster where cores are idle."""


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default_top: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    """Results without --top."""
    default_format: Literal["auto", "json", "human"] = "auto"
    """auto: JSON unless standard output is a terminal."""
    fusion: Fusion = "weighted"
    """How hybrid search makes one ranking of two: by the scores, or by reciprocal ranks (rrf)."""
    semantic_weight: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.4
    """What the meaning weighs where scores are fused; the words weigh the rest."""
    regularization: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    """How far a hit comes up to better ones that say alike, where scores are fused as `weighted`; 0: it does not."""
    rrf_k: Positive = 60
    """Cormack et al. 2009: the constant of reciprocal rank fusion."""
    rerank: bool = False
    """Let a cross-encoder read the best hits beside the query: better order, and tenths of a second to seconds."""
    rerank_model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    """Name or folder of it; `kb init --rerank` fetches it."""
    rerank_candidates: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 40
    """How many hits it reads."""
    rerank_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 3.0
    """After so many seconds the hits stay as they were; from 5 on, a search gives up waiting for the daemon first."""
    rerank_url: str = ""
    """An address such as https://api.jina.ai/v1/rerank that reads them instead, with KB_RERANK_KEY; it is sent their text."""
    fresh: bool = False
    """Look at the sources before each search, and read what is new; the daemon answers none then."""
    fresh_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    """How long a search waits for that."""
    daemon: bool = True
    """Let the first search leave a process behind that answers the next ones in milliseconds."""
    daemon_idle_s: Positive = 1800
    """Seconds without a question after which that process ends."""


class ChunkDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_tokens: Tokens = 512
    """Of types without a value of their own."""
    overlap_tokens: Natural = 50
    """Repeated where prose is cut inside a section."""


class PdfChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["hierarchy", "fixed"] = "hierarchy"
    """hierarchy: at headings; fixed: windows."""
    max_tokens: Tokens = 1024


class MarkdownChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["header", "fixed"] = "header"
    """header: at headings; fixed: windows."""
    min_tokens: Natural = 50
    """A smaller section is merged with the next."""
    max_tokens: Tokens = 1024


class CodeChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["ast", "fixed"] = "ast"
    """ast: a chunk a function or method; fixed: windows."""
    include_context: bool = True
    """Embed a method with its class, signature and docstring."""
    max_tokens: Tokens = 1024


class NoteChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["whole"] = "whole"
    """A note is one chunk."""


class Chunking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    defaults: ChunkDefaults = ChunkDefaults()
    pdf: PdfChunks = PdfChunks()
    markdown: MarkdownChunks = MarkdownChunks()
    code: CodeChunks = CodeChunks()
    note: NoteChunks = NoteChunks()


class Ingestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    workers: Annotated[int, msgspec.Meta(ge=1, le=256)] = 4
    """Processes that read and chunk, never more than cores."""
    cluster: str = ""
    """Address of a Dask scheduler, such as tcp://HOST:8786, whose workers read, chunk and embed instead; `cluster` extra."""
    batch_size: Positive = 50
    """Documents between two updates of the search indexes."""
    enable_ocr: Literal["auto", "always", "never"] = "auto"
    """auto: pages and images without usable text."""
    pdf_engine: Literal["auto", "docling", "pymupdf"] = "auto"
    """Who reads complex pages; auto: Docling where its models are installed."""
    max_ocr_pages: Natural = 200
    """Pages a document that may go through OCR."""
    file_timeout_s: Positive = 600
    """A file that takes longer to read is given up."""
    keep_original: bool = False
    """Keep files as they are in kb.db too, compressed; `kb get --original` gives them back."""


class Scrub(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = True
    """Store `[redacted: kind]` in place of passwords, tokens and keys."""
    emails: bool = False
    """E-mail addresses too."""


class Storage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lock_timeout_s: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    """How long a writer waits for another."""


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_upload_bytes: Annotated[int, msgspec.Meta(ge=1, le=2_000_000_000)] = 500_000_000
    """Of one file that a client of `kb serve` sends; a larger one is refused before it is read."""
    max_requests: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 32
    """Requests at once; more are told to come again."""
    slow_client_s: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    """How long a client may take for its headers, and for a body beyond a second for each 1,000 bytes."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    env_file: str = ""
    """A file of NAME=value lines with the keys of remote services, relative to config.yaml; variables and --env-file come first."""
    embedding: Embedding = Embedding()
    search: Search = Search()
    chunking: Chunking = Chunking()
    ingestion: Ingestion = Ingestion()
    scrub: Scrub = Scrub()
    storage: Storage = Storage()
    serve: Serve = Serve()


class Setting(msgspec.Struct, frozen=True):
    """One value and where it came from."""

    key: str
    value: Any
    origin: str
    """`default`, `config.yaml` or the variable's name."""
    variable: str


class Loaded(msgspec.Struct, frozen=True):
    settings: Settings
    origins: dict[str, str]
    """Origin of each key that is not at its default."""


def data_dir(environ: Mapping[str, str], folder: str = "") -> Path:
    """The data directory of whoever works in `folder`; empty: in this process's."""
    found = Path(said_or_found(environ, folder or _working_directory())).expanduser()
    return Path(os.path.abspath(found))  # noqa: PTH100  resolve() would rewrite symlinked paths


def _working_directory() -> str:
    """Empty where it has been deleted: then nothing is above it."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


def load(folder: Path, environ: Mapping[str, str] = os.environ) -> Loaded:
    """The settings in force. Raises BadConfig, which names the file, line and key, or the variable."""
    said = tuple((name, value) for name, value in environ.items() if value and name in _variable_names())
    return _loaded(str(folder), _state_of(f"{folder}/config.yaml"), said)


def _state_of(path: str) -> tuple[int, int, int] | None:
    """By which a file that was changed is known: a process that answers many commands reads it once."""
    try:
        status = os.stat(path)  # noqa: PTH116  a third of the time of Path.stat
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=8)
def _loaded(folder: str, _state: tuple[int, int, int] | None, variables: tuple[tuple[str, str], ...]) -> Loaded:
    path = Path(folder) / "config.yaml"
    tree, lines = _read_yaml(path) if path.exists() else ({}, {})
    tree = _without_empty(tree)
    _convert(tree, lambda key: f"{path}, line {lines.get(key, 1)}")
    origins = dict.fromkeys(_leaves(tree), "config.yaml")
    for key, (variable, value) in _from_environment(dict(variables)).items():
        _set(tree, key, value)
        origins[key] = variable
    return Loaded(_convert(tree, lambda key: origins.get(key, str(path))), origins)


def table(loaded: Loaded) -> list[Setting]:
    """Every setting, in the order of the classes above."""
    values = msgspec.to_builtins(loaded.settings)
    return [Setting(key, _get(values, key), loaded.origins.get(key, "default"), variables()[key][0]) for key in keys()]


@cache
def keys() -> list[str]:
    return list(_leaves(msgspec.to_builtins(Settings())))


@cache
def variables() -> dict[str, tuple[str, ...]]:
    """The environment variables of each key, the shortest first."""
    last_words = Counter(key.rpartition(".")[2] for key in keys())
    table: dict[str, tuple[str, ...]] = {}
    for key in keys():
        whole, last = (f"KB_{name.replace('.', '_').upper()}" for name in (key, key.rpartition(".")[2]))
        table[key] = (last, whole) if last != whole and last_words[key.rpartition(".")[2]] == 1 else (whole,)
    return table


@cache
def _variable_names() -> frozenset[str]:
    return frozenset(name for names in variables().values() for name in names)


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and are none, such as a misspelt one."""
    known = {
        "KB_DATA_DIR",
        RERANK_KEY,
        EMBEDDING_KEY,
        SERVE_TOKEN,
        *(name for names in variables().values() for name in names),
    }
    return sorted(name for name in environ if name.startswith("KB_") and name not in known)


def _read_yaml(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The file as a tree, and the line of each key in it."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        tree = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadConfig(f"{path}, line {line}: {error.problem}", "correct the YAML, or move the file away") from error
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise BadConfig(f"{path}: {error}", "correct the file, or move it away") from error
    if tree is None:
        return {}, {}
    if not isinstance(tree, dict):
        raise BadConfig(
            f"{path}, line 1: expected sections such as 'search:', got {type(tree).__name__}", "see kb config"
        )
    return tree, dict(_lines_of(node))


def _without_empty(tree: dict[str, Any]) -> dict[str, Any]:
    """Without the keys that have nothing behind them, such as a section whose settings are all commented out."""
    return {
        name: _without_empty(value) if isinstance(value, dict) else value
        for name, value in tree.items()
        if value is not None
    }


def _lines_of(node: Any, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, child in node.value:
        key = f"{prefix}{name.value}"
        yield key, name.start_mark.line + 1
        if isinstance(child.value, list) and child.id == "mapping":
            yield from _lines_of(child, f"{key}.")


def _convert(tree: dict[str, Any], where: Any) -> Settings:
    try:
        return msgspec.convert(tree, Settings)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        key = path.rstrip("`")
        if "unknown field" in message:
            unknown = message.rpartition("field ")[2].strip("`")
            key = f"{key}.{unknown}".strip(".")
            similar = get_close_matches(key, keys(), 1)
            message = f"no such setting; did you mean {similar[0]}?" if similar else "no such setting"
        raise BadConfig(f"{where(key)}: {key}: {message}", "correct it, or take it out") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    defaults = msgspec.to_builtins(Settings())
    for key, names in variables().items():
        name = next((name for name in names if name in environ), None)
        if name is not None:
            found[key] = (name, _parse(environ[name], _get(defaults, key)))
    return found


def _parse(text: str, default: Any) -> Any:
    """A variable's text as the type of the default; what does not parse is left to the validation to refuse."""
    if isinstance(default, bool):
        return WORDS_FOR.get(text.lower(), text)
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError:
            return text
    return text


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _get(tree: Mapping[str, Any], key: str) -> Any:
    for part in key.split("."):
        tree = tree[part]
    return tree


def _set(tree: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for part in parents:
        tree = tree.setdefault(part, {})
    tree[last] = value
