"""The retrieval collections at ../shared/data/ir as values: documents, queries, judgements; and as files that `kb add` reads.

A document is written as a person would keep it: its title as the first heading of a markdown file, a text without a title as
a plain one, code under the path it had. Not here: adding and searching (`ir_stores`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
Judgements = dict[str, dict[str, int]]
"""Grade (1 and more) by document, by query."""


class Text(msgspec.Struct, frozen=True):
    """A document or a query, one line of a file."""

    id: str = msgspec.field(name="_id")
    text: str
    title: str = ""


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    keyword: float
    """nDCG@10 that the README of the collections states for BM25 over title and text in one field; 0: it states none."""
    semantic: float = 0.0
    """The published one of all-MiniLM-L6-v2."""
    qrels: str = "qrels.tsv"
    pages: str = ""
    """A folder of files that are added as they are; empty: `corpus.jsonl` is."""
    code: bool = False
    folder: str = ""
    """Where it lies, if not under its name."""

    @property
    def path(self) -> Path:
        return FOLDER / (self.folder or self.name)

    def queries(self) -> dict[str, str]:
        """The judged ones, by id."""
        judged = self.judgements()
        return {query.id: query.text for query in _read(self.path / "queries.jsonl") if query.id in judged}

    def judgements(self) -> Judgements:
        judged: Judgements = {}
        for line in (self.path / self.qrels).read_text().splitlines()[1:]:
            query, document, grade = line.split("\t")
            if int(grade) > 0:
                judged.setdefault(query, {})[document] = int(grade)
        return judged

    def whole_texts(self) -> dict[str, str]:
        """Title and text of each document, by id, as BEIR hands them to an embedding model; pages as they are."""
        if self.pages:
            return {document_id: content for document_id, _, content in self.files()}
        return {one.id: f"{one.title} {one.text}".strip() for one in _read(self.path / "corpus.jsonl")}

    def files(self) -> Iterator[tuple[str, str, str]]:
        """(id, name of the file, content) of each document that holds anything."""
        if self.pages:
            for path in sorted((self.path / self.pages).iterdir()):
                yield path.name, path.name, path.read_text()
            return
        for number, document in enumerate(_read(self.path / "corpus.jsonl")):
            if self.code:
                yield document.id, f"{number}/{document.title.lstrip('/')}", document.text
            elif document.title:
                yield document.id, f"{number}.md", f"# {document.title}\n\n{document.text}\n"
            elif document.text.strip():
                yield document.id, f"{number}.txt", document.text


# The goal of hybrid search is the mean of the first five.
COLLECTIONS = (
    Collection(name="scifact", keyword=0.676, semantic=0.6451),
    Collection(name="cranfield", keyword=0.358),
    Collection(name="medline1033", keyword=0.671),
    Collection(name="cisi", keyword=0.373),
    Collection(name="vaswani", keyword=0.445),
    Collection(name="claude_docs", keyword=0.628),
    Collection(name="claude_pages", keyword=0.0, folder="claude_docs", pages="pages_md", qrels="qrels_pages.tsv"),
    Collection(name="codebase_chunks", keyword=0.608, code=True),
    Collection(name="qmd_eval", keyword=0.0, pages="docs"),
)
GOAL = tuple(collection.name for collection in COLLECTIONS[:5])


def by_names(names: list[str]) -> list[Collection]:
    """Those named, all if none is. Raises KeyError."""
    table = {collection.name: collection for collection in COLLECTIONS}
    return [table[name] for name in names] or list(COLLECTIONS)


def is_tuning(collection: str, query: str) -> bool:
    """Whether settings may be chosen by this query. The others, half of them, are what figures are reported on."""
    return hashlib.sha256(f"{collection}:{query}".encode()).digest()[0] % 2 == 1


def _read(path: Path) -> list[Text]:
    return [msgspec.json.decode(line, type=Text) for line in path.read_bytes().splitlines()]
