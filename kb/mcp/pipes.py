"""The messages, a line each: from standard input to the SDK's server, and from it to standard output.

The SDK has a transport of its own. This one differs where a tool for every day must: what is being answered when the client closes its end
is answered still; a line that is no message is told so; it does not end in a trace when the client is gone; and the event loop reads and
writes itself, where the SDK's wakes a thread for each line, write and flush: 2 ms of a call that waits for cores.

While it serves, descriptor 0 is /dev/null and 1 is standard error: whatever a library prints or a child reads is no part of the protocol.
"""

from __future__ import annotations

import math
import os
import select
from asyncio import get_running_loop
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
    jsonrpc_message_adapter,
)

LONGEST_LINE_BYTES = 64_000_000
"""A client that sends more without the end of a line is broken."""
PIECE_BYTES = 1 << 16
LAST_ANSWERS_S = 60.0
"""For what is being answered when the client has closed its end; one that does not want to wait sends SIGTERM."""

Message = SessionMessage | Exception


class Client:
    """The other side. The SDK sends to it; what it says goes into `heard`. All of it happens in the event loop's thread."""

    def __init__(self, sink: int, heard: MemoryObjectSendStream[Message]) -> None:
        self._sink = sink
        self._heard = heard
        self._awaited: set[RequestId] = set()
        """Requests that have no answer yet."""
        self._has_closed = False

    def says(self, line: bytes) -> None:
        """One line; what is no message is answered here."""
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            with suppress(anyio.BrokenResourceError):
                self._write(_refusal(line))
            return
        if isinstance(message, JSONRPCRequest):
            self._awaited.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # it gets no answer
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # too late
            self._heard.send_nowait(SessionMessage(message))

    def closes(self) -> None:
        """It says no more. What it awaits it is told still."""
        self._has_closed = True
        if self._awaited:
            get_running_loop().call_later(LAST_ANSWERS_S, self._heard.close)
        else:
            self._heard.close()

    async def send(self, item: SessionMessage) -> None:
        """Raises BrokenResourceError, which the SDK expects, where nobody listens any more."""
        self._write(item.message)
        self._settle(getattr(item.message, "id", None))

    def _settle(self, request: Any) -> None:
        with suppress(TypeError):  # what cannot be an id
            self._awaited.discard(request)
        if self._has_closed and not self._awaited:
            self._heard.close()

    def _write(self, message: JSONRPCMessage) -> None:
        """A client that does not read holds up its own answers only: there is no other."""
        rest = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            while rest:
                try:
                    rest = rest[os.write(self._sink, rest) :]
                except BlockingIOError:  # the client left its end so
                    select.select([], [self._sink], [])
        except OSError as error:  # nobody reads: there is nothing left to do
            self._heard.close()
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class Lines:
    """What comes from the client, a line at a time."""

    def __init__(self, source: int, client: Client) -> None:
        self._source = source
        self._client = client
        self._rest = bytearray()

    def read(self) -> bool:
        """What is there; whether there may be more."""
        try:
            piece = os.read(self._source, PIECE_BYTES)
        except BlockingIOError:
            return True
        except OSError:  # the client is gone
            piece = b""
        self._rest += piece
        if b"\n" in piece:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._client.says(bytes(line))
        if piece and len(self._rest) < LONGEST_LINE_BYTES:
            return True
        self._end(whole=not piece)
        return False

    def read_all(self) -> None:
        while self.read():
            pass

    def _end(self, *, whole: bool) -> None:
        get_running_loop().remove_reader(self._source)
        if whole:
            self._client.says(bytes(self._rest))
        self._client.closes()


@contextmanager
def pipes() -> Iterator[tuple[MemoryObjectReceiveStream[Message], Client]]:
    """What the client says, and the client, for as long as the context lasts; inside a running event loop."""
    put, heard = anyio.create_memory_object_stream[Message](math.inf)
    with _claimed(0, os.open(os.devnull, os.O_RDONLY)) as source, _claimed(1, _error()) as sink:
        client = Client(sink, put)
        lines = Lines(source, client)
        try:
            get_running_loop().add_reader(source, lines.read)
        except PermissionError:  # a regular file, which is always ready
            get_running_loop().call_soon(lines.read_all)
        yield heard, client
        get_running_loop().remove_reader(source)


@contextmanager
def _claimed(descriptor: int, instead: int) -> Iterator[int]:
    """A copy of the descriptor that nobody else has; `instead` has its place meanwhile."""
    private = os.dup(descriptor)
    os.dup2(instead, descriptor)
    os.close(instead)
    try:
        yield private
    finally:
        os.dup2(private, descriptor)
        os.close(private)


def _error() -> int:
    """Another descriptor of standard error, if there is one."""
    try:
        return os.dup(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _refusal(line: bytes) -> JSONRPCError:
    """What JSON-RPC answers to a line that is no message, under the id that it has, if any."""
    try:
        said = msgspec.json.decode(line)
    except ValueError:
        return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="the line is not JSON"))
    name = said.get("id") if isinstance(said, dict) else None
    known = name if isinstance(name, str | int) and not isinstance(name, bool) else None
    error = ErrorData(code=INVALID_REQUEST, message="the line is no JSON-RPC message")
    return JSONRPCError(jsonrpc="2.0", id=known, error=error)
