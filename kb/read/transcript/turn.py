"""What one participant says at once, and a conversation of such turns: what every form of transcript is read into.

A turn becomes a block whose text is what was said, without the speaker's name: the chunker puts that before it
(`kb.chunk.exchange`), where it is needed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from kb.types import Block, Lines

ROLES = {
    **dict.fromkeys(("user", "human", "me", "you", "question", "q", "prompt"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "agent", "answer", "response"), "assistant"),
    **dict.fromkeys(("claude", "chatgpt", "gpt", "gemini", "copilot", "codex"), "assistant"),
    "system": "system",
    **dict.fromkeys(("tool", "function"), "tool"),
}
"""What a name in lower case says of who it is; any other name is a person in no special role."""
MOST_NAME_CHARACTERS = 200
"""Of a speaker's name, which every chunk carries; a damaged file can have one of any length."""
MILLISECONDS = 1e11
"""Seconds since 1970 that are more than this (the year 5138) are milliseconds."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    lines: Lines
    role: str | None = None
    """`user`, `assistant`, `tool`, `task` (an assistant to another one) or `system`; None: not known."""
    speaker: str | None = None
    """The name, where one is given beside the role."""
    at: str | None = None
    """UTC, ISO 8601."""
    start: str | None = None
    """In a recording: hh:mm:ss.fff from its beginning."""
    end: str | None = None

    def block(self) -> Block:
        known = {name: getattr(self, name) for name in ("role", "at", "start", "end")}
        known["speaker"] = self.speaker and self.speaker[:MOST_NAME_CHARACTERS]
        metadata = {name: value for name, value in known.items() if value is not None}
        return Block(text=self.text, lines=self.lines, metadata=metadata)


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    turns: tuple[Turn, ...]
    form: str
    """`claude-code`, `codex`, `messages`, `webvtt`, `srt` or `speakers`."""
    titles: dict[str, str] = {}
    """The last title of each kind that the log itself states, by what states it."""
    facts: dict[str, str] = {}
    """`session` and `cwd`, where the log says them."""
    warnings: tuple[str, ...] = ()


def role_of(name: str) -> str | None:
    return ROLES.get(name.casefold())


def moment(stated: Any) -> str | None:
    """A moment as it is stored, UTC to the second; None for what is none. Numbers are seconds or milliseconds since 1970."""
    try:
        if isinstance(stated, int | float) and not isinstance(stated, bool):
            seconds = stated / 1000 if stated > MILLISECONDS else stated
            found = datetime.fromtimestamp(seconds, UTC)
        else:
            found = datetime.fromisoformat(str(stated))
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found.isoformat(timespec="seconds")
