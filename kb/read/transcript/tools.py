"""What a program did between two sentences, in a line each: a call as `[tool: Bash ls -la]`, the beginning of its result.

Whole results are left out: in session logs they are most of the bytes, and they repeat files that have a place of their own.
"""

from __future__ import annotations

import json
from typing import Any

CALL_CHARACTERS = 160
RESULT_CHARACTERS = 200
TELLING = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt", "description", "input")
"""Arguments that say most of what a call is about, the most telling first."""


def call(name: str, arguments: Any) -> str:
    """The marker of a call. `arguments`: a mapping, the same as JSON text, or a plain text."""
    said = shortened(_telling(_decoded(arguments)), CALL_CHARACTERS)
    return f"[tool: {name} {said}]" if said else f"[tool: {name}]"


def result(content: str) -> str:
    """The beginning of what a tool gave back, in one line. Codex wraps it as `{"output": ..., "metadata": ...}`."""
    wrapped = _decoded(content)
    inner = wrapped.get("output") if isinstance(wrapped, dict) else None
    return shortened(inner if isinstance(inner, str) else content, RESULT_CHARACTERS)


def shortened(text: str, characters: int) -> str:
    """One line, cut between two words where it is longer: half a word could be half a password, which nothing would recognise."""
    looked_at = text[: characters * 8]  # indentation must not use up what is looked at
    line = " ".join(looked_at.split())
    if len(line) <= characters and len(looked_at) == len(text):
        return line
    return f"{line[: characters + 1].rpartition(' ')[0]} …".lstrip()


def _decoded(arguments: Any) -> Any:
    if not isinstance(arguments, str) or not arguments.lstrip().startswith(("{", "[")):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _telling(arguments: Any) -> str:
    if isinstance(arguments, dict):
        named = [arguments[name] for name in TELLING if arguments.get(name)]
        arguments = next((value for value in (*named, *arguments.values()) if value), "")
    if isinstance(arguments, list):
        return " ".join(str(part) for part in arguments if isinstance(part, str | int | float))
    return arguments if isinstance(arguments, str) else ""
