"""Turns of a conversation to chunks: what somebody asks and the answers to it are one chunk, where it fits.

An exchange begins where a user speaks; where nobody has that role, as many turns as fit are taken for one. A tiny one joins the
next, as small sections do. A turn is cut only where it does not fit by itself. Each chunk says who speaks, and what does not hold
the question has its beginning as context.

Where an exchange begins depends on nothing that comes after it. So a conversation that has grown can be cut from its last
exchange on, and the chunks are those of cutting all of it (`kb.transcripts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from kb.chunk.context import MOST_CHARACTERS_A_TOKEN
from kb.chunk.units import Unit, units_of
from kb.types import Block, Chunk, Lines

if TYPE_CHECKING:
    from kb.chunk import TokenCounter

OPENING = frozenset({"user", "task"})
CONTEXT_SHARE = 4
"""Of what the model sees, the question takes a quarter at most: the answer is what is cited. So does the speaker's name, which a
damaged file may have of any length.
"""


class Sizes(msgspec.Struct, frozen=True):
    """In tokens."""

    most: int
    tiny: int
    sees: int
    """What the model sees of a text and its context."""


class Spoken(msgspec.Struct, frozen=True):
    """A turn, and what is to be known of it before it is cut."""

    turn: Block
    label: str
    """`user:`; empty where nobody knows who speaks."""
    label_tokens: int
    text_tokens: int

    @property
    def tokens(self) -> int:
        return self.label_tokens + self.text_tokens

    @property
    def opens(self) -> bool:
        return self.turn.metadata.get("role") in OPENING


class Part(msgspec.Struct, frozen=True):
    """A turn, or a piece of one."""

    of: Spoken
    unit: Unit
    begins: bool
    """The turn begins here."""


def chunks_of(turns: Sequence[Block], sizes: Sizes, counter: TokenCounter) -> list[Chunk]:
    """The turns of a document in chunks, in order."""
    return [
        chunk
        for exchange in _exchanges(_spoken(turns, sizes, counter), sizes)
        for chunk in _cut(exchange, sizes, counter)
    ]


def _spoken(turns: Sequence[Block], sizes: Sizes, counter: TokenCounter) -> Iterator[Spoken]:
    most = max(1, min(sizes.most, sizes.sees) // CONTEXT_SHARE)
    labels: dict[str, tuple[str, int]] = {"": ("", 0)}
    for turn in turns:
        name = turn.metadata.get("speaker") or turn.metadata.get("role") or ""
        if name not in labels:
            label = f"{_beginning(name, most, counter)}:"
            labels[name] = label, counter.count(label)
        yield Spoken(turn, *labels[name], counter.count(turn.text))


def _exchanges(spoken: Iterable[Spoken], sizes: Sizes) -> Iterator[list[Spoken]]:
    pending: list[Spoken] = []
    for run in _runs(spoken, sizes.most):
        if pending and _tokens(pending) + _tokens(run) > sizes.most:
            yield pending
            pending = []
        pending += run
        if _tokens(pending) >= sizes.tiny:
            yield pending
            pending = []
    if pending:
        yield pending


def _runs(spoken: Iterable[Spoken], most: int) -> Iterator[list[Spoken]]:
    """Turns from one that opens an exchange to the next; where none does, as many as fit.

    A second message of the same person goes on with the first.
    """
    run: list[Spoken] = []
    tokens = 0
    for one in spoken:
        is_next = bool(run) and one.opens and one.label != run[-1].label
        is_full = bool(run) and not run[0].opens and tokens + one.tokens > most
        if is_next or is_full:
            yield run
            run, tokens = [], 0
        run.append(one)
        tokens += one.tokens
    if run:
        yield run


def _tokens(spoken: Iterable[Spoken]) -> int:
    return sum(one.tokens for one in spoken)


def _cut(exchange: Sequence[Spoken], sizes: Sizes, counter: TokenCounter) -> Iterator[Chunk]:
    """The chunks of one exchange. The first says so in its metadata (`opens`)."""
    context = _question(exchange[0], sizes.sees // CONTEXT_SHARE, counter)
    room = max(1, min(sizes.most, sizes.sees))
    rest = max(1, min(sizes.most, sizes.sees - (counter.count(context) if context else 0)))
    packing = _Packing()
    for one in exchange:
        for part in _parts(one, rest if packing.parts else room, rest, counter):
            if not packing.takes(part, room):
                yield packing.chunk(counter, context)
                packing, room = _Packing(packing.parts[-1].of), rest
            packing.add(part)
    yield packing.chunk(counter, context)


def _parts(one: Spoken, room: int, rest: int, counter: TokenCounter) -> Iterator[Part]:
    """The turn as a whole where it fits in `room`, else in pieces for chunks of `rest` tokens."""
    if one.tokens <= room:
        yield Part(
            one, Unit(text=one.turn.text, tokens=one.text_tokens, joint="\n\n", lines=one.turn.lines), begins=True
        )
        return
    units = units_of([one.turn], max(1, rest - one.label_tokens), counter, titled=False)
    for number, unit in enumerate(units):
        yield Part(one, unit, begins=number == 0)


class _Packing:
    """A chunk in the making."""

    def __init__(self, before: Spoken | None = None) -> None:
        self.before = before
        """The turn that the chunk before ends with; None in the first chunk of an exchange."""
        self.parts: list[Part] = []
        self.text = ""
        self.tokens = 0
        self.joins: dict[str, Any] = {}
        """How the chunk follows the one before it (`kb.chunk.pack.joined`)."""

    def takes(self, part: Part, most: int) -> bool:
        return not self.parts or self.tokens + self._cost(part) <= most

    def _cost(self, part: Part) -> int:
        """The speaker has to be said at the beginning, and where it is another one."""
        goes_on = bool(self.parts) and part.of.label == self.parts[-1].of.label
        return part.unit.tokens + (0 if goes_on else part.of.label_tokens)

    def add(self, part: Part) -> None:
        self.tokens += self._cost(part)
        before = self.parts[-1].of if self.parts else self.before
        label, goes_on = part.of.label, before is not None and before.label == part.of.label
        joint = part.unit.joint if not part.begins else "\n" if goes_on else "\n\n"
        if self.parts:
            self.text += joint + (part.unit.text if goes_on else f"{label} {part.unit.text}".lstrip())
        elif goes_on and label:  # the name again, which is not said twice where the chunks are put together
            self.text, self.joins = f"{label}{joint}{part.unit.text}", {"overlap": len(label)}
        else:
            self.text = f"{label} {part.unit.text}".lstrip()
            self.joins = {"joint": joint} if joint != "\n\n" else {}
        self.parts.append(part)

    def chunk(self, counter: TokenCounter, context: str) -> Chunk:
        opens = self.before is None
        lines = [part.unit.lines for part in self.parts if part.unit.lines]
        return Chunk(
            text=self.text,
            token_count=counter.count(self.text),
            lines=Lines(min(part.first for part in lines), max(part.last for part in lines)) if lines else None,
            context="" if opens else context,
            metadata={**self._said(), **self.joins, **({"opens": True} if opens else {})},
        )

    def _said(self) -> dict[str, Any]:
        """Who speaks and when, as far as it is known."""
        turns = [part.of.turn.metadata for part in self.parts]
        times = sorted(turn["at"] for turn in turns if "at" in turn)
        known = {
            "roles": list(dict.fromkeys(turn["role"] for turn in turns if "role" in turn)),
            "speakers": list(dict.fromkeys(turn["speaker"] for turn in turns if "speaker" in turn)),
            "from": times[0] if times else None,
            "to": times[-1] if times else None,
            "start": next((turn["start"] for turn in turns if "start" in turn), None),
            "end": next((turn["end"] for turn in reversed(turns) if "end" in turn), None),
        }
        stated = {name: value for name, value in known.items() if value}
        return {**stated, "turns": sum(part.begins for part in self.parts)}


def _question(opening: Spoken, most: int, counter: TokenCounter) -> str:
    """The beginning of what opens an exchange, in one line."""
    if not opening.opens:
        return ""
    return _beginning(" ".join([opening.label, *opening.turn.text.split()]), most, counter)


def _beginning(text: str, most: int, counter: TokenCounter) -> str:
    """At most so many tokens of it."""
    text = text[: most * MOST_CHARACTERS_A_TOKEN]
    tokens = counter.offsets(text)
    return text[: tokens[most - 1][1]] if len(tokens) > most > 0 else text
