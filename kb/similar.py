"""Similar: the passages nearest to a chunk or to a document of the store, by vectors that are there already. No model is asked.

A document stands for the mean of its chunks. It is compared with the passages of other documents, and each of these shows its best one;
a chunk is compared with all other passages, those of its own document among them unless only what is elsewhere is wanted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from index import documents, filters, vectors
from index.builtwith import built_with
from index.errors import ModelMismatch
from index.filters import Filter
from index.rows import ChunkRow, DocumentRow
from index.store import Reader, reading
from kb import resolve
from kb.errors import NotFound
from kb.hits import REACH, chosen, hits_of
from kb.ranking import Ranking
from kb.settings import Settings
from kb.wire_search import Hit
from kb.wire_similar import Likened, SimilarAnswer

if TYPE_CHECKING:
    from index.columns import Ids, Vectors

TRIES = 5
"""Looks at a store that somebody commits to meanwhile, until one look is at a single state of it."""
DEEPER = 8
"""Times as many passages where those before belong to too few documents."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    reference: str
    """A document's id or path; under `is_chunk` a chunk's id."""
    is_chunk: bool = False
    top: int = 10
    elsewhere: bool = False
    """Leave out the chunk's own document, as for a document it always is."""
    filter: Filter = Filter()


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """What the hits are to be like."""

    document: DocumentRow
    chunk: ChunkRow | None
    """None: the document as a whole."""
    own: Ids
    """The chunks that are no answer: itself; of a document, and where only what is elsewhere is wanted, all of its file's versions."""
    vector: Vectors
    """float32 (dim,), unit length."""
    warnings: tuple[str, ...] = ()


def similar(data_dir: Path, settings: Settings, request: Request) -> SimilarAnswer:
    """The answer, of one moment of the store. Raises StoreMissing; NotFound, also for what has no vector; BadRequest."""
    with reading(data_dir, settings.storage.lock_timeout_s) as reader:
        for _ in range(TRIES):
            with reader.moment():
                example = _example(reader, request)
                ranking, hits = _nearest(reader, example, request)
            if reader.is_of_one_moment:
                break
    document, chunk = example.document, example.chunk
    nothing = () if ranking.total else ("nothing else passes the filters",)
    return SimilarAnswer(
        to=Likened(
            document_id=document.id, title=document.title, path=document.source_path, chunk_id=chunk.id if chunk else None
        ),
        results=tuple(hits), total_matches=ranking.total, returned=len(hits),
        warnings=(*reader.warnings, *example.warnings, *nothing),
    )  # fmt: skip


def _example(reader: Reader, request: Request) -> Example:
    connection = reader.connection
    document, chunk = _meant(reader, request)
    parts = filters.chunk_ids(connection, (), [chunk.id]) if chunk else filters.chunk_ids(connection, [document.id])
    own = parts
    if request.elsewhere or chunk is None:
        versions = documents.by_path(connection, document.source_path) if document.source_path else []
        own = filters.chunk_ids(connection, [document.id, *(version.id for version in versions)])
    built = built_with(connection)
    found = vectors.of_these(connection, parts.tolist(), built.model_key, built.embedding_dim)
    if not len(found):
        what = f"chunk {chunk.id}" if chunk else f"document {document.id}"
        raise NotFound(f"{what} has no vector yet", "kb reindex makes it; kb status says what could not be embedded")
    left_out = len(parts) - len(found)
    said = (f"{left_out} of its {len(parts)} chunks have no vector yet: kb reindex makes them",) if left_out else ()
    return Example(document=document, chunk=chunk, own=own, vector=_mean(found), warnings=said)


def _meant(reader: Reader, request: Request) -> tuple[DocumentRow, ChunkRow | None]:
    connection, reference = reader.connection, request.reference
    if not request.is_chunk:
        return resolve.document_rows(connection, reference)[0], None
    there = documents.chunks_by_ids(connection, [int(reference)])
    if not there and documents.by_id(connection, int(reference)):
        raise NotFound(f"no chunk {reference}", f"more like document {reference}: kb similar --document {reference}")
    chunk = resolve.chunk_row(connection, reference)
    return documents.by_ids(connection, [chunk.document_id])[chunk.document_id], chunk


def _mean(found: Vectors) -> Vectors:
    """The unit vector in the middle of some, float32 (n, dim) to (dim,)."""
    import numpy as np

    middle = found.mean(axis=0, dtype=np.float64)
    unit: Vectors = (middle / np.linalg.norm(middle)).astype(np.float32)
    return unit


def _nearest(reader: Reader, example: Example, request: Request) -> tuple[Ranking, list[Hit]]:
    """The hits, looked for deeper as long as the nearest passages belong to too few documents."""
    from index.columns import is_among

    connection, matrix = reader.connection, reader.matrix()
    if matrix.header.model != built_with(connection).model_key:
        raise ModelMismatch("the store switched to another model meanwhile", "ask again")
    admitted = reader.admitted(request.filter)
    among = matrix.chunk_ids if admitted is None else reader.chunk_ids(admitted)
    allowed = among[~is_among(among, example.own)]
    a_document = None if example.chunk else 1
    depth = request.top * REACH
    while True:
        nearest = matrix.search(example.vector, depth, allowed)
        ranked = [(one, max(0.0, score)) for one, score in zip(nearest.chunk_ids, nearest.scores, strict=True)]
        page = chosen(connection, ranked, request.top, a_document)
        if len(page) == request.top or len(ranked) < depth:
            ranking = Ranking(ranked=ranked, nearest=ranked, among=nearest.total, total=nearest.total)
            return ranking, hits_of(connection, page, ranking, None)
        depth *= DEEPER
