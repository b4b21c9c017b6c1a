"""docs/mcp.md: how an agent is given `kb mcp`, and the tools as a model is told of them. Written by scripts/docs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kb.mcp import schemas
from kb.mcp.arguments import LARGEST_NUMBER
from kb.mcp.tools import INSTRUCTIONS, TOOLS, Tool

REGISTERING = """\
`kb mcp` is a server of the [Model Context Protocol](https://modelcontextprotocol.io): an agent starts it, asks over its standard input and
reads from its standard output. It ends when the agent closes its end. Nothing listens on a port, and nothing is sent anywhere.

## Registering it

Claude Code:

```sh
claude mcp add kb -- kb mcp                              # for this project; --scope user for all
claude mcp add kb -- kb mcp --store ~/notes/.kb --write  # a certain store, and notes may be added
```

Claude Desktop (`claude_desktop_config.json`), and most others that take a file of `mcpServers`, such as Cursor:

```json
{"mcpServers": {"kb": {"command": "/home/you/.venv/bin/kb", "args": ["mcp"], "env": {"KB_DATA_DIR": "/home/you/.kb"}}}}
```

VS Code has the same under `servers` in `.vscode/mcp.json`, Codex CLI as a table in `~/.codex/config.toml`:

```toml
[mcp_servers.kb]
command = "kb"
args = ["mcp"]
```

Programs with windows often have another PATH than a terminal: give them the whole path (`command -v kb`). The store is found as everywhere:
`--store`, `KB_DATA_DIR`, the nearest `.kb` from the folder in which the agent starts it, `~/.kb`. Every setting and KB_* variable holds;
`config.yaml` is read again at each call. A store that is not there yet is an answer that says so, until something is added.

## What it may do

It only reads, unless it was started with `--write`: then there is `add_note` too. No tool removes anything, reads a file that is not in
the store, or adds one.

## Answers

Each comes twice, as text and as `structuredContent` (the same JSON, which follows the tool's output schema); fields that would be empty are left out. They
are small at first: five snippets, 8,000 characters of a text. `detail: "full"`, `top`, `offset` (with `next_offset` of the answer before)
and `get` give more. What cannot be done is a result with `isError` and one line that says what to do; a parameter that does not exist or is
of the wrong type is such an error, never passed over. `view` gives a PNG beside its text.

Several calls may be made at once. Logs go to standard error."""

BOUNDS = {"minimum": "from", "maximum": "to"}
TOLD_OF = frozenset({"Passage", "Asked", "Listed", "Failed", "Folder", "TagSummary"})
"""Types whose fields stand below the list that holds them; of the others docs/schema.json tells."""


def page(generated: str) -> str:
    tools = [line for tool in TOOLS for line in _tool(tool)]
    told = [f"> {line}".rstrip() for line in INSTRUCTIONS.splitlines()]
    head = [
        "# MCP: `kb mcp`",
        "",
        generated,
        "",
        REGISTERING,
        "",
        "## What a model is told at the start",
        "",
        *told,
        "",
    ]
    return "\n".join([*head, *tools]).rstrip() + "\n"


def _tool(tool: Tool) -> Iterator[str]:
    yield from (f"## `{tool.name}`" + (" (with `--write`)" if tool.writes else ""), "", tool.description, "")
    taken = schemas.of_arguments(tool.takes)
    yield from ("| parameter | type | default | |", "| --- | --- | --- | --- |")
    for name, about in taken["properties"].items():
        default = (
            "required"
            if name in taken["required"]
            else f"`{json.dumps(about['default'])}`"
            if "default" in about
            else ""
        )
        yield f"| `{name}` | {_type(about)} | {default} | {about['description']} |"
    given = schemas.of_answer(tool.gives)
    yield from ("", "Answer:", "", "| field | type | |", "| --- | --- | --- |")
    yield from _fields("", given)
    yield ""


def _fields(prefix: str, about: dict[str, Any]) -> Iterator[str]:
    """One row a field; those of what is inside a list of our own below it."""
    for name, field in about["properties"].items():
        yield f"| `{prefix}{name}` | {_type(field)} | {_said(field)} |"
        inner = field.get("items", {})
        if inner.get("title") in TOLD_OF:
            yield from _fields(f"{prefix}{name}[].", inner)


def _said(about: dict[str, Any]) -> str:
    found = about.get("description") or next(
        (one["description"] for one in about.get("anyOf", ()) if "description" in one), ""
    )
    return " ".join(str(found).split())


def _type(about: dict[str, Any]) -> str:
    if "anyOf" in about:
        return " or ".join(_type(one) for one in about["anyOf"] if one != schemas.NULL)
    if "title" in about:
        return "object" if about["title"] in TOLD_OF else f"[{about['title']}](schema.json)"
    if "enum" in about:
        return ", ".join(f"`{one}`" for one in about["enum"])
    if about["type"] == "array":
        count = f"{about['minItems']} " if about.get("minItems", 0) > 1 else ""
        return f"list of {count}{_type(about['items'])}"
    bounds = [
        f"{word} {about[key]:,}" for key, word in BOUNDS.items() if about.get(key, LARGEST_NUMBER) < LARGEST_NUMBER
    ]
    return " ".join([about["type"], *bounds])
