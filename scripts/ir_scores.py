"""A collection's store as arrays: what either search gives every chunk for every query. With them a way of ranking is measured in
seconds, without asking the store again.

    shares      float32 (queries, chunks): share of BM25, 0 where no word is found
    cosines     float32 (queries, chunks), in [0, 1]
    vectors     float32 (chunks, dim), unit rows, as the matrix has them

Not here: what is done with them (`eval_levers`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from ir_collections import Collection, is_tuning
from ir_stores import Store, store_of

from index.lexical import Lexical
from index.query import parse
from index.store import reading
from kb import measures
from kb.model import choose
from kb.settings import Settings

Floats = npt.NDArray[np.float32]
AT = 10


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    texts: tuple[str, ...]
    """The queries."""
    tuning: npt.NDArray[np.bool_]
    """bool (queries,): those that settings may be chosen by."""
    grades: tuple[dict[str, int], ...]
    """Of each query's relevant documents, or passages."""
    owners: tuple[str, ...]
    """What is judged of each chunk: its document, or itself where passages are judged."""
    documents: tuple[int, ...]
    """The document of each chunk, as the store numbers them."""
    chunk_ids: npt.NDArray[np.int64]
    shares: Floats
    cosines: Floats
    vectors: Floats
    query_vectors: Floats
    store: Store

    def ndcg(self, ranking: Callable[[int], Sequence[int]]) -> Floats:
        """nDCG@10 of each query: `ranking` gives the best chunks, as columns, of a query, as a row."""
        return np.array([self._ndcg(ranking(row), self.grades[row]) for row in range(len(self.texts))], np.float32)

    def _ndcg(self, chunks: Sequence[int], grades: dict[str, int]) -> float:
        documents = dict.fromkeys(self.owners[chunk] for chunk in chunks)
        return measures.ndcg([grades.get(document, 0) for document in documents], grades.values(), AT)


def scored(collection: Collection) -> Scored:
    store = store_of(collection)
    queries, judged = collection.queries(), collection.judgements()
    with reading(store.data_dir) as reader:
        paths = dict(
            reader.connection.execute(
                "SELECT c.id, d.source_path FROM chunks c JOIN documents d ON d.id = c.document_id"
            )
        )
    return arrays(
        collection.name,
        store,
        queries,
        grades=[judged[query] for query in queries],
        owner_of=lambda chunk_id: store.ids[paths[chunk_id]],
    )


def arrays(
    name: str,
    store: Store,
    queries: dict[str, str],
    *,
    grades: Sequence[dict[str, int]],
    owner_of: Callable[[int], str],
) -> Scored:
    texts = tuple(queries.values())
    with reading(store.data_dir) as reader:
        documents = dict(reader.connection.execute("SELECT id, document_id FROM chunks"))
        matrix = reader.matrix()
        order = np.argsort(matrix.ids)[matrix.dead_count :]
        chunk_ids, vectors = matrix.ids[order], matrix.vectors[order]
        embedder = choose(Settings().embedding, None).load(store.data_dir)
        query_vectors = np.stack([embedder.embed_query(text) for text in texts])
        return Scored(
            name=name,
            texts=texts,
            tuning=np.array([is_tuning(name, query) for query in queries]),
            grades=tuple(grades),
            owners=tuple(owner_of(chunk_id) for chunk_id in chunk_ids.tolist()),
            documents=tuple(documents[chunk_id] for chunk_id in chunk_ids.tolist()),
            chunk_ids=chunk_ids,
            shares=shares(reader.lexical(), texts, chunk_ids),
            cosines=np.maximum(query_vectors @ vectors.T, 0),
            vectors=vectors,
            query_vectors=query_vectors,
            store=store,
        )


def shares(lexical: Lexical, texts: Sequence[str], chunk_ids: npt.NDArray[np.int64]) -> Floats:
    found = np.zeros((len(texts), len(chunk_ids)), np.float32)
    for row, text in enumerate(texts):
        hits = lexical.search(parse(text), len(chunk_ids))
        found[row, np.searchsorted(chunk_ids, hits.chunk_ids)] = hits.shares
    return found


def best(scores: Floats, limit: int) -> npt.NDArray[np.int64]:
    """Columns of the `limit` greatest scores above 0, greatest first, ties by column."""
    order = np.argsort(-scores, kind="stable")[:limit]
    return order[scores[order] > 0]
