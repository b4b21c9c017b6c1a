"""The lexical index: which chunks hold the words of a query. A projection of `kb.db`, which can be deleted at any time.

On disk, one folder: tantivy's segments and its `meta.json`, and `watermark.json` (`index.watermark`), the last transaction
that is in it.

Crash rule: tantivy's commit comes first, then the watermark, both atomic. A process killed before the commit leaves the
last commit; killed between the two it leaves a watermark that is too old, and what is replayed is deleted and added by
chunk id, which gives the same index. Readers in other processes see a commit as a whole or not at all.

Not here: one writer at a time is the caller's duty (`index.lock`); what a chunk's fields are (`index.fields`), how a query
scores (`index.bm25`). Scores of equal chunks are equal whatever was deleted and added, up to the frequencies of words in
deleted chunks, which tantivy counts until it merges them away.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import tantivy

from index import bm25, fields, heap, passing, watermark
from index.errors import ProjectionDamaged
from index.fields import LexicalDocument as LexicalDocument  # noqa: PLC0414  re-exported: the callers' one door
from index.query import ParsedQuery, Phrase
from index.segments import META
from index.watermark import Watermark

if TYPE_CHECKING:
    from index.columns import Ids

WRITER_HEAP_BYTES = 30_000_000
REBUILDING_HEAP_BYTES = 256_000_000
"""At most: 100,000 chunks are one segment then. 22,000 chunks in one are searched in 0.46 ms, in the two of a small heap in 0.55, in the six
that came of many adds in 0.57 to 0.64."""
WRITER_THREADS = 1
TIES_READ = 32
"""Hits read beyond the limit at first, so that chunks of equal score come in the order of their ids, not of the segments."""
MANY = 1000
"""Documents and single chunks. Where more are admitted, all hits are read and those that pass are kept: of 22,000 documents the half in 1.0 ms, where a set of them
takes tantivy 5.3."""
NOISE_BITS = 7
"""Of a float32's 24 significant bits, those that do not count where two scores are compared: tantivy sums in any order."""
HALF_A_STEP = 1 << (NOISE_BITS - 1)


class LexicalDamaged(ProjectionDamaged):
    """Missing, unreadable, or made by another version: to be made anew from `kb.db`."""


class LexicalHits(msgspec.Struct, frozen=True, kw_only=True):
    """The best chunks, best first. The lists run side by side."""

    chunk_ids: list[int]
    scores: list[float]
    """BM25, comparable within one query only."""
    shares: list[float]
    """score / the most this query could score: in [0, 1], in the order of the scores."""
    total: int
    """How many chunks match."""
    unknown: tuple[str, ...]
    """Words of the query, as typed, that no chunk holds; similar words stood in for them where there are any."""
    missing: float = 0.0
    """How much of the query's weight is that of names and phrases among them: in [0, 1]."""


NO_HITS = LexicalHits(chunk_ids=[], scores=[], shares=[], total=0, unknown=())


class Lexical:
    """The index as it was when it was opened, and with what was written through this object since."""

    def __init__(self, folder: Path, index: tantivy.Index) -> None:
        self.folder = folder
        self._index = index
        self._look()

    def _look(self) -> None:
        """At the index as it is from now on."""
        self._searcher = self._index.searcher()
        self._statistics = bm25.Statistics(self._searcher)

    @classmethod
    def open_reader(cls, folder: Path) -> Lexical:
        """Open what is there. Raises LexicalDamaged."""
        with _damage_reported(folder):
            if not folder.is_dir() or not tantivy.Index.exists(str(folder)):
                raise LexicalDamaged(f"no lexical index in {folder}")
            with _writable(folder) as place:
                index = tantivy.Index.open(str(place))
                if index.schema != fields.SCHEMA:
                    raise LexicalDamaged(f"the lexical index in {folder} was made by another version of kb")
                fields.register_analyzers(index)
                index.config_reader("manual")  # no thread that watches the folder
            return cls(folder, index)

    @classmethod
    def open_or_create(cls, folder: Path) -> Lexical:
        """Open to write; what cannot be used is replaced by an empty index at the beginning of history."""
        try:
            return cls.open_reader(folder)
        except LexicalDamaged:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _damage_reported(folder):
                tantivy.Index(fields.SCHEMA, path=str(folder))
            return cls.open_reader(folder)

    def apply(self, added: Iterable[LexicalDocument], removed: Iterable[int], watermark: Watermark) -> None:
        """Remove, add or replace chunks by id in one commit, then move the watermark. May be repeated."""
        with self._writing(watermark) as writer:
            for chunk_id in removed:
                writer.delete_documents_by_term(fields.CHUNK_ID, chunk_id)
            for document in added:
                writer.delete_documents_by_term(fields.CHUNK_ID, document.chunk_id)
                writer.add_document(fields.to_tantivy(document))

    def rebuild(self, documents: Iterable[LexicalDocument], watermark: Watermark) -> None:
        """Replace the whole content in one commit: what was deleted takes no more room. For `kb compact`.

        Until the commit the old content is searched, and a crash leaves it.
        """
        with self._writing(watermark, REBUILDING_HEAP_BYTES) as writer:
            writer.delete_all_documents()
            for document in documents:
                writer.add_document(fields.to_tantivy(document))

    def search(
        self,
        query: ParsedQuery,
        limit: int,
        document_ids: Collection[int] | None = None,
        chunk_ids: Collection[int] = (),
        allowed: Callable[[], Ids | None] = lambda: None,
    ) -> LexicalHits:
        """The best `limit` chunks of these documents, and of these chunks; None: of all documents. Raises LexicalDamaged.

        `allowed`: what gives the ids of all these chunks, ascending, if it knows them. It is asked where these are many.
        """
        if query.is_empty or limit < 1 or (document_ids is not None and not (document_ids or chunk_ids)):
            return NO_HITS
        admitted = 0 if document_ids is None else len(document_ids) + len(chunk_ids)
        known = allowed() if admitted > MANY else None
        with _damage_reported(self.folder):
            searcher = self._searcher
            plan = bm25.plan(query, self._statistics)
            best_first = None
            if known is not None:
                best_first = passing.best_first(searcher, plan, known, passing.HITS_A_DOCUMENT * admitted)
            if best_first is None:
                best_first = partial(passing.best, searcher, bm25.among(document_ids, chunk_ids, plan.query))
            hits, total = _with_all_ties(best_first, limit)
            ids = passing.chunk_ids(searcher, hits)
        scores = [score for score, _ in hits]
        best = sorted(zip([-rank for rank in _ranks(scores)], ids, scores, strict=True))[:limit]
        return LexicalHits(
            chunk_ids=[chunk_id for _, chunk_id, _ in best],
            scores=[score for _, _, score in best],
            shares=[min(1.0, score / plan.ceiling) for _, _, score in best],
            total=total,
            unknown=plan.unknown,
            missing=plan.missing,
        )

    def holding(
        self, phrases: tuple[Phrase, ...], document_ids: Collection[int] | None = None, chunk_ids: Collection[int] = ()
    ) -> list[int]:
        """The chunks, in no order, that hold any of the phrases, among the same as `search` takes. Raises LexicalDamaged."""
        with _damage_reported(self.folder):
            searcher = self._searcher
            query = bm25.among(document_ids, chunk_ids, bm25.holding(phrases))
            return passing.chunk_ids(searcher, searcher.search(query, max(1, searcher.num_docs), count=False).hits)

    def count(self) -> int:
        """Chunks in the index."""
        with _damage_reported(self.folder):
            return int(self._searcher.num_docs)

    def dead_count(self) -> int:
        """Deleted chunks that still take room: tantivy drops them where it merges their segment."""
        try:
            segments = msgspec.json.decode((self.folder / META).read_bytes())["segments"]
            return sum(segment["deletes"]["num_deleted_docs"] for segment in segments if segment["deletes"])
        except (OSError, msgspec.DecodeError, TypeError, KeyError) as error:
            raise LexicalDamaged(f"the lexical index in {self.folder} cannot be read: {error}") from error

    def chunk_ids(self) -> list[int]:
        """Every chunk in the index, ascending."""
        with _damage_reported(self.folder):
            found = self._searcher.search(tantivy.Query.all_query(), max(1, self.count()), count=False)
            return sorted(passing.chunk_ids(self._searcher, found.hits))

    @contextmanager
    def _writing(self, mark: Watermark, heap_bytes: int = WRITER_HEAP_BYTES) -> Iterator[tantivy.IndexWriter]:
        """Commit, then the watermark; on an error neither. The writer and its lock are gone afterwards either way."""
        with _damage_reported(self.folder):
            writer = self._index.writer(heap_bytes, WRITER_THREADS)
            try:
                yield writer
                writer.commit()
                self._index.reload()
                self._look()
            except BaseException:
                writer.rollback()
                raise
            finally:
                writer.wait_merging_threads()
                heap.give_back()
        watermark.write(self.folder, mark)


def _with_all_ties(best_first: passing.BestFirst, limit: int) -> tuple[list[passing.Found], int]:
    """The best hits, with every one whose score equals that of the last one wanted; and how many there are in all."""
    count = limit + TIES_READ
    while True:
        hits, total = best_first(count)
        if len(hits) < count:
            return hits, total
        last, last_wanted = _ranks([hits[-1][0], hits[limit - 1][0]])
        if last != last_wanted:
            return hits, total
        count *= 8


def _ranks(scores: Sequence[float]) -> list[int]:
    """Integers in the order of the scores, the same for scores that only differ by the order of their summation.

    These are the bits of the float32 numbers, which sort as the numbers do, without the last ones.
    """
    bits = memoryview(array("f", scores)).cast("B").cast("I")
    return [(number + HALF_A_STEP) >> NOISE_BITS for number in bits]


@contextmanager
def _writable(folder: Path) -> Iterator[Path]:
    """The folder, or on a read-only disk one with links to its files: tantivy puts a lock beside them while it opens them."""
    if os.access(folder, os.W_OK):
        yield folder
        return
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        for path in folder.glob("[!.]*"):  # the old locks are hidden files
            Path(place, path.name).symlink_to(path.absolute())
        yield Path(place)


@contextmanager
def _damage_reported(folder: Path) -> Iterator[None]:
    """Turn what tantivy says, or dies of, over damaged files into LexicalDamaged."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise LexicalDamaged(f"the lexical index in {folder} cannot be used: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # pyo3's, which cannot be imported
            raise
        raise LexicalDamaged(f"the lexical index in {folder} cannot be read: {error}") from error
