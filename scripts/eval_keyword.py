"""How well the keyword search ranks, with `index.lexical` alone: nDCG@10 on collections with judgements, and how often the
right file comes first on qmd's evaluation notes. Choose the weights of `index.bm25` with it.

    python scripts/eval_keyword.py [FOLDER]      FOLDER holds the collections (default ../shared/data/ir)
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from index.fields import LexicalDocument
from index.lexical import Lexical
from index.query import parse
from index.watermark import Watermark

REFERENCE = {  # README of the collections: bm25s, Lucene's method, k1 0.9, b 0.4
    "scifact": 0.676,
    "claude_docs": 0.628,
    "codebase_chunks": 0.608,
    "cranfield": 0.358,
    "medline1033": 0.671,
    "cisi": 0.373,
    "vaswani": 0.445,
}
DEPTH = 10
Judgements = dict[str, dict[str, int]]


class Collection:
    """Texts under their names (several texts may share one: the best counts), and an index of them."""

    def __init__(self, texts: list[tuple[str, LexicalDocument]], folder: str) -> None:
        self.names = [name for name, _ in texts]
        self.index = Lexical.open_or_create(Path(folder))
        self.index.apply((document for _, document in texts), (), Watermark())

    def ranking(self, query: str) -> list[str]:
        hits = self.index.search(parse(query), DEPTH * 5)
        return list(dict.fromkeys(self.names[chunk_id] for chunk_id in hits.chunk_ids))[:DEPTH]


def read_jsonl(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_queries(folder: Path) -> dict[str, str]:
    return {row["_id"]: row["text"] for row in read_jsonl(folder / "queries.jsonl")}


def read_judgements(path: Path) -> Judgements:
    judged: Judgements = {}
    for line in path.read_text().splitlines()[1:]:
        query, name, grade = line.split("\t")
        if int(grade) > 0:
            judged.setdefault(query, {})[name] = int(grade)
    return judged


def corpus(folder: Path) -> list[tuple[str, LexicalDocument]]:
    return [
        (
            row["_id"],
            LexicalDocument(chunk_id=i, document_id=i, title=row["title"], heading="", path="", body=row["text"]),
        )
        for i, row in enumerate(read_jsonl(folder / "corpus.jsonl"))
    ]


def notes(folder: Path, *, split: bool) -> list[tuple[str, LexicalDocument]]:
    """Markdown files, whole or split at headings, named by the file."""
    texts = []
    for path in sorted(folder.glob("*.md")):
        text = path.read_text()
        title = re.search(r"^#+ (.*)", text, re.MULTILINE)
        for heading, body in sections(text) if split else [("", text)]:
            texts.append(
                (
                    path.name,
                    LexicalDocument(
                        chunk_id=len(texts),
                        document_id=0,
                        title=title[1] if title else path.stem,
                        heading=heading,
                        path=str(path),
                        body=body,
                    ),
                )
            )
    return texts


def sections(text: str) -> Iterator[tuple[str, str]]:
    chain: list[str] = []
    for part in re.split(r"(?m)^(?=#{1,6} )", text):
        heading = re.match(r"(#{1,6}) (.*)", part)
        if heading:
            chain = [*chain[: len(heading[1]) - 1], heading[2]]
        if part.strip():
            yield " > ".join(chain), part


def ndcg(ranking: list[str], judged: dict[str, int]) -> float:
    gain = sum(judged.get(name, 0) / math.log2(rank + 2) for rank, name in enumerate(ranking[:DEPTH]))
    best = sorted(judged.values(), reverse=True)[:DEPTH]
    return gain / sum(grade / math.log2(rank + 2) for rank, grade in enumerate(best))


def print_ndcg(
    label: str, texts: list[tuple[str, LexicalDocument]], queries: dict[str, str], judged: Judgements
) -> float:
    with tempfile.TemporaryDirectory() as folder:
        searched = Collection(texts, folder)
        start_s = time.perf_counter()
        mean = sum(ndcg(searched.ranking(queries[query]), judged[query]) for query in judged) / len(judged)
        each_ms = (time.perf_counter() - start_s) * 1000 / len(judged)
    print(f"{label:28} {mean:.4f}  {REFERENCE.get(label, math.nan):.3f}  {each_ms:.1f} ms a query")
    return mean


def print_first(
    label: str, texts: list[tuple[str, LexicalDocument]], queries: dict[str, str], judged: Judgements
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        searched = Collection(texts, folder)
        for kind in ("e", "d", "b"):
            chosen = [query for query in judged if query.startswith(kind)]
            wrong = [query for query in chosen if searched.ranking(queries[query])[:1] != list(judged[query])]
            print(f"{label} {kind}*: first {len(chosen) - len(wrong)} of {len(chosen)}  {' '.join(wrong)}")


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "data" / "ir"
    print(f"{'collection':28} nDCG@10 reference")
    for name in REFERENCE:
        folder = root / name
        print_ndcg(name, corpus(folder), read_queries(folder), read_judgements(folder / "qrels.tsv"))
    pages = root / "claude_docs"
    by_page = read_judgements(pages / "qrels_pages.tsv")
    for split in (False, True):
        how = "split" if split else "whole"
        print_ndcg(f"claude_docs pages, {how}", notes(pages / "pages_md", split=split), read_queries(pages), by_page)
    qmd = root / "qmd_eval"
    for split in (False, True):
        how = "split" if split else "whole"
        print_first(
            f"qmd_eval, {how}", notes(qmd / "docs", split=split), read_queries(qmd), read_judgements(qmd / "qrels.tsv")
        )


if __name__ == "__main__":
    main()
