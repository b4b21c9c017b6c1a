"""From a request to one of the operations: what it may send is read from the operation's own signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.errors import NoText
from kb.serve.arguments import (
    JSON,
    check_is_file,
    check_media_type,
    from_json,
    from_query,
    has_json_body,
    number,
    parameters,
)
from kb.serve.asked import Nothing
from kb.serve.exchange import Exchange
from kb.serve.faults import MethodNotAllowed, NoSuchPath
from kb.serve.operations import Served
from kb.serve.responses import response_to
from kb.serve.table import Operation
from kb.uploads import Receiving, Upload
from kb.wire import Answer

JSON_BYTES = 1_000_000
"""The largest body of JSON."""
THREADS = 8
"""Operations that read, at once; more wait. Two cores have no use of more, and each holds a connection to the store."""
WRITING_THREADS = 2
"""Those that change something wait for each other anyhow, and must not keep all threads from who reads."""
HELD_BYTES = 1 << 16
"""Of an upload, between two writes."""


class Threads(NamedTuple):
    reading: CapacityLimiter
    writing: CapacityLimiter


class Door:
    """All operations of one path."""

    def __init__(self, operations: Sequence[Operation], served: Served, threads: Threads) -> None:
        self.path = operations[0].path
        self.by_method = {operation.method: operation for operation in operations}
        self.served = served
        self.threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["kb.exchange"]
        exchange.operation = self.path
        operation = self.by_method.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if operation is None:
            allowed = sorted({*self.by_method, *(["HEAD"] if "GET" in self.by_method else [])})
            raise MethodNotAllowed(
                f"{scope['method'][:20]} is not for this path",
                f"it takes {', '.join(allowed)}",
                {"allow": ", ".join(allowed)},
            )
        request = Request(scope, receive)
        arguments = await self._arguments(operation, request, exchange)
        limiter = self.threads.writing if operation.changes else self.threads.reading
        answer = await to_thread.run_sync(partial(operation.work, self.served, **arguments), limiter=limiter)
        if isinstance(answer, Answer) and not answer.took_ms:
            answer = msgspec.structs.replace(answer, took_ms=round((monotonic() - exchange.started) * 1000, 3))
        response = await self._in_thread(partial(response_to, answer, operation.status))
        await response(scope, receive, send)

    async def _arguments(self, operation: Operation, request: Request, exchange: Exchange) -> dict[str, Any]:
        """Raises BadRequest, NotFound, Refusal."""
        takes = parameters(operation.work)
        arguments: dict[str, Any] = {}
        if "number" in takes:
            arguments["number"] = number(request.path_params["number"])
        asks_in_body = has_json_body(operation)
        if not asks_in_body and "file" not in takes:
            exchange.limit(0)
        query = from_query(request.scope["query_string"], Nothing if asks_in_body else takes.get("asked", Nothing))
        if "asked" in takes and not asks_in_body:
            arguments["asked"] = query
        if asks_in_body:
            arguments["asked"] = await self._json(request, exchange, takes["asked"])
        if "file" in takes:
            check_is_file(request.headers.get("content-type", ""))
            arguments["file"] = await self._file(request, exchange, query.name)
        return arguments

    async def _json(self, request: Request, exchange: Exchange, kind: type) -> Any:
        check_media_type(request.headers.get("content-type", ""), JSON)
        exchange.limit(JSON_BYTES)
        return from_json(await request.body(), kind)

    async def _file(self, request: Request, exchange: Exchange, name: str) -> Upload:
        """The body, put down below `uploads/` as it comes: a piece of it is in memory at a time."""
        exchange.limit(self.served.settings.serve.max_upload_bytes)
        with Receiving(self.served.data_dir, name) as receiving:
            held = bytearray()
            async for piece in request.stream():
                held += piece
                if len(held) >= HELD_BYTES:
                    await self._in_thread(partial(receiving.write, bytes(held)))
                    held.clear()
            await self._in_thread(partial(receiving.write, bytes(held)))
            if not receiving.size_bytes:
                raise NoText(f"{receiving.name} is empty", "send the file as the body of the request")
            upload: Upload = await self._in_thread(receiving.keep)
            return upload

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await to_thread.run_sync(work, limiter=self.threads.reading)


def routes(operations: Sequence[Operation], served: Served) -> ASGIApp:
    """The application: a door for each path, and NoSuchPath for any other."""
    threads = Threads(CapacityLimiter(THREADS), CapacityLimiter(WRITING_THREADS))
    by_path: dict[str, list[Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, []).append(operation)
    doors = [Route(path, Door(of_path, served, threads)) for path, of_path in by_path.items()]
    return Router(doors, redirect_slashes=False, default=_nowhere)


async def _nowhere(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise NoSuchPath("nothing is at this path", "GET /openapi.json says what there is")
