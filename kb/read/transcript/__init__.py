"""Reads transcripts: logs of conversations with programs, subtitles, and texts in which each turn begins with a name.

A block is a turn; who speaks and when is its metadata. Which form a file has is found out from its content, so that
`--type transcript` needs no more said. Of a log that has grown only what is new is read, from `Source.resume` on.
"""

from __future__ import annotations

from pathlib import Path

from kb.errors import NoText, UnreadableFile
from kb.read.decode import read_text
from kb.read.note import title_of
from kb.read.transcript import cues, sessions, speakers
from kb.read.transcript.turn import Conversation
from kb.types import Document, ReadOptions, Source

LOGS = frozenset({".jsonl", ".ndjson"})
TEXTS = frozenset({".txt", ".text"})
LINES_LOOKED_AT = 50
"""To tell a log from data: more than a session begins with before anybody says something (snapshots, settings)."""
LINE_BYTES = 1024 * 1024
"""Of each of these, at most: a line can hold a whole system prompt, or a picture."""
HEAD_BYTES = 16 * 1024
"""Looked at to tell a conversation from other text."""


def is_likely(path: Path) -> bool:
    """Whether a file whose name says data or text is a transcript. Raises OSError."""
    suffix = path.suffix.lower()
    if suffix not in LOGS | TEXTS:
        return False
    with path.open("rb") as file:
        if suffix in LOGS:
            return sessions.is_likely(
                [file.readline(LINE_BYTES).decode(errors="replace") for _ in range(LINES_LOOKED_AT)]
            )
        return speakers.is_likely(file.read(HEAD_BYTES).decode(errors="replace").replace("\r\n", "\n"))


def read(source: Source, options: ReadOptions) -> Document:  # noqa: ARG001  the interface of every reader
    """Raises UnreadableFile where the content is of no known form, NoText where nobody says anything."""
    resume = source.resume
    decoded = read_text(source.path, resume.byte if resume else 0)
    conversation = _conversation(source.path, decoded.text, resume.line if resume else 1)
    if not conversation.turns:
        raise NoText(f"{source.path}: a transcript in which nothing is said", "there is nothing to index")
    warnings = (*((decoded.warning,) if decoded.warning else ()), *conversation.warnings)
    titled_by, title = _title(conversation)
    return Document(
        blocks=tuple(turn.block() for turn in conversation.turns),
        extractor=conversation.form,
        title=title,
        metadata=_metadata(conversation, titled_by),
        warnings=warnings,
    )


def _conversation(path: str, text: str, first_line: int) -> Conversation:
    head = text[:HEAD_BYTES].lstrip()
    if cues.is_webvtt(head) or cues.is_srt(head):
        return cues.read(text, first_line)
    if head.startswith("{") or sessions.is_likely(head.split("\n")[:LINES_LOOKED_AT]):
        return sessions.read(text, first_line)
    conversation = speakers.read(text, first_line)
    if not any(turn.speaker for turn in conversation.turns):
        raise UnreadableFile(
            f"{path}: no conversation in it",
            "known are JSON lines, WebVTT, SRT and lines that begin with 'Name:'; --type text reads it as text",
        )
    return conversation


def _title(conversation: Conversation) -> tuple[str | None, str | None]:
    """What states the title, if the log does, and the title; else the first words of a user."""
    for kind in ("custom-title", "ai-title", "summary"):
        if kind in conversation.titles:
            return kind, title_of(conversation.titles[kind])
    asked = next((turn.text for turn in conversation.turns if turn.role == "user"), None)
    return None, title_of(asked) if asked else None


def _metadata(conversation: Conversation, titled_by: str | None) -> dict[str, object]:
    times = sorted(turn.at for turn in conversation.turns if turn.at)
    ends = [turn.end for turn in conversation.turns if turn.end]
    known = {
        **conversation.facts,
        "started": times[0] if times else None,
        "ended": times[-1] if times else None,
        "length": ends[-1] if ends else None,
        "titled_by": titled_by,
    }
    stated = {name: value for name, value in known.items() if value is not None}
    return {**stated, "turns": len(conversation.turns)}
