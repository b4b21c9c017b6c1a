"""A connection: uvicorn's, which waits for a head only so long, refuses in our words, and closes so that the refusal arrives.

A client that is refused while it still sends would be told by its system that the connection was reset, and might never read why.
So our side of the connection ends, and what still comes is thrown away, for a moment.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kb.errors import BadRequest
from kb.serve.exchange import headers_of
from kb.serve.faults import TooSlow, answer_to

MOST_CONNECTIONS = 512
"""Open at once, most of them idle; what comes then is hung up on."""
LAST_S = 2.0
"""For a client to read its last answer."""


class Connection(H11Protocol):
    slow_client_s = 20.0
    """How long a head may take; the server sets it."""
    head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = LastWords(transport, self)  # type: ignore[assignment]
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        self._time_head()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._time_head()
        else:
            self._stop_timing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timing()
        super().connection_lost(exc)

    def _time_head(self) -> None:
        if self.head_timer is None:
            self.head_timer = self.loop.call_later(self.slow_client_s, self._head_is_too_slow)

    def _stop_timing(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _head_is_too_slow(self) -> None:
        self._refuse(TooSlow(f"no whole head of a request in {self.slow_client_s:.0f} s", "send it faster"))

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's name; ours is another text
        self._refuse(
            BadRequest("this is no request of HTTP/1.1, or its head is too long", "see the specification, RFC 9112")
        )

    def _refuse(self, error: Exception) -> None:
        """Say it, where nothing else has been said, and hang up."""
        cycle: Any = self.cycle
        is_answering = cycle is not None and not cycle.response_complete
        if not (is_answering and cycle.response_started) and self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            answered = answer_to(error)
            headers = [*headers_of(answered), (b"connection", b"close")]
            for event in (
                h11.Response(status_code=answered.status, headers=headers),
                h11.Data(data=answered.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        if is_answering:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


class LastWords:
    """A transport that, when it is to close, ends its own side first where the client may still be sending."""

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection
        self._is_closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._is_closing or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing():
            return
        self._is_closing = True
        if self._connection.conn.their_state in {h11.SEND_BODY, h11.ERROR}:
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self._transport.close()
        self._connection.loop.call_later(LAST_S, self._transport.abort)
