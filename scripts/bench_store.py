"""The store that `scripts/bench search` asks: 22,000 chunks, made once by the real `kb add` and kept.

Of the test collections at ../shared/data/ir where they are, else of generated text. Kept in $KB_BENCH_CACHE or ~/.cache/kb-bench,
under a name that says how it was made. Making it embeds 22,000 texts, ten minutes on two idle cores; interrupted, it goes on
where it was.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import msgspec

from index import documents
from index.store import exists, reading
from kb.add import Silent, add_paths
from kb.candidates import Request
from kb.settings import Settings
from models.known import DEFAULT_MODEL, DEFAULT_SHA256

CHUNKS = 22_000
COLLECTIONS = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
NAMES = ("claude_docs", "codebase_chunks", "cranfield", "cisi", "medline1033", "scifact", "vaswani")
PIECE_CHARS = 600
"""About 140 tokens, so that a file is a chunk."""
FILES_AT_ONCE = 1000
RECIPE = "2"
"""Raise it when the way a store is made changes."""


class Text(msgspec.Struct):
    text: str
    title: str = ""


def bench_store() -> Path:
    """The data folder, made first if it is not there yet."""
    folder = cache() / f"search-{hashlib.sha256(made_of().encode()).hexdigest()[:12]}"
    if not (folder / "complete").exists():
        print(f"making a store of {CHUNKS:,} chunks in {folder}: ten minutes, once", file=sys.stderr)
        fill(folder / "store", folder / "source")
        (folder / "complete").touch()
    return folder / "store"


def cache() -> Path:
    return Path(os.environ.get("KB_BENCH_CACHE") or "~/.cache/kb-bench").expanduser()


def made_of() -> str:
    source = ",".join(NAMES) if COLLECTIONS.is_dir() else "generated"
    return f"{RECIPE} {DEFAULT_MODEL} {DEFAULT_SHA256} {CHUNKS} {PIECE_CHARS} {source}"


def fill(store: Path, source: Path) -> None:
    """Add texts as files of their own until the store is full."""
    source.mkdir(parents=True, exist_ok=True)
    texts = enumerate(pieces() if COLLECTIONS.is_dir() else generated())
    while (wanted := CHUNKS - chunk_count(store)) > 0:
        for number, text in islice(texts, min(wanted, FILES_AT_ONCE)):
            (source / f"{number:05}.txt").write_text(text, encoding="utf-8")
        add_paths(store, Settings(), Request(paths=(source,), recursive=True), Silent())
        print(f"  {chunk_count(store):,}", file=sys.stderr)


def chunk_count(data_dir: Path) -> int:
    if not exists(data_dir):
        return 0
    with reading(data_dir) as reader:
        return documents.chunk_count(reader.connection)


def pieces() -> Iterator[str]:
    """The beginning of every text of the collections; then what follows it, and so on."""
    for start in count(0, PIECE_CHARS):
        for text in texts():
            if piece := text[start : start + PIECE_CHARS].strip():
                yield piece


def texts() -> Iterator[str]:
    for name in NAMES:
        with (COLLECTIONS / name / "corpus.jsonl").open("rb") as lines:
            for line in lines:
                text = msgspec.json.decode(line, type=Text)
                yield f"{text.title}\n\n{text.text}"


def generated() -> Iterator[str]:
    """Made-up words, as often as words are (Zipf); always the same."""
    chance = random.Random(0)
    words = ["".join(chance.choice(letters) for letters in ("bdfgklmnprst", "aeiou") * 3) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    while True:
        yield " ".join(chance.choices(words, weights, k=85))
