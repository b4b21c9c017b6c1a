"""`kb mcp`: its options. What it does: `kb.mcp`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kb.errors import BadRequest, Exit


def mcp(
    write: Annotated[
        bool, typer.Option("--write", help="Offer add_note too: without, the agent can only read.")
    ] = False,
) -> int:
    """Answer an agent's questions over the Model Context Protocol, on standard input and output (docs/mcp.md)."""
    if sys.stdin.isatty():
        raise BadRequest("kb mcp talks to programs, not to people", "docs/mcp.md says how an agent starts it")
    from kb.mcp.server import run

    run(can_write=write)
    return Exit.OK
