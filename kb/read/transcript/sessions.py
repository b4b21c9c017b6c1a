"""JSON lines to a conversation: one message a line, of whatever program (`messages`).

A line that is not JSON is passed over with a warning; the last one, where it does not end, is still being written and is left
for the next time without a word.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import msgspec

from kb.read.transcript import messages
from kb.read.transcript.messages import Record
from kb.read.transcript.turn import Conversation, Turn
from kb.types import Lines


def is_likely(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file are messages, and what stands between messages.

    Of {role, content} every line must be one, since rows of data have such fields too. The other logs hold records of many
    types, which have that in common. A last line that is cut does not count.
    """
    records = [_decoded(line) for line in lines if line.strip()]
    if records and records[-1] is None:
        del records[-1]
    objects = [record for record in records if record is not None]
    found = [messages.said(record) for record in objects]
    forms = {one.form for one in found if one is not None}
    if not forms or 2 * len(objects) <= len(records):
        return False
    typed = sum(isinstance(record.get("type"), str) for record in objects)
    return None not in found if forms == {"messages"} else 2 * typed > len(objects)


def read(text: str, first_line: int) -> Conversation:
    """`text` begins with line `first_line` of the file."""
    lines = text.split("\n")
    turns: list[Turn] = []
    forms: Counter[str] = Counter()
    titles: dict[str, str] = {}
    facts: dict[str, str] = {}
    broken: list[int] = []
    for number, line in enumerate(lines, start=first_line):
        if not line.strip():
            continue
        record = _decoded(line)
        if record is None:
            broken += [number] if number - first_line < len(lines) - 1 else []
            continue
        titles |= dict(filter(None, [messages.title(record)]))
        facts = {**dict(messages.facts(record)), **facts}
        said = messages.said(record)
        if said is not None and said.text:
            forms[said.form] += 1
            at = Lines(number, number)
            turns.append(Turn(text=said.text, lines=at, role=said.role, speaker=said.speaker, at=said.at))
    form = forms.most_common(1)[0][0] if forms else "messages"
    return Conversation(turns=tuple(turns), form=form, titles=titles, facts=facts, warnings=_said_of(broken))


def _decoded(line: str) -> Record | None:
    """The JSON object of a line; None where there is none."""
    try:
        record = msgspec.json.decode(line)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        try:
            record = json.loads(line)  # takes lone surrogates and NaN, which some programs write
        except (ValueError, RecursionError):
            return None
    return record if isinstance(record, dict) else None


def _said_of(broken: list[int]) -> tuple[str, ...]:
    if not broken:
        return ()
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    return (f"not a JSON object (line {broken[0]}{more}): left out",)
