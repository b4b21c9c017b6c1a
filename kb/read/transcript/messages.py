"""One line of a session log, decoded, to what was said in it: Claude Code, Codex CLI, and plain {role, content} messages.

The formats are nobody's standard and change; each was taken from public descriptions and logs of it (2025 and 2026). What is
not known is passed over, never refused. Left out on purpose: thinking, system and developer prompts, whatever the program
itself put into a person's message, and tool results beyond their beginning (`tools`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from kb.read.transcript import tools
from kb.read.transcript.turn import moment, role_of

Record = dict[str, Any]

CODEX_RECORDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
TEXTS = frozenset({"text", "input_text", "output_text"})
TIMES = ("timestamp", "created_at", "createdAt", "time", "date", "ts")
INSERTED = re.compile(
    r"<(system-reminder|local-command-std(?:out|err)|local-command-caveat|bash-std(?:out|err)|command-message"
    r"|user-prompt-submit-hook|task-notification|ide_opened_file|ide_selection"
    r"|environment_context|user_instructions|permissions instructions|turn_aborted)>.*?</\1>",
    re.DOTALL,
)
"""What the programs write into a person's messages."""
UNWRAPPED = re.compile(r"</?(?:command-name|command-args|bash-input)>")
"""Tags around what the person did type."""
CODEX_GUIDE = "# AGENTS.md instructions"
TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""Records of Claude Code that state a title, and the field that holds it; what a person chose comes last and wins."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    form: str
    role: str | None
    text: str
    at: str | None = None
    speaker: str | None = None


def said(record: Record) -> Said | None:
    """What a record says, its text empty where all of it is left out; None where it is no turn of a conversation."""
    kind, message = _kind(record), record.get("message")
    if kind in CODEX_RECORDS and isinstance(record.get("payload"), dict):
        return _codex(record["payload"], record.get("timestamp")) if kind == "response_item" else None
    if kind in CALLS or kind == "message" or kind.endswith("_call_output"):  # Codex before it wrapped them
        return _codex(record, record.get("timestamp"))
    if kind in {"user", "assistant"} and isinstance(message, dict) and "content" in message:
        return _claude_code(record)
    return _message(record)


def facts(record: Record) -> Iterator[tuple[str, str]]:
    """Session and working directory, as far as a record tells them."""
    if _kind(record) == "session_meta" and isinstance(record.get("payload"), dict):
        record = {**record["payload"], "sessionId": record["payload"].get("id")}
    for name, value in (("session", record.get("sessionId")), ("cwd", record.get("cwd"))):
        if isinstance(value, str) and value:
            yield name, value


def title(record: Record) -> tuple[str, str] | None:
    """A title that the record states, after what states it."""
    kind = _kind(record)
    text = record.get(TITLES[kind]) if kind in TITLES else None
    return (kind, text) if isinstance(text, str) and text.strip() else None


def _kind(record: Record) -> str:
    kind = record.get("type")
    return kind if isinstance(kind, str) else ""


def _claude_code(record: Record) -> Said:
    content = record["message"].get("content")
    role = "tool" if _holds_result(content) else record["type"]
    if record.get("isMeta"):
        content = ""
    if record.get("isCompactSummary"):
        role = "system"
    apart = bool(record.get("isSidechain"))
    if apart and role == "user":
        role = "task"
    speaker = "subagent" if apart and role == "assistant" else None
    text = _cleaned(_text(content)) if role == "user" else _text(content)
    return Said(form="claude-code", role=role, text=text, at=moment(record.get("timestamp")), speaker=speaker)


def _codex(item: Record, time: Any) -> Said | None:
    kind, at = _kind(item), moment(time)
    if kind == "message" and item.get("role") in ("user", "assistant"):
        text = _text(item.get("content"))
        if item["role"] == "user":
            text = "" if text.startswith(CODEX_GUIDE) else _cleaned(text)
        return Said(form="codex", role=item["role"], text=text, at=at)
    if kind in CALLS or kind.endswith("_call_output"):
        role = "assistant" if kind in CALLS else "tool"
        return Said(form="codex", role=role, text=_item_text(item), at=at)
    return None


def _message(record: Record) -> Said | None:
    role, speaker = _who(record)
    content = record.get("content", record.get("text", record.get("value")))
    calls = record.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    if not (role or speaker) or not (isinstance(content, str | list) or calls):
        return None
    text = "\n".join(filter(None, (_text(content), *map(_chat_call, calls))))
    text = {"system": "", "tool": tools.result(text)}.get(role or "", text)
    at = next((moment(record[name]) for name in TIMES if record.get(name)), None)
    return Said(form="messages", role=role, text=text, at=at, speaker=speaker)


def _who(record: Record) -> tuple[str | None, str | None]:
    """Role and name. A role that nobody knows is none: rows of data have such fields too."""
    role, name = record.get("role", record.get("from")), record.get("speaker", record.get("name"))
    if isinstance(role, str):
        return role_of(role), name if isinstance(name, str) and role_of(role) else None
    speaker = record.get("speaker")
    return (role_of(speaker), speaker) if isinstance(speaker, str) and speaker else (None, None)


def _text(content: Any) -> str:
    """The text of a message's content: a string, or a list of typed parts."""
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    return "\n".join(text for part in parts if (text := _part_text(part)))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part.strip()
    if not isinstance(part, dict):
        return ""
    kind = _kind(part)
    if kind in TEXTS:
        return str(part.get("text") or "").strip()
    if kind in {"image", "input_image", "image_url", "document"}:
        return "[document]" if kind == "document" else "[image]"
    return _item_text(part)


def _item_text(item: Record) -> str:
    """A call or a result; nothing for thinking and whatever else there may be."""
    kind = _kind(item)
    if kind == "tool_use":
        return tools.call(str(item.get("name")), item.get("input"))
    if kind == "tool_result":
        return tools.result(_text(item.get("content")))
    if kind in CALLS:
        arguments = next((item[name] for name in ("arguments", "input", "action") if item.get(name)), None)
        return tools.call(str(item.get("name") or kind.removesuffix("_call")), arguments)
    if kind.endswith("_call_output"):
        return tools.result(_text(item.get("output")))
    return ""


def _chat_call(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    return tools.call(str(function.get("name")), function.get("arguments")) if isinstance(function, dict) else ""


def _holds_result(content: Any) -> bool:
    """Beside a result even plain text is the program's."""
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in content
    )


def _cleaned(text: str) -> str:
    cleaned = INSERTED.sub("", text).strip()
    return " ".join(UNWRAPPED.sub(" ", cleaned).split()) if UNWRAPPED.search(cleaned) else cleaned
