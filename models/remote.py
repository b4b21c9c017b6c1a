"""A reranker on another machine: POST /v1/rerank as Jina's service takes it, and Cohere's, vLLM's and others like it.

Queries and passages leave this machine, so nothing is sent without a key, and a key never unencrypted to another machine.
One request, one answer: no second try, no redirects, no proxy.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Sequence
from time import perf_counter
from urllib.parse import SplitResult, urlsplit

import msgspec

from models.errors import ModelUnusable, RerankerFailed

MOST_BYTES = 4_000_000
"""Of an answer: some hundred scores, even where the passages come back with them."""
BYTES_A_READ = 65_536
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
        until = perf_counter() + self.timeout_s
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=self.timeout_s)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"{url.path}?{url.query}" if url.query else url.path, body, headers)
            response = connection.getresponse()
            content = b""
            while part := response.read1(BYTES_A_READ):  # as it comes: a slow sender may not take longer than we have
                content += part
                if len(content) > MOST_BYTES or perf_counter() > until:
                    raise TimeoutError("its answer is too long, or takes too long")
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise http.client.HTTPException(f"status {response.status} {response.reason}")
        return content


def checked(url: str) -> SplitResult:
    """The parts of an address that a key may be sent to. Raises ModelUnusable."""
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        if is_safe and parts.hostname and (parts.port is None or parts.port > 0):
            return parts
    except ValueError:  # a port that is no number
        pass
    raise ModelUnusable(
        f"The address {url!r} is none to rerank at.", "Set search.rerank_url to https://HOST/v1/rerank."
    )
