"""A document that was cut into chunks somewhere else, without the secrets that are in it. Pure.

What readers make is scrubbed before it is cut (`kb.scrub`), what is stored by `kb scrub`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from index import vectors
from index.rows import NewChunk, NewDocument
from kb.chunk.context import ARROW
from kb.scrub.documents import Scrubber, leaves, without_secrets
from kb.settings import Scrub
from models.tokenizer import TokenCounter

REDACTED = "redacted"
"""The key of a document's metadata that says how many secrets of which kinds it held."""


def cleaned(document: NewDocument, rules: Scrub, counter: TokenCounter) -> tuple[NewDocument, int]:
    """The document without its secrets, and how many those were."""
    scrubber = Scrubber(rules, document.language if document.doc_type == "code" else None)
    texts = scrubber.texts([chunk.text for chunk in document.chunks])
    metadata = {key: value for key, value in document.metadata.items() if key != REDACTED}
    clean = scrubber.strings(_beside(document, metadata))
    if not scrubber.counts:
        return document, 0
    before = document.metadata.get(REDACTED, {})
    counts = {kind: scrubber.counts[kind] + before.get(kind, 0) for kind in {**before, **scrubber.counts}}
    chunks = tuple(_chunk(*each, clean, counter) for each in zip(document.chunks, texts, strict=True))
    new = msgspec.structs.replace(
        document, title=clean[document.title], tags=tuple(clean[tag] for tag in document.tags), chunks=chunks,
        metadata={**without_secrets(metadata, clean), REDACTED: counts},
    )  # fmt: skip
    return new, sum(scrubber.counts.values())


def _beside(document: NewDocument, metadata: dict[str, object]) -> Iterator[str]:
    yield from (document.title, *document.tags, *leaves(metadata))
    for chunk in document.chunks:
        yield from (*chunk.heading.split(ARROW), chunk.context, *leaves(chunk.metadata))


def _chunk(old: NewChunk, text: str, clean: dict[str, str], counter: TokenCounter) -> NewChunk:
    context = clean[old.context]
    return msgspec.structs.replace(
        old, text=text, context=context, heading=ARROW.join(clean[title] for title in old.heading.split(ARROW)),
        metadata=without_secrets(old.metadata, clean), text_hash=vectors.text_hash(f"{context}\n\n{text}" if context else text),
        token_count=old.token_count if text == old.text else counter.count(text),
    )  # fmt: skip
