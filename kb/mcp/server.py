"""`kb mcp`: the tools, offered through the SDK's server. A call is checked, done in a thread, and answered as text and as structure.

Results are given to the SDK as plain values, made by msgspec from the types in `kb.mcp.answers`: its own models would be built, checked and
taken apart again. Not here: what a tool does (`kb.mcp.tools`), how messages come and go (`kb.mcp.pipes`).
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sqlite3
import sys
import traceback
from base64 import b64encode
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    ListToolsResult,
    PaginatedRequestParams,
    ToolAnnotations,
)
from mcp.types import Tool as OfferedTool

from index.errors import StoreError
from kb import __version__
from kb.caller import caller
from kb.errors import KbError
from kb.hints import said_at
from kb.knowledgebase import KnowledgeBase
from kb.mcp import schemas
from kb.mcp.arguments import checked
from kb.mcp.pipes import pipes
from kb.mcp.tools import INSTRUCTIONS, TOOLS, Tool
from kb.preferences import load
from models.errors import ModelError

COMPLETE = {"resultType": "complete"}
"""What the protocol of 2026-07-28 wants in every result; older ones are sent without it, by the SDK."""
THREADS = 8
"""Calls answered at once; more wait for a thread."""
COLLECT_AFTER = 20_000
"""As in `kb.daemon.server`: the SDK's models are many objects, and a collection that looks at all of them takes longer than a search."""


def run(*, can_write: bool) -> None:
    """Serve the store of the caller until standard input ends, or on SIGTERM."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="kb mcp: %(levelname)s %(message)s")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # what was committed stays; nothing else is held
    with KnowledgeBase.open() as kb:
        anyio.run(partial(_serve, kb, can_write=can_write))


async def _serve(kb: KnowledgeBase, *, can_write: bool) -> None:
    server = server_of(kb, can_write=can_write)
    with pipes() as (heard, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(anyio.to_thread.run_sync, warm_up, kb, abandon_on_cancel=True))
            await server.run(heard, client, server.create_initialization_options())
            tasks.cancel_scope.cancel()


def server_of(kb: KnowledgeBase, *, can_write: bool) -> Server[Any]:
    offered = {tool.name: tool for tool in TOOLS if can_write or not tool.writes}
    threads = anyio.CapacityLimiter(THREADS)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_offer(tool) for tool in offered.values()])

    async def call_tool(_context: ServerRequestContext[Any], params: CallToolRequestParams) -> dict[str, Any]:
        tool = offered.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, _unknown(params.name, offered))
        work = partial(answer, kb, tool, params.arguments or {}, can_write=can_write)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=threads)

    server: Server[Any] = Server(
        "kb", version=__version__, title="The user's documents", instructions=INSTRUCTIONS, on_list_tools=list_tools
    )
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    server.middleware.clear()  # telemetry, which nobody here collects
    return server


def answer(kb: KnowledgeBase, tool: Tool, arguments: Mapping[str, Any], *, can_write: bool) -> dict[str, Any]:
    """The result of a call, as the protocol has it; what goes wrong is one too, since the model is to read it."""
    try:
        result = tool.run(kb, checked(tool.takes, arguments), can_write)
    except (KbError, StoreError, ModelError) as error:
        return _refused(error.message + (f" ({said_at('mcp', error.hint)})" if error.hint else ""))
    except (OSError, sqlite3.OperationalError) as error:
        return _refused(f"{error} (the disk or a file of the store fails: tell the user)")
    except Exception as error:  # noqa: BLE001  a fault of ours ends the call, not the server
        traceback.print_exception(error)
        return _refused(f"{type(error).__name__}: {error} (a fault of kb: tell the user; its log has more)")
    content: list[dict[str, Any]] = [{"type": "text", "text": msgspec.json.encode(result.answer).decode()}]
    if result.png:
        content.append({"type": "image", "mimeType": "image/png", "data": b64encode(result.png).decode()})
    return {**COMPLETE, "content": content, "structuredContent": msgspec.to_builtins(result.answer)}


def warm_up(kb: KnowledgeBase) -> None:
    """Ask once what nobody waits for, so that the first question finds everything loaded."""
    try:
        is_local = load(kb.data_dir, caller().environ).settings.embedding.provider == "onnx"
        kb.search("warm up", top=1, mode="hybrid" if is_local else "keyword")  # a service is sent what somebody asks
    except (KbError, StoreError, ModelError, OSError, sqlite3.OperationalError):
        return  # the first question says so
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def _offer(tool: Tool) -> OfferedTool:
    return OfferedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schemas.of_arguments(tool.takes),
        output_schema=schemas.of_answer(tool.gives),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=False,
            idempotent_hint=True,  # the same note twice is one note
            open_world_hint=False,
        ),
    )


def _unknown(name: str, offered: Mapping[str, Tool]) -> str:
    if any(tool.name == name for tool in TOOLS):
        return f"{name} is not offered: this server only reads (it was started without --write)"
    return f"there is no tool {name!r}: tools are {', '.join(offered)}"


def _refused(line: str) -> dict[str, Any]:
    return {**COMPLETE, "content": [{"type": "text", "text": " ".join(line.split())}], "isError": True}
