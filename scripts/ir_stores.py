"""A collection in a store of its own, made once by `kb add` and kept in ~/.cache/kb-eval under a hash of what makes it.

What makes it: the files, the embedding model, and the code that reads, chunks and indexes. A change of ranking alone leaves
the stores as they are.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import msgspec
import numpy as np
from ir_collections import Collection

from index import vectors
from index.store import create, exists, reading, writing
from kb.add import Silent, add_paths
from kb.candidates import Request
from kb.model import choose
from kb.settings import Settings

CACHE = Path.home() / ".cache" / "kb-eval"
ROOT = Path(__file__).resolve().parents[1]
MAKERS = ("kb/chunk/*.py", "kb/read/markdown.py", "kb/read/text.py", "kb/read/code/*.py")
"""The code whose change makes other chunks; search indexes are made anew by themselves when their format changes."""


class Store(msgspec.Struct, frozen=True):
    data_dir: Path
    ids: dict[str, str]
    """The collection's id of each document, by path of its file."""


def store_of(collection: Collection, settings: Settings | None = None) -> Store:
    """The collection's store, made now if there is none; an interrupted one is made to its end."""
    settings = settings or Settings()
    folder = CACHE / f"{collection.name}-{_key(collection, settings)}"
    store, files, done = folder / "store", folder / "files", folder / "done"
    ids = {str(files / name): document_id for document_id, name, _ in collection.files()}
    if not done.exists():
        for _, name, content in collection.files():
            path = files / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        print(f"adding {collection.name} ({len(ids)} files) ...", file=sys.stderr)
        _take_over_vectors(collection, store, settings)
        answer = add_paths(store, settings, Request(paths=(files,), recursive=True), Silent())
        if answer.failed:
            raise SystemExit(f"{collection.name}: {answer.failed} files failed; see {store}/ingest-errors.log")
        done.write_text(f"{answer.added} documents, {answer.chunks} chunks\n")
    return Store(store, ids)


def _take_over_vectors(collection: Collection, store: Path, settings: Settings) -> None:
    """Begin the store with the vectors of its predecessors: most texts are the same, and embedding takes longest."""
    model = choose(settings.embedding, None)
    create(store, model.built_with)
    for earlier in CACHE.glob(f"{collection.name}-*/store"):
        if earlier == store or not exists(earlier):
            continue
        with reading(earlier) as reader, writing(store) as writer, writer.transaction() as seq:
            rows = reader.connection.execute("SELECT text_hash, vector FROM vectors WHERE model = ?", (model.spec.key,))
            for text_hash, vector in rows:
                vectors.insert(
                    writer.connection, [text_hash], np.frombuffer(vector, "<f4")[None, :], model.spec.key, seq=seq
                )


def _key(collection: Collection, settings: Settings) -> str:
    made_of = hashlib.sha256(choose(settings.embedding, None).spec.key.encode())
    made_of.update(msgspec.json.encode(settings.chunking))
    if settings.embedding.windows:
        made_of.update(str(settings.embedding.windows).encode())
    for path in sorted(path for pattern in MAKERS for path in ROOT.glob(pattern)):
        made_of.update(path.read_bytes())
    for _, name, content in collection.files():
        made_of.update(f"{name}\0{content}\0".encode())
    return made_of.hexdigest()[:12]
