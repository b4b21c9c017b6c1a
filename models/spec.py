"""The numbers of a model, apart from its files. Reads nothing and loads nothing."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Pooling = Literal["mean", "cls"]
UNKNOWN_DIM = 1
"""Stands for the size of a service's vectors until the first one came, as in `index.store`: no model gives one number a text."""


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What must be known to count, cut and embed texts for a model."""

    name: str
    """`ORG/NAME` of the hub, the default model's short name, the absolute path of a folder, or `PROVIDER:NAME` of a service."""
    dim: int
    max_tokens: int
    """What the model sees of a text, special tokens and prefix included; the rest is cut off."""
    pooling: Pooling
    query_prefix: str = ""
    passage_prefix: str = ""
    own_passage_prefix: str = ""
    """The passage prefix the model was trained with; `passage_prefix` differs from it where the user set another."""
    onnx_file: str = "onnx/model.onnx"
    """Relative to the model's folder."""
    content: str = ""
    """What a folder's files hold, as hexadecimal digits (`models.checksum`): another model may be put in the same place."""

    @property
    def key(self) -> str:
        """The name under which vectors are stored: the same key means the same text gives the same vector."""
        key = f"{self.name}@{self.content}" if self.content else self.name
        if self.passage_prefix == self.own_passage_prefix:
            return key
        import hashlib  # slow to load, and seldom needed

        return f"{key}#{hashlib.sha256(self.passage_prefix.encode()).hexdigest()[:8]}"

    def with_prefixes(self, query: str | None, passage: str | None) -> ModelSpec:
        """The same model with the prefixes the user set; None keeps the model's own."""
        return msgspec.structs.replace(
            self,
            query_prefix=self.query_prefix if query is None else query,
            passage_prefix=self.passage_prefix if passage is None else passage,
        )


def content_in(key: str, name: str) -> str:
    """The `content` in the key of a model of this name."""
    found = re.match("@([0-9a-f]+)", key.removeprefix(name))
    return found[1] if found else ""
