"""A service that makes vectors, asked until it answers or has been asked often enough.

Tried again, with growing pauses: no connection, no answer in time, an answer that breaks off, and the statuses of a server that
is busy or unwell. One request at a time, each on a connection of its own. Does not judge the numbers (`models.remote_embedder`).
"""

from __future__ import annotations

import http.client
import math
import ssl
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import count
from urllib.parse import SplitResult

import msgspec

from models import service
from models.errors import EmbedderFailed
from models.providers import Numbers, Provider
from models.service import Reply

BUSY: frozenset[int] = frozenset({
    HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
})  # fmt: skip
UNWELL = BUSY | {HTTPStatus.INTERNAL_SERVER_ERROR}
"""500 is also how Ollama says that a text's vector is not finite (ollama/ollama#9639): tried again for a whole batch only."""
FIRST_WAIT_S = 0.5
"""Before the second try; twice as long before each further one."""
MOST_WAIT_S = 30.0
"""Even where `Retry-After` says more: somebody waits for this command."""
MOST_BYTES = 100_000
MOST_BYTES_A_TEXT = 200_000
"""Of an answer: 8192 numbers in full decimals."""
REASON_CHARS = 200


class Refused(Exception):
    """An answer that is none for these texts, and would be no other the next time."""


class _Busy(Exception):
    """No answer yet: another try may bring one."""

    def __init__(self, said: str, status: int = 0, retry_after: str = "") -> None:
        super().__init__(said)
        self.status = status
        """0: there was none."""
        self.retry_after = retry_after
        """The header of that name."""


class EmbeddingService(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to ask, and how long."""

    provider: Provider
    url: SplitResult
    """Of the endpoint, whole."""
    model: str
    """As the service calls it."""
    timeout_s: float
    """Of one request for passages."""
    retries: int
    query_timeout_s: float
    """Of a query, which is tried once: somebody waits for it, and can search by words meanwhile."""
    first_wait_s: float = FIRST_WAIT_S

    def vectors(
        self, texts: Sequence[str], key: str, *, again: frozenset[int] = BUSY, for_query: bool = False
    ) -> list[Numbers]:
        """As many as texts, in their order. `again`: the statuses after which it is asked once more.

        Raises EmbedderFailed, and Refused where other texts might get an answer.
        """
        try:
            vectors = self.provider.vectors(self._post(texts, key, again, for_query=for_query))
        except (msgspec.DecodeError, ValueError) as error:
            raise Refused(f"gave no vectors: {_line(error)}") from error
        if len(vectors) != len(texts):
            raise Refused(f"gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def failed(self, said: str) -> EmbedderFailed:
        return EmbedderFailed(
            f"{self.url.hostname} {said}.", "Check embedding.url and embedding.model, and whether the service runs."
        )

    def _post(self, texts: Sequence[str], key: str, again: frozenset[int], *, for_query: bool) -> bytes:
        tries, timeout_s = (1, self.query_timeout_s) if for_query else (1 + self.retries, self.timeout_s)
        for attempt in count(1):
            try:
                return self._answer(texts, key, timeout_s)
            except _Busy as busy:
                if attempt < tries and (not busy.status or busy.status in again):
                    time.sleep(pause_s(self.first_wait_s * 2 ** (attempt - 1), busy.retry_after))
                elif busy.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise Refused(str(busy)) from busy
                else:
                    raise self.failed(f"{busy}" + (f", {attempt} times" if attempt > 1 else "")) from busy
        raise AssertionError  # the loop has no end of its own

    def _answer(self, texts: Sequence[str], key: str, timeout_s: float) -> bytes:
        """To one request. Raises _Busy too."""
        most = MOST_BYTES + MOST_BYTES_A_TEXT * len(texts)
        try:
            body = self.provider.request(self.model, texts)
            reply = service.post(self.url, body, key=key, timeout_s=timeout_s, most_bytes=most)
        except ssl.SSLError as error:  # such as a certificate, which another try does not mend
            raise self.failed(f"cannot be reached: {_line(error)}") from error
        except (OSError, http.client.IncompleteRead) as error:
            raise _Busy(f"does not answer: {_line(error)}") from error
        except http.client.HTTPException as error:
            raise Refused(f"gave no answer that can be read: {_line(error)}") from error
        if reply.status == HTTPStatus.OK:
            return reply.content
        if reply.status in UNWELL:
            raise _Busy(_said(reply, key), reply.status, reply.retry_after)
        raise self._rejected(reply, key)

    def _rejected(self, reply: Reply, key: str) -> Exception:
        """What a status means that another try does not change."""
        said = _said(reply, key)
        if reply.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            whose, hint = ("does not accept the key", "Correct") if key else ("wants a key", "Set")
            return EmbedderFailed(f"{self.url.hostname} {whose}: it {said}.", f"{hint} KB_EMBEDDING_KEY.")
        if reply.status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
            return self.failed(f"has no {self.model} at {self.url.path}: it {said}")
        if reply.status < HTTPStatus.BAD_REQUEST:
            return self.failed(f"{said}, and redirects are not followed")
        return Refused(said)


def _said(reply: Reply, key: str) -> str:
    """The status, with what an error in JSON says of it. Never the key, should the service repeat it."""
    said = " ".join(_error_in(reply.content).split())
    said = (said.replace(key, "***") if key else said)[:REASON_CHARS]
    return f"answers {reply.status} {reply.reason}" + (f": {said}" if said else "")


def _error_in(content: bytes) -> str:
    """`{"error": "..."}`, or `{"error": {"message": "..."}}`; of a page for people, nothing."""
    try:
        error = msgspec.json.decode(content, type=dict[str, object]).get("error", "")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return str(error.get("message", "") if isinstance(error, dict) else error)


def pause_s(growing_s: float, retry_after: str) -> float:
    """Before the next try: what the service wants, seconds or a date (RFC 9110), else `growing_s`; at most MOST_WAIT_S."""
    try:
        wanted_s = float(retry_after)
    except ValueError:
        try:
            wanted_s = (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):  # no date, or one without a zone
            wanted_s = growing_s
    return min(max(wanted_s, 0.0), MOST_WAIT_S) if math.isfinite(wanted_s) else min(growing_s, MOST_WAIT_S)


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
