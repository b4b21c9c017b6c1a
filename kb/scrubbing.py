"""Scrub: secrets out of what is stored already, so that nothing of them is left in the folder.

All documents are searched before the write lock is taken, and the changed texts embedded. Then one transaction puts all of it in
place, or none; after it the projections are made anew and `kb.db` is rewritten, since SQLite and tantivy keep what they
deleted until then. A crash in between leaves texts without secrets, and remnants that the next `kb scrub` takes away. The
sources are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from index import builtwith, documents, originals, sources, store, unembedded, vectors
from index.builtwith import built_with
from index.rewriting import Rewritten, rewrite, rewrite_failures
from index.rows import DocumentRow, NewChunk
from index.store import Reader
from index.writer import Writer
from kb import journal, queue, switch
from kb.chunk.context import ARROW
from kb.compact import compact
from kb.model import Model, choose
from kb.newvectors import NewVectors
from kb.scrub.documents import Scrubber, leaves, scrub_line, without_secrets
from kb.settings import Scrub, Settings
from kb.sourcerules import SourceRules
from kb.types import Chunk
from kb.wire import ScrubAnswer, ScrubbedDocument
from models.tokenizer import TokenCounter

REDACTED = "redacted"
"""The key of a document's metadata that says how many secrets of which kinds it held."""


def scrub(data_dir: Path, settings: Settings, *, everything: bool = False, dry_run: bool = False) -> ScrubAnswer:
    """`everything`: the documents of sources too whose rules say that they are not to be scrubbed.

    Raises StoreMissing, StoreLocked, ModelMismatch, before anything is changed.
    """
    rules = msgspec.structs.replace(settings.scrub, enabled=True)
    with store.reading(data_dir, settings.storage.lock_timeout_s) as reader, reader.moment():
        built = built_with(reader.connection)
        model = choose(settings.embedding, built, data_dir=data_dir)
        builtwith.check_model(built, model.spec.name, model.spec.key)
        rows, left = _to_scrub(reader, everything=everything)
        found = list(_rewritten(reader, rows, rules, TokenCounter.load(model.tokenizer)))
    if dry_run:
        return _answer(found, NewVectors(data_dir, model, settings.embedding.batch_size), left=left, dry_run=True)
    new_vectors = NewVectors(data_dir, model, settings.embedding.batch_size)
    made = new_vectors.of(_as_embedded(chunk) for new in found for chunk in new.changed.values())
    with store.writing(data_dir, settings.storage.lock_timeout_s) as writer:
        new_vectors.settle(writer)
        done, original_count = _write(writer, settings, found, made, model)
    compact(data_dir, vacuum=True, lock_timeout_s=settings.storage.lock_timeout_s)
    journal.scrub(data_dir)
    warnings = [f"{new.title}: has changed meanwhile; give the command again" for new in found if new not in done]
    return _answer(
        done, new_vectors, left=left, original_count=original_count, warnings=(*warnings, *_remnants(data_dir))
    )


def _to_scrub(reader: Reader, *, everything: bool) -> tuple[list[DocumentRow], int]:
    """The documents to look through, and how many are left as their sources' rules say."""
    rows = documents.page_of(reader.connection, None, limit=None, offset=0)
    spared = {row.id for row in sources.every(reader.connection) if SourceRules.of(row).scrub is False}
    chosen = [row for row in rows if everything or row.source_id not in spared]
    return chosen, len(rows) - len(chosen)


def _rewritten(reader: Reader, rows: list[DocumentRow], rules: Scrub, counter: TokenCounter) -> Iterator[Rewritten]:
    """What is to become of each document that holds a secret."""
    for row in rows:
        chunks = documents.new_chunks_of(reader.connection, row.id)
        scrubber = Scrubber(rules, row.language if row.doc_type == "code" else None)
        texts = scrubber.texts([chunk.text for chunk in chunks])
        metadata = {key: value for key, value in row.metadata.items() if key != REDACTED}
        clean = scrubber.strings(_beside(row, chunks, metadata))
        if not scrubber.counts:
            continue
        counted = {key: count + scrubber.counts[key] for key, count in row.metadata.get(REDACTED, {}).items()}
        yield Rewritten(
            before=row,
            chunks_before=tuple(chunks),
            chunks=tuple(_chunk(old, text, clean, counter) for old, text in zip(chunks, texts, strict=True)),
            title=scrubber.without_beginnings(clean[row.title]),
            metadata={**without_secrets(metadata, clean), REDACTED: {**scrubber.counts, **counted}},
            tags={tag: clean[tag] for tag in row.tags if clean[tag] != tag},
        )


def _beside(row: DocumentRow, chunks: list[NewChunk], metadata: dict[str, Any]) -> Iterator[str]:
    yield row.title
    yield from row.tags
    yield from leaves(metadata)
    for chunk in chunks:
        yield from chunk.heading.split(ARROW)
        yield chunk.context
        yield from leaves(chunk.metadata)


def _chunk(old: NewChunk, text: str, clean: dict[str, str], counter: TokenCounter) -> NewChunk:
    heading = ARROW.join(clean[title] for title in old.heading.split(ARROW))
    context = clean[old.context]
    metadata = without_secrets(old.metadata, clean)
    if (text, heading, context, metadata) == (old.text, old.heading, old.context, old.metadata):
        return old
    new = msgspec.structs.replace(
        old, text=text, heading=heading, context=context, metadata=metadata, token_count=counter.count(text)
    )
    return msgspec.structs.replace(new, text_hash=vectors.text_hash(_as_embedded(new).embedded_text))


def _as_embedded(chunk: NewChunk) -> Chunk:
    return Chunk(text=chunk.text, token_count=chunk.token_count, context=chunk.context)


def _write(
    writer: Writer, settings: Settings, found: list[Rewritten], made: dict[bytes, vectors.Vectors], model: Model
) -> tuple[list[Rewritten], int]:
    """The one transaction; returns what was done, and how many originals went."""
    connection = writer.connection
    connection.execute(
        "PRAGMA secure_delete = ON"
    )  # zeros over what is deleted, also where a crash comes before the rest
    with writer.transaction() as seq:
        for text_hash, vector in made.items():
            vectors.insert(connection, [text_hash], vector[None, :], model.spec.key, seq=seq)
        done = [new for new in found if rewrite(connection, new, seq=seq)]
        original_count = sum(originals.forget(connection, new.before.content_hash) for new in done)
        rewrite_failures(connection, scrub_line)
        queue.scrub(connection, settings)
        models = {built_with(connection).model_key, switch.begun(connection) or ""}
        vectors.purge(connection, models)
        unembedded.purge(connection, models)
    return done, original_count


def _remnants(data_dir: Path) -> Iterator[str]:
    """What a reader kept from being wiped away: SQLite's log may not be cut while somebody reads from it."""
    log = store.database_path(data_dir).with_name("kb.db-wal")
    if log.exists() and log.stat().st_size:
        yield "another process is reading the store, and kb.db-wal may hold what was there: give the command again"


def _answer(
    done: list[Rewritten], new_vectors: NewVectors, *, left: int, original_count: int = 0,
    warnings: tuple[str, ...] = (), dry_run: bool = False,
) -> ScrubAnswer:  # fmt: skip
    scrubbed = tuple(
        ScrubbedDocument(
            document_id=new.before.id, title=new.title, path=new.before.source_path, redacted=_new_counts(new)
        )
        for new in done
    )
    return ScrubAnswer(
        documents=scrubbed,
        redacted=sum(sum(document.redacted.values()) for document in scrubbed),
        chunks=sum(len(new.changed) for new in done),
        embedded=new_vectors.count,
        originals=original_count,
        left=left,
        dry_run=dry_run,
        warnings=(*warnings, *(new_vectors.remarks() if done else ())),
    )


def _new_counts(new: Rewritten) -> dict[str, int]:
    """By kind, without what was put out of the document before."""
    before = new.before.metadata.get(REDACTED, {})
    counts = {kind: count - before.get(kind, 0) for kind, count in new.metadata[REDACTED].items()}
    return {kind: count for kind, count in counts.items() if count}
