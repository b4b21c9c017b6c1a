"""What `kb similar` answers (`kb.wire`)."""

from __future__ import annotations

import msgspec

from kb.wire import Answer
from kb.wire_search import Hit


class Likened(msgspec.Struct, frozen=True, kw_only=True):
    """What the hits are like."""

    document_id: int
    title: str
    path: str | None
    """Absolute; null for notes and standard input."""
    chunk_id: int | None
    """null: the document as a whole."""


class SimilarAnswer(Answer, frozen=True):
    to: Likened
    results: tuple[Hit, ...]
    """Best first. `score` is `score_breakdown.vector`: the cosine of the hit's vector with that of the chunk, or with the mean of the
    document's chunks."""
    total_matches: int
    """Chunks with a vector that passed the filters; `to` itself is not among them."""
    returned: int
