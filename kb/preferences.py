"""The settings in force: `config.yaml` and KB_* variables over the defaults, each value with where it came from.

Precedence: flags, which the commands apply themselves, then the environment, then the file, then the defaults. Every setting has
one variable, its path in capitals (`search.default_top`: KB_SEARCH_DEFAULT_TOP); where the last word is unique, that alone will do
(KB_DEFAULT_TOP). Not here: which settings there are (`kb.settings`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from kb.errors import BadConfig
from kb.settings import EMBEDDING_KEY, RERANK_KEY, SERVE_TOKEN, Settings
from kb.whichstore import said_or_found

WORDS_FOR = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


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
    """Every setting, in the order of the classes of `kb.settings`."""
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
