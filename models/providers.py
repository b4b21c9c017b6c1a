"""How services that make vectors are asked and answer: Ollama's own way, and OpenAI's, which most others have taken over.

    ollama  POST /api/embed       {"model", "input": [...]} -> {"embeddings": [[...]]}
    openai  POST /v1/embeddings   {"model", "input": [...], "encoding_format"} -> {"data": [{"index", "embedding"}]}

Pure: sends nothing, and does not judge the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

Name = Literal["ollama", "openai"]
Numbers = list[float | None]
"""Of one text; some servers write null for what is no number."""


class _Embeddings(msgspec.Struct):
    embeddings: list[Numbers]


class _Item(msgspec.Struct):
    index: int
    embedding: Numbers


class _Data(msgspec.Struct):
    data: list[_Item]


def _of_ollama(content: bytes) -> list[Numbers]:
    return msgspec.json.decode(content, type=_Embeddings).embeddings


def _of_openai(content: bytes) -> list[Numbers]:
    """By their index: in which order they come is not promised."""
    items = sorted(msgspec.json.decode(content, type=_Data).data, key=lambda item: item.index)
    if [item.index for item in items] != list(range(len(items))):
        raise ValueError("its vectors are not numbered from 0")
    return [item.embedding for item in items]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    default_url: str
    path: str
    extra: dict[str, Any]
    """Beside the model and the texts."""
    vectors: Callable[[bytes], list[Numbers]]
    """An answer's vectors, in the order of the texts. Raises msgspec.DecodeError and ValueError."""

    def request(self, model: str, texts: Sequence[str]) -> bytes:
        return msgspec.json.encode({"model": model, "input": list(texts), **self.extra})

    def endpoint(self, url: str) -> str:
        """Where to post, of a server's address with as much of the path as the user wrote: none, `/v1`, or all of it."""
        base = (url or self.default_url).rstrip("/")
        parts = self.path.strip("/").split("/")
        if base.endswith(f"/{parts[-1]}"):
            return base
        done = next((count for count in range(len(parts), 0, -1) if base.endswith("/" + "/".join(parts[:count]))), 0)
        return "/".join([base, *parts[done:]])


PROVIDERS: dict[str, Provider] = {
    "ollama": Provider(default_url="http://127.0.0.1:11434", path="/api/embed", extra={}, vectors=_of_ollama),
    "openai": Provider(
        default_url="https://api.openai.com", path="/v1/embeddings", extra={"encoding_format": "float"}, vectors=_of_openai
    ),
}  # fmt: skip
