"""WebVTT and SRT to turns: a cue is a turn, or several where it holds several voices.

Read here and not by webvtt-py or srt: those say nothing of line numbers, which citing and going on need, and refuse a whole
file for one bad cue. Positions, styles, notes and regions are left out; so is what rolling captions say a second time.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from kb.read.transcript import names
from kb.read.transcript.turn import Conversation, Turn, role_of
from kb.types import Lines

CLOCK = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
TIMING = re.compile(rf"^\s*({CLOCK})\s*-->\s*({CLOCK})(?:\s|$)")
VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
TAG = re.compile(r"</?(?:c|i|b|u|s|v|lang|ruby|rt|font)(?:[.\s][^>]*)?>|<\d[\d:.]*>|\{\\[^}]*\}", re.IGNORECASE)
OUTSIDE = re.compile(r"^(?:\ufeff?WEBVTT|NOTE|STYLE|REGION|X-TIMESTAMP-MAP)\b")


def is_webvtt(head: str) -> bool:
    return head.lstrip("\ufeff").startswith("WEBVTT")


def is_srt(head: str) -> bool:
    """Whether one of the first lines is a cue's time."""
    return any(TIMING.match(line) for line in head.lstrip().split("\n")[:3])


def read(text: str, first_line: int) -> Conversation:
    lines = text.split("\n")
    timed = [number for number, line in enumerate(lines) if TIMING.match(line)]
    is_vtt = is_webvtt(text) or not any("," in lines[number].partition("-->")[0] for number in timed)
    ends = [*(_head(lines, number) for number in timed[1:]), len(lines)][: len(timed)]
    turns: list[Turn] = []
    shown, ended = "", ""  # of the cue before: its last line, and when it goes
    for number, end in zip(timed, ends, strict=True):
        start, until = _times(lines[number])
        body = _body(lines, number + 1, end, to_blank=is_vtt)
        said = [lines[place] for place in body]
        placed = Lines(first_line + number, first_line + max(number, body.stop - 1))
        turns += _turns(_new(said, shown) if start == ended else said, placed, start, until)
        shown, ended = _plain(said[-1]) if said else shown, until
    return Conversation(turns=tuple(turns), form="webvtt" if is_vtt else "srt", warnings=_untimed(lines, first_line))


def _head(lines: Sequence[str], timed: int) -> int:
    """Where a cue begins: at the identifier or number above its time, if it has one."""
    above = lines[timed - 1].strip() if timed else ""
    alone = timed < 2 or not lines[timed - 2].strip()  # noqa: PLR2004  the line above the identifier
    return timed - 1 if above and (above.isdigit() or alone) else timed


def _body(lines: Sequence[str], first: int, end: int, *, to_blank: bool) -> range:
    """The lines of a cue's text. An empty one ends it in WebVTT; SRT files have some in the midst of a text."""
    if to_blank:
        end = next((number for number in range(first, end) if not lines[number]), end)
    while end > first and not lines[end - 1].strip():
        end -= 1
    return range(first, end)


def _turns(said: list[str], placed: Lines, start: str, end: str) -> Iterator[Turn]:
    for speaker, text in _voices("\n".join(said)):
        role = role_of(speaker) if speaker else None
        yield Turn(text=text, lines=placed, role=role, speaker=speaker, start=start, end=end)


def _new(said: list[str], shown: str) -> list[str]:
    """Without the lines that rolling captions carry over from the cue before, which goes when this one comes."""
    while said and _plain(said[0]) in {"", shown}:
        said = said[1:]
    return said


def _voices(text: str) -> Iterator[tuple[str | None, str]]:
    """Who says what: by voice tags, else by a name and a colon before it."""
    first, *voiced = VOICE.split(text)
    for name, said in (("", first), *zip(voiced[::2], voiced[1::2], strict=True)):
        plain = "\n".join(line for line in map(_plain, said.split("\n")) if line)
        speaker = _plain(name) or None
        if speaker is None and (label := names.label(plain)):
            speaker, plain = label.name, label.text
        if plain:
            yield speaker, plain


def _plain(text: str) -> str:
    return " ".join(html.unescape(TAG.sub("", text)).split())


def _times(line: str) -> tuple[str, str]:
    start, _, rest = line.partition("-->")
    return _clock(start.strip()), _clock(rest.split()[0])


def _clock(text: str) -> str:
    """hh:mm:ss.fff"""
    whole, _, fraction = text.replace(",", ".").partition(".")
    hours, minutes, seconds = ["0", *whole.split(":")][-3:]
    return f"{int(hours):02}:{minutes:0>2}:{seconds}.{fraction:0<3}"


def _untimed(lines: Sequence[str], first_line: int) -> tuple[str, ...]:
    """A warning for cues whose time cannot be read."""
    bad = [
        first_line + number
        for number, line in enumerate(lines)
        if "-->" in line and not TIMING.match(line) and not OUTSIDE.match(line)
    ]
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return (f"a time that cannot be read (line {bad[0]}{more}): the cue is left out",) if bad else ()
