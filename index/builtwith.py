"""What a store was built with: the embedding model that its vectors are of, and what they are made of.

It is decided when the store is made, and changed by a switch to another model only (`kb.switch`). Not here: the models themselves.
"""

from __future__ import annotations

import sqlite3

import msgspec

from index import database
from index.errors import ModelMismatch

UNKNOWN_DIM = 1
"""A matrix needs a width even while it is empty; no model gives one number a text."""


class BuiltWith(msgspec.Struct, frozen=True, kw_only=True):
    """The embedding model that a store's vectors are of, and what they are made of."""

    model_name: str
    model_key: str
    """`model_name`, and more where the passages are prefixed in an unusual way."""
    embedding_dim: int
    """UNKNOWN_DIM until the first vector of a service came."""
    model_max_tokens: int
    windows: int = 0
    """Words a window of a chunk that has a row of its own (`index.windows`); 0: chunks have one row each."""


def built_with(connection: sqlite3.Connection) -> BuiltWith:
    return msgspec.convert(database.read_config(connection), BuiltWith, strict=False)


def set_built_with(connection: sqlite3.Connection, built: BuiltWith) -> None:
    """Inside a transaction."""
    database.write_config(connection, {name: str(value) for name, value in msgspec.structs.asdict(built).items()})


def bind_dim(connection: sqlite3.Connection, model_key: str, dim: int) -> None:
    """The size of the vectors of the store's model, which was not known when it was made. Inside a transaction.

    Nothing is changed where it is known, or the model is another one meanwhile.
    """
    built = built_with(connection)
    if built.model_key == model_key and built.embedding_dim == UNKNOWN_DIM:
        set_built_with(connection, msgspec.structs.replace(built, embedding_dim=dim))


def check_model(built: BuiltWith, model_name: str, model_key: str) -> None:
    """Raises ModelMismatch unless the store was built with the model given."""
    if built.model_key == model_key:
        return
    if built.model_name == model_name:
        raise ModelMismatch(
            f"the store was built with other files of {model_name}, or with another passage prefix",
            "make its vectors anew: kb reindex; or put back what was there",
        )
    raise ModelMismatch(
        f"the store was built with {built.model_name}, the configuration says {model_name}",
        f"switch the store: kb reindex --model {model_name}; or let embedding.provider and embedding.model name {built.model_name} again",
    )
