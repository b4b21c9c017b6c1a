"""A document's blocks to the chunks that are stored: which strategy serves which type.

Sizes are counted with the model's own tokenizer and capped at what the model can see. Not here: reading files, embedding.
"""

from __future__ import annotations

from itertools import groupby
from typing import Protocol

import msgspec

from kb.chunk import exchange
from kb.chunk.context import MOST_CHARACTERS_A_TOKEN, context_of, trimmed
from kb.chunk.pack import Limits, pack
from kb.chunk.sections import sections
from kb.chunk.units import units_of
from kb.settings import Chunking
from kb.types import Block, Chunk, Document


class TokenCounter(Protocol):
    """The model's tokenizer, as far as chunking needs it; special tokens are never counted."""

    def count(self, text: str) -> int: ...

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token in `text`, in characters."""
        ...


MOST_HEADING_CHARACTERS = 1000
"""Of each heading in a chain, which every chunk below it carries; a damaged file can have one of any length."""
OWN_PAGES = frozenset({"pptx", "xlsx"})
"""Types whose pages, slides and sheets, are about one thing each: a chunk of two of them could not be cited."""


class BoundedCounter(msgspec.Struct, frozen=True):
    """A tokenizer's count that also grows with the characters."""

    tokens: TokenCounter

    def count(self, text: str) -> int:
        return max(self.tokens.count(text), len(text) // MOST_CHARACTERS_A_TOKEN)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self.tokens.offsets(text)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How one document is to be cut, settled from its type and the settings."""

    strategy: str
    """`sections` (by heading), `blocks` (each block for itself), `exchange` (a question with its answers), `fixed` (windows),
    `whole` (one chunk).
    """
    max_tokens: int
    min_tokens: int = 50
    overlap_tokens: int = 50
    include_context: bool = True
    page_by_page: bool = False
    """No chunk goes over the end of a page."""


def plan_for(doc_type: str, settings: Chunking) -> Plan:
    """The user's settings for a type, in the terms of this package."""
    overlap = settings.defaults.overlap_tokens
    if doc_type == "note":
        return Plan(strategy="whole", max_tokens=settings.defaults.max_tokens)
    if doc_type == "transcript":
        return Plan(strategy="exchange", max_tokens=settings.defaults.max_tokens)
    if doc_type == "code":
        strategy = "blocks" if settings.code.strategy == "ast" else "fixed"
        kept = settings.code.include_context
        return Plan(
            strategy=strategy, max_tokens=settings.code.max_tokens, overlap_tokens=overlap, include_context=kept
        )
    if doc_type == "markdown":
        own = settings.markdown
        strategy = "sections" if own.strategy == "header" else "fixed"
        return Plan(strategy=strategy, max_tokens=own.max_tokens, min_tokens=own.min_tokens, overlap_tokens=overlap)
    if doc_type == "pdf":
        strategy = "sections" if settings.pdf.strategy == "hierarchy" else "fixed"
        return Plan(strategy=strategy, max_tokens=settings.pdf.max_tokens, overlap_tokens=overlap)
    return Plan(
        strategy="sections", max_tokens=settings.defaults.max_tokens, overlap_tokens=overlap,
        page_by_page=doc_type in OWN_PAGES,
    )  # fmt: skip


def chunk(document: Document, plan: Plan, tokens: TokenCounter, model_sees: int) -> list[Chunk]:
    """Cut a document. `model_sees` is how many tokens of text the model takes, special tokens and prefix left out.

    No chunk's embedded text exceeds `model_sees`, except that a note stays whole. Together the chunks hold all of the text.
    """
    if plan.strategy == "whole":
        return [_whole(document, tokens)]
    counter = BoundedCounter(tokens)
    if plan.strategy == "exchange":
        sizes = exchange.Sizes(min(plan.max_tokens, model_sees), plan.min_tokens, model_sees)
        return exchange.chunks_of(document.blocks, sizes, counter)
    chunks: list[Chunk] = []
    for section in _grouped(tuple(map(_headed, document.blocks)), plan, counter, model_sees):
        first = section[0]
        context = context_of(section, include=plan.include_context, one_page=plan.page_by_page)
        context = trimmed(context, counter, model_sees // 4)
        budget = max(1, min(plan.max_tokens, model_sees - (counter.count(context) if context else 0)))
        overlap = 0 if plan.strategy == "blocks" else min(plan.overlap_tokens, budget // 4)
        units = units_of(section, budget, counter, titled=plan.strategy == "sections")
        metadata = {"symbol": first.symbol} if first.symbol else {}
        limits = Limits(budget, overlap, plan.page_by_page)
        chunks += pack(units, limits, counter, context=context, metadata=metadata)
    return chunks


def _headed(block: Block) -> Block:
    if all(len(heading) <= MOST_HEADING_CHARACTERS for heading in block.heading):
        return block
    return msgspec.structs.replace(block, heading=tuple(name[:MOST_HEADING_CHARACTERS] for name in block.heading))


def _grouped(blocks: tuple[Block, ...], plan: Plan, counter: TokenCounter, model_sees: int) -> list[list[Block]]:
    if plan.page_by_page:
        pages = [tuple(page) for _, page in groupby(blocks, key=lambda block: block.page)]
        alone = msgspec.structs.replace(plan, page_by_page=False)
        return [section for page in pages for section in _grouped(page, alone, counter, model_sees)]
    if plan.strategy == "blocks":
        return [[block] for block in blocks]
    if plan.strategy == "fixed":
        return [[msgspec.structs.replace(block, heading=(), symbol=None) for block in blocks]] if blocks else []
    return sections(blocks, counter, min_tokens=plan.min_tokens, max_tokens=min(plan.max_tokens, model_sees * 3 // 4))


def _whole(document: Document, counter: TokenCounter) -> Chunk:
    text = "\n\n".join(block.text for block in document.blocks)
    return Chunk(text=text, token_count=counter.count(text), lines=document.blocks[0].lines)
