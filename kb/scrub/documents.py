"""All strings of a document without their secrets: texts, headings, contexts, title, tags, warnings, metadata.

The texts of all blocks are searched as one, since a key may begin in one block and end in another. The strings beside them are searched
each for itself; what stands under a key of the metadata is searched as that key's value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kb.scrub import find
from kb.scrub.found import Found, redacted
from kb.settings import Scrub
from kb.types import Document

BETWEEN_TEXTS = "\n"
BETWEEN_STRINGS = "\n\0\n"
"""Over which no secret reaches."""
SHORTEST_BEGINNING = 4
"""Characters of a secret at the end of a title."""
CUT = "[redacted]"


class Scrubber:
    """What was found in one document so far."""

    def __init__(self, rules: Scrub, language: str | None = None) -> None:
        self.rules = rules
        self.language = language
        self.counts: Counter[str] = Counter()
        """How many of each kind; one that is in a text and in a heading or the title too counts once."""
        self._seen: set[str] = set()

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Texts that follow each other in a document, without their secrets."""
        return self._scrubbed(texts, BETWEEN_TEXTS, counted=True)

    def strings(self, strings: Iterable[str]) -> dict[str, str]:
        """Each of the strings that stand beside the texts, and what it is without its secrets."""
        once = list(dict.fromkeys(strings))
        return dict(zip(once, self._scrubbed(once, BETWEEN_STRINGS, counted=False), strict=True))

    def without_beginnings(self, title: str) -> str:
        """A title made of a text's first words may end in the midst of a secret, where its shape does not tell it any more."""
        for secret in self._seen:
            said = " ".join(secret.split())
            for length in range(min(len(said), len(title)), SHORTEST_BEGINNING - 1, -1):
                if title.endswith(said[:length]):
                    return title[:-length] + CUT
        return title

    def _scrubbed(self, texts: Sequence[str], between: str, *, counted: bool) -> list[str]:
        whole = between.join(texts)
        founds = find(whole, language=self.language, emails=self.rules.emails)
        if not founds:
            return list(texts)
        for found in founds:
            secret = whole[found.start : found.end]
            if counted or secret not in self._seen:
                self.counts[found.kind] += 1
            self._seen.add(secret)
        return _in_pieces(texts, len(between), founds)


def scrub_document(document: Document, rules: Scrub) -> tuple[Document, dict[str, int]]:
    """The document without its secrets, and how many of each kind there were."""
    if not rules.enabled:
        return document, {}
    scrubber = Scrubber(rules, document.language)
    texts = scrubber.texts([block.text for block in document.blocks])
    clean = scrubber.strings(_beside(document))
    if not scrubber.counts:
        return document, {}
    blocks = tuple(
        msgspec.structs.replace(
            block, text=text, heading=tuple(clean[title] for title in block.heading), context=clean[block.context],
            metadata=without_secrets(block.metadata, clean),
        )
        for block, text in zip(document.blocks, texts, strict=True)
    )  # fmt: skip
    return msgspec.structs.replace(
        document, blocks=blocks, metadata=without_secrets(document.metadata, clean),
        title=document.title and scrubber.without_beginnings(clean[document.title]), tags=tuple(clean[tag] for tag in document.tags),
        warnings=tuple(clean[warning] for warning in document.warnings),
    ), dict(scrubber.counts)  # fmt: skip


def _beside(document: Document) -> Iterator[str]:
    for block in document.blocks:
        yield from block.heading
        yield block.context
        yield from leaves(block.metadata)
    yield from leaves(document.metadata)
    yield from (*document.tags, *document.warnings, document.title or "")


def leaves(value: Any, key: str = "") -> Iterator[str]:
    """Each string and number of a JSON value as `key: value`, where it stands under a key."""
    if isinstance(value, Mapping):
        for name, child in value.items():
            yield from leaves(child, str(name))
    elif isinstance(value, list | tuple):
        for child in value:
            yield from leaves(child, key)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield _said(value, key)


def without_secrets(value: Any, clean: Mapping[str, str], key: str = "") -> Any:
    """A JSON value with what `clean` says of its `leaves`."""
    if isinstance(value, Mapping):
        return {name: without_secrets(child, clean, str(name)) for name, child in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(child, clean, key) for child in value]
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    said = _said(value, key)
    return value if clean[said] == said else clean[said].removeprefix(_said("", key))


def _said(value: str | int, key: str) -> str:
    return f"{key}: {value}" if key else str(value)


def scrub_line(line: str) -> str:
    """A line of a log, or a reason, without its secrets."""
    return redacted(line, find(line))


def _in_pieces(texts: Sequence[str], gap: int, founds: Sequence[Found]) -> list[str]:
    """Each text without what of the secrets lies in it; one that reaches over several leaves its mark in each."""
    pieces: list[str] = []
    start = first = 0
    for text in texts:
        end = start + len(text)
        while first < len(founds) and founds[first].end <= start:
            first += 1
        own: list[Found] = []
        for found in founds[first:]:
            if found.start >= end:
                break
            own.append(Found(max(found.start, start) - start, min(found.end, end) - start, found.kind))
        pieces.append(redacted(text, own) if own else text)
        start = end + gap
    return pieces
