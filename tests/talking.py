"""`kb mcp` as a real process, talked to by the SDK's own client over a real pipe; its event loop runs in a thread, the tests do not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import jsonschema
from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters, stdio_client
from running import environment

ROOT = Path(__file__).parents[1]


class Agent:
    """A client and its server."""

    def __init__(self, portal: Any, session: ClientSession, started: Any) -> None:
        self._portal = portal
        self._session = session
        self.started = started
        self.tools = {tool.name: tool for tool in portal.call(session.list_tools).tools}

    def raw(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """The client itself checks what comes back against the tool's schema, and raises where it does not fit."""
        return self._portal.call(self._session.call_tool, tool, dict(arguments))

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structure of an answer that is none of an error."""
        result = self.raw(tool, arguments)
        assert not result.is_error, result.content[0].text
        check(result, self.tools[tool].output_schema)
        return result.structured_content

    def refused(self, tool: str, **arguments: Any) -> str:
        """The line of an answer that is one of an error."""
        result = self.raw(tool, arguments)
        assert result.is_error
        assert result.structured_content is None
        (content,) = result.content
        assert "\n" not in content.text
        return content.text


def check(result: Any, schema: dict[str, Any]) -> None:
    """That the answer is what the tool says it gives, and says the same as text."""
    jsonschema.Draft202012Validator(schema).validate(result.structured_content)
    assert json.loads(result.content[0].text) == result.structured_content


@contextmanager
def agent(data_dir: Path, *options: str, cwd: Path | None = None, **variables: object) -> Iterator[Agent]:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kb", "mcp", *options],
        env=environment(data_dir, **{"PYTHONPATH": "", **variables}),
        cwd=cwd or ROOT,
    )

    @asynccontextmanager
    async def connected():
        async with stdio_client(parameters) as (heard, told), ClientSession(heard, told) as session:
            yield session, await session.initialize()

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected()) as (session, started):
        yield Agent(portal, session, started)


def bare(data_dir: Path, said: bytes | BinaryIO, **variables: object) -> subprocess.CompletedProcess[bytes]:
    """What a server answers to these bytes, which come through a pipe, or from a file; then the client closes its end."""
    source: dict[str, Any] = {"input": said} if isinstance(said, bytes) else {"stdin": said}
    return subprocess.run(
        [sys.executable, "-m", "kb", "mcp"],
        env=environment(data_dir, **variables),
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
        **source,
    )


def request(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


OPENING = (
    request(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
    + b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
)
