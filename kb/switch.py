"""What a switch of models leaves to be done after an interruption: two rows of the table `config`, and a line of `config.yaml`.

    switching_to    key of the model whose vectors `kb reindex` is making; until it has switched, or was asked for another
    switched_from   the name in config.yaml that a switch left behind; until the file names the new model

The second is written in the transaction that switches. As long as it is there, that name in that file means the store's own
model, and any command edits the file if nobody is writing: so a kill between the transaction and the edit is never noticed.
A name in the environment or on the command line always means what it says. Not here: how vectors are made (`kb.reindex`).
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from index import database
from index.atomic import replace_file
from index.builtwith import built_with
from index.errors import StoreError, StoreMissing
from index.store import reading, writing
from index.writer import Writer
from kb.model import as_written, means
from kb.preferences import Loaded

MODEL = "embedding.model"
SWITCHING_TO = "switching_to"
SWITCHED_FROM = "switched_from"


def begin(writer: Writer, model_key: str) -> None:
    """Inside the transaction that stores vectors of a model."""
    if model_key != built_with(writer.connection).model_key:
        database.write_config(writer.connection, {SWITCHING_TO: model_key})


def end(writer: Writer, model_name: str) -> None:
    """Inside the transaction that makes this the store's model. What `config.yaml` says is left to `finish`."""
    left_behind = _name_left_behind(writer.folder, model_name)
    database.write_config(writer.connection, {SWITCHING_TO: None, SWITCHED_FROM: left_behind})


def begun(connection: sqlite3.Connection) -> str | None:
    """The key of the model that an unfinished `kb reindex` is making vectors of."""
    return database.read_config(connection).get(SWITCHING_TO)


def settled(data_dir: Path, loaded: Loaded) -> Loaded:
    """The settings, without the name of a model that is in `config.yaml` only because a switch was cut short.

    Finishes the switch if it can. Raises StoreTooNew, StoreDamaged.
    """
    if loaded.origins.get(MODEL) != "config.yaml":
        return loaded
    try:
        with reading(data_dir, loaded.settings.storage.lock_timeout_s) as reader:
            left_behind = database.read_config(reader.connection).get(SWITCHED_FROM)
    except StoreMissing:
        return loaded
    if left_behind is None:
        return loaded
    with contextlib.suppress(StoreError, OSError), writing(data_dir, 0) as writer:  # another writer, a read-only disk
        finish(writer)
    return _without_model(loaded) if loaded.settings.embedding.model == left_behind else loaded


def finish(writer: Writer) -> list[str]:
    """Let `config.yaml` name the store's model instead of the one left behind; returns what is to be said of that.

    Where the file cannot be written, it keeps the name, and the name keeps its new meaning.
    """
    left_behind = database.read_config(writer.connection).get(SWITCHED_FROM)
    if left_behind is None:
        return []
    path, name = writer.folder / "config.yaml", built_with(writer.connection).model_name
    said = []
    if _name_left_behind(writer.folder, name) == left_behind:  # else somebody has edited it since
        database.make_durable(writer.connection)  # no power loss may leave the file ahead of the store
        try:
            set_in_file(path, MODEL, as_written(name))
        except OSError as error:
            return [f"{path} cannot be written ({error.strerror}): as long as it says {left_behind}, that means {name}"]
        said = [f"config.yaml: {MODEL} is now {as_written(name)}"]
    with writer.transaction():
        database.write_config(writer.connection, {SWITCHED_FROM: None})
    return said


def set_in_file(path: Path, key: str, value: str) -> bool:
    """Replace a value that stands in the file, and nothing else of it. False where the key is not there."""
    text = _text_of(path)
    node = _node_of(text, key)
    if node is None:
        return False
    quoted = msgspec.json.encode(value).decode()
    changed = text[: node.start_mark.index] + quoted + text[node.end_mark.index :]
    replace_file(path.resolve(), changed.encode())  # the file itself, where config.yaml is a link to it
    return True


def _name_left_behind(data_dir: Path, model_name: str) -> str | None:
    """The name of a model in `config.yaml`, where it means another one than this."""
    node = _node_of(_text_of(data_dir / "config.yaml"), MODEL)
    return None if node is None or means(node.value, model_name) else str(node.value)


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _node_of(text: str, key: str) -> Any:
    """The node of YAML at a key such as `embedding.model`; None where there is none, or nothing behind it."""
    import yaml

    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for part in key.split("."):
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        node = next((child for name, child in pairs if name.value == part), None)
    return node if isinstance(node, yaml.ScalarNode) and node.tag != "tag:yaml.org,2002:null" else None


def _without_model(loaded: Loaded) -> Loaded:
    embedding = msgspec.structs.replace(loaded.settings.embedding, model=None)
    origins = {key: origin for key, origin in loaded.origins.items() if key != MODEL}
    return Loaded(msgspec.structs.replace(loaded.settings, embedding=embedding), origins)
