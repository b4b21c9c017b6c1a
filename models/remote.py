"""A reranker on another machine: POST /v1/rerank as Jina's service takes it, and Cohere's, vLLM's and others like it.

Queries and passages leave this machine, so nothing is sent without a key, and a key never unencrypted to another machine.
One request, one answer: no second try.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Sequence
from urllib.parse import SplitResult

import msgspec

from models import service
from models.errors import ModelUnusable, RerankerFailed

MOST_BYTES = 4_000_000
"""Of an answer: some hundred scores, even where the passages come back with them."""


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Results(msgspec.Struct):
    results: list[_Result]


class RemoteReranker(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    """Of the endpoint, whole."""
    model: str
    key: str
    timeout_s: float

    def scores(self, query: str, passages: Sequence[str]) -> Iterator[tuple[int, float]]:
        """As `models.reranker.Reranker`; all at once. Raises ModelUnusable for the address, RerankerFailed for the rest."""
        url = checked(self.url)
        asked = {"model": self.model, "query": query, "documents": list(passages), "top_n": len(passages)}
        try:
            answer = self._post(url, msgspec.json.encode({**asked, "return_documents": False}))
            found = msgspec.json.decode(answer, type=_Results).results
        except (OSError, http.client.HTTPException, msgspec.DecodeError, UnicodeError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise RerankerFailed(f"{url.hostname} did not rerank: {reason}", "Check search.rerank_url.") from error
        yield from ((result.index, result.relevance_score) for result in found)

    def _post(self, url: SplitResult, body: bytes) -> bytes:
        reply = service.post(url, body, key=self.key, timeout_s=self.timeout_s, most_bytes=MOST_BYTES)
        if reply.status != http.client.OK:
            raise http.client.HTTPException(f"status {reply.status} {reply.reason}")
        return reply.content


def checked(url: str) -> SplitResult:
    """The parts of an address that a key may be sent to. Raises ModelUnusable."""
    parts = service.address(url)
    if parts is None or not service.is_private(parts):
        raise ModelUnusable(
            f"The address {service.shown(url)!r} is none to rerank at.",
            "Set search.rerank_url to https://HOST/v1/rerank.",
        )
    return parts
