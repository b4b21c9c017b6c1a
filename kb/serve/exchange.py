"""One request and its answer on their way: counted, timed, and cut off where they are too large or too slow.

Between uvicorn, which speaks HTTP, and the application. Not here: how slow a head may come (`kb.serve.connection`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic

from starlette.types import Message, Receive, Scope, Send

from kb.serve.faults import Answered, TooLarge, TooSlow, answer_to

SLOWEST_BYTES_A_SECOND = 1000
"""Of a body, after the first `serve.slow_client_s`: as Apache's mod_reqtimeout counts (`body=20,MinRate=500`)."""

ON_EVERY_ANSWER = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
)
"""No browser keeps an answer, or runs it as a page of this server."""


class Exchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send, slow_client_s: float) -> None:
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.slow_client_s = slow_client_s
        self.started = monotonic()
        self.received_bytes = 0
        self.most_bytes: int | None = None
        """None: not known yet."""
        self.status: int | None = None
        """Of the answer, once it has begun."""
        self.error = ""
        """The name of the error that it tells."""
        self.operation = ""
        """The path that was asked for as the schema has it; empty: there is none."""
        self.origin: bytes | None = None
        """Of the page that asks, if one does that may."""
        self._receive = receive
        self._send = send
        self._body_ended = not self._has_body()

    def _has_body(self) -> bool:
        return b"transfer-encoding" in self.headers or self._announced_bytes() > 0

    def _announced_bytes(self) -> int:
        return int(self.headers.get(b"content-length", b"0"))  # h11 has seen that it is a number

    def limit(self, most_bytes: int) -> None:
        """How large the body may be. Raises TooLarge where it says that it is larger, before any of it is read."""
        self.most_bytes = most_bytes
        if self._announced_bytes() > most_bytes:
            raise self._too_large()

    def _too_large(self) -> TooLarge:
        return TooLarge(f"the body may have {self.most_bytes} bytes", "the setting serve.max_upload_bytes is for files")

    async def receive(self) -> Message:
        """As ASGI has it. Raises TooLarge and TooSlow."""
        if self._body_ended:
            return await self._receive()
        until = self.started + self.slow_client_s + self.received_bytes / SLOWEST_BYTES_A_SECOND
        try:
            async with asyncio.timeout(max(0.0, until - monotonic())):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow(
                f"the body came too slowly: {self.received_bytes} bytes in {monotonic() - self.started:.0f} s",
                "send it faster; the setting serve.slow_client_s gives more time",
            ) from None
        self.received_bytes += len(message.get("body", b""))
        self._body_ended = not message.get("more_body", False)
        if self.most_bytes is not None and self.received_bytes > self.most_bytes:
            raise self._too_large()
        return message

    async def send(self, message: Message) -> None:
        """As ASGI has it. Raises TooSlow where nobody takes what is sent."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message["headers"], *self._more_headers()]}
        try:
            async with asyncio.timeout(self.slow_client_s):
                await self._send(message)
        except TimeoutError:
            raise TooSlow("the answer is taken too slowly", "") from None

    def _more_headers(self) -> Iterator[tuple[bytes, bytes]]:
        yield from ON_EVERY_ANSWER
        if self.origin is not None:
            yield b"access-control-allow-origin", self.origin
            yield b"vary", b"origin"
        if not self._body_ended:  # what is still to come of it is nobody's next request
            yield b"connection", b"close"

    async def answer(self, error: Exception) -> None:
        """Tell the error, unless an answer has begun: that one can only be cut off."""
        answered = answer_to(error)
        self.error = answered.code
        if self.status is not None:
            raise error
        await self.send({"type": "http.response.start", "status": answered.status, "headers": headers_of(answered)})
        await self.send({"type": "http.response.body", "body": answered.body})


def headers_of(answered: Answered) -> list[tuple[bytes, bytes]]:
    headers = {"content-type": "application/json", "content-length": str(len(answered.body)), **answered.headers}
    return [(name.encode(), value.encode()) for name, value in headers.items()]
