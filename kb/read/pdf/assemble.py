"""Parts of pages to the blocks of a document: heading chains from bookmarks and fonts, one text block a section and page.

A heading opens the text block of its section, so that it is found and shown with it; the chain above a block is in
`Block.heading`. A word broken at the end of a page is put together on the page where it begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from kb.read.pdf.parts import PageParts, Part
from kb.read.pdf.prose import MAX_HEADING_CHARS
from kb.read.pdf.seams import broken_word, joined
from kb.types import Block

MIN_BOOKMARKS = 2
PAGE_BOOKMARK = re.compile(r"^\W*(page|seite|p\.?)?\s*\d*\W*$", re.IGNORECASE)
NOT_WORD = re.compile(r"\W+")
MIN_MATCH_CHARS = 3


class Bookmark(msgspec.Struct, frozen=True):
    level: int
    """Counted from 1, the outermost."""
    title: str
    page: int
    """Counted from 1."""


def bookmarks_of(table_of_contents: Iterable[Sequence[object]]) -> tuple[Bookmark, ...]:
    """From `pymupdf.Document.get_toc()`. Bookmarks that only number the pages say nothing and are left out."""
    found = [
        Bookmark(int(str(level)), " ".join(str(title).split()), int(str(page)))
        for level, title, page, *_ in table_of_contents
        if not PAGE_BOOKMARK.match(str(title))
    ]
    return tuple(found) if len({mark.title for mark in found}) >= MIN_BOOKMARKS else ()


def blocks_of(pages: Iterable[PageParts], bookmarks: Sequence[Bookmark] = ()) -> list[Block]:
    chain = _Chain(bookmarks)
    blocks: list[Block] = []
    for page in _with_whole_words(list(pages)):
        blocks += _page_blocks(page, chain)
    return blocks


def _page_blocks(page: PageParts, chain: _Chain) -> list[Block]:
    blocks: list[Block] = []
    texts: list[str] = []

    def close() -> None:
        if texts:
            blocks.append(Block(text="\n\n".join(texts), heading=chain.titles, page=page.number))
            texts.clear()

    chain.turn_to(page)
    blocks += [msgspec.structs.replace(block, heading=chain.above(block), page=page.number) for block in page.blocks]
    is_open = False  # whether the section's text has begun after its headings
    for part in page.parts:
        if part.kind != "text":
            close()
            blocks.append(
                Block(text=part.text, kind=part.kind, heading=chain.titles, page=page.number, context=part.context)
            )
            continue
        if chain.is_heading(part):
            if is_open:
                close()
            chain.enter(part)
        is_open = not chain.is_heading(part)
        texts.append(part.text)
    close()
    return blocks


class _Chain:
    """The headings that are open at a place in the document: bookmarks above, headings by font below."""

    def __init__(self, bookmarks: Sequence[Bookmark]) -> None:
        self._by_page: dict[int, list[Bookmark]] = {}
        for mark in bookmarks:
            self._by_page.setdefault(mark.page, []).append(mark)
        self._here: dict[str, Bookmark] = {}
        self._marked: list[Bookmark] = []
        self._ranked: list[tuple[float, str]] = []

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple([mark.title for mark in self._marked] + [title for _, title in self._ranked])

    def above(self, block: Block) -> tuple[str, ...]:
        """The chain of a finished block: its own below the bookmarks that it does not repeat."""
        own = {_fold(title) for title in block.heading}
        return tuple(mark.title for mark in self._marked if _fold(mark.title) not in own) + block.heading

    def turn_to(self, page: PageParts) -> None:
        """Open the bookmarks of a page that none of its parts repeats; the others wait for theirs."""
        self._here = {}
        marks = self._by_page.get(page.number, [])
        printed = {_fold(part.text) for part in page.parts if marks and _may_be_heading(part)}
        for mark in marks:
            title = _fold(mark.title)
            if any(_says(text, title) for text in printed):
                self._here[title] = mark
            else:
                self._open(mark)

    def is_heading(self, part: Part) -> bool:
        return part.rank is not None or self._bookmark(part) is not None

    def enter(self, part: Part) -> None:
        mark = self._bookmark(part)
        if mark:
            self._open(mark)
            return
        rank = part.rank or 0.0
        while self._ranked and self._ranked[-1][0] <= rank:
            self._ranked.pop()
        self._ranked.append((rank, " ".join(part.text.split())))

    def _open(self, mark: Bookmark) -> None:
        while self._marked and self._marked[-1].level >= mark.level:
            self._marked.pop()
        self._marked.append(mark)
        self._ranked.clear()

    def _bookmark(self, part: Part) -> Bookmark | None:
        if not self._here or not _may_be_heading(part):
            return None
        text = _fold(part.text)
        return next((mark for title, mark in self._here.items() if _says(text, title)), None)


def _may_be_heading(part: Part) -> bool:
    return part.kind == "text" and len(part.text) <= MAX_HEADING_CHARS


def _says(text: str, title: str) -> bool:
    """Whether a paragraph is the heading that a bookmark names, its number aside."""
    return len(title) >= MIN_MATCH_CHARS and (text == title or (text.endswith(title) and len(text) <= len(title) + 8))


def _fold(text: str) -> str:
    return NOT_WORD.sub("", text).casefold()


def _with_whole_words(pages: list[PageParts]) -> list[PageParts]:
    for position, (page, following) in enumerate(pairwise(pages)):
        head, tail = page.parts[-1:], following.parts[:1]
        if not head or not tail or {head[0].kind, tail[0].kind} != {"text"} or head[0].rank or tail[0].rank:
            continue
        word, _, rest = tail[0].text.partition(" ")
        if broken_word(head[0].text) and word[:1].islower() and rest:
            whole = msgspec.structs.replace(head[0], text=joined(head[0].text, word))
            cut = msgspec.structs.replace(tail[0], text=rest)
            pages[position] = msgspec.structs.replace(page, parts=(*page.parts[:-1], whole))
            pages[position + 1] = msgspec.structs.replace(following, parts=(cut, *following.parts[1:]))
    return pages
