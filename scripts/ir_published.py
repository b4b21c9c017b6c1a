"""The semantic column as its figure was published: each document embedded whole, cut at what the model sees, scored exactly.

It asks kb's own embedder and nothing else of kb. So where this column is the published one and the product's is not, chunks are
the difference, and no fault of the embedding.
"""

from __future__ import annotations

from ir_collections import Collection
from ir_scores import best
from ir_vectors import embedded, queries_embedded

AT = 10


def run_of(collection: Collection) -> dict[str, dict[str, float]]:
    """The first ten documents of each query with their cosines, as `ir_measures` reads them."""
    documents, queries = collection.whole_texts(), collection.queries()
    cosines = queries_embedded(list(queries.values())) @ embedded(list(documents.values())).T
    ids = list(documents)
    return {
        query: {ids[column]: float(row[column]) for column in best(row, AT)}
        for query, row in zip(queries, cosines, strict=True)
    }
