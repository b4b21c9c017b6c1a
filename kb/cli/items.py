"""What was asked for, out of an answer: the hits, documents, chunks or files."""

from __future__ import annotations

from typing import Any

from kb.wire import Answer

FIELDS = ("results", "fused", "documents", "chunks", "files")
"""That hold it; an answer has one of them."""


def items(answer: Answer) -> tuple[Any, ...]:
    field = next(name for name in FIELDS if name in answer.__struct_fields__)
    found: tuple[Any, ...] = getattr(answer, field)
    return found
