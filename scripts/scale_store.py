"""Stores of any size for `scripts/bench scale`, written through the store's own layer; what each append cost is kept beside them.

The vectors are mixtures of pairs of real ones (`bench_store`), so that they lie as real ones do: random ones would lie in all
directions alike, and be sorted out by nothing. The texts are words of real texts, each as often as there, in no order. Kept in
$KB_BENCH_CACHE or ~/.cache/kb-bench under `scale-ROWSxDIMS`, 5 KB a chunk; interrupted, a store goes on where it was.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from bench_store import bench_store, cache

from index import documents, projections, store, vectors
from index.builtwith import BuiltWith
from index.columns import map_rows
from index.epoch import read_header
from index.rows import NewChunk, NewDocument
from index.writer import Writer
from models import onnxfile
from models.known import DEFAULT_MODEL
from models.locate import ModelFiles, locate
from models.spec import ModelSpec

CHUNKS_A_DOCUMENT = 10
WORDS_A_CHUNK = 60
VOCABULARY = 50_000
WORD = re.compile("[a-z]{2,}")
STEPS = 20
"""Appends in which a store is made, each followed by one of a single document."""
DOCUMENTS_A_TRANSACTION = 100
RECIPE = "2"
"""Raise it when the way a store is made changes."""

Rows = npt.NDArray[np.float32]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one append took, by who took it."""

    chunks_before: int
    chunks: int
    sqlite_s: float
    matrix_s: float
    lexical_s: float
    whole_s: float
    """With opening, looking whether the projections stand where they should, and closing."""


class ScaleStore(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path
    model: str
    rows: int
    dims: int
    steps: tuple[Step, ...]


def scale_store(rows: int, dims: int) -> ScaleStore:
    """The store, made first if it is not there yet. `dims`: 384, or 768 of a model that gives the default's vectors twice."""
    folder = cache() / f"scale-{rows}x{dims}-{RECIPE}"
    files = model_of(dims)
    if not (folder / "complete").exists():
        print(f"making a store of {rows:,} chunks of {dims} dimensions in {folder}", flush=True)
        store.create(folder / "store", built_with(files.spec))
        grow(folder, files.spec, rows)
        (folder / "complete").touch()
    steps = msgspec.json.decode((folder / "steps.json").read_bytes(), type=tuple[Step, ...])
    return ScaleStore(folder=folder / "store", model=files.spec.name, rows=rows, dims=dims, steps=steps)


def built_with(spec: ModelSpec) -> BuiltWith:
    return BuiltWith(model_name=spec.name, model_key=spec.key, embedding_dim=spec.dim, model_max_tokens=spec.max_tokens)


def grow(folder: Path, spec: ModelSpec, rows: int) -> None:
    """Append until there are so many chunks, noting what each append takes."""
    made = Made(spec.dim)
    log = folder / "steps.json"
    steps = msgspec.json.decode(log.read_bytes(), type=list[Step]) if log.exists() else []
    there = count(folder / "store")
    at_once = -(-rows // STEPS // CHUNKS_A_DOCUMENT)
    while there < rows:
        for wanted in (min(at_once, (rows - there) // CHUNKS_A_DOCUMENT) - 1 or 1, 1):
            step = append(folder / "store", spec, made, there, wanted)
            steps.append(step)
            there += step.chunks
        log.write_bytes(msgspec.json.encode(steps))
        print(f"  {there:>9,}  {step_line(steps[-2])}", flush=True)


def step_line(step: Step) -> str:
    parts = ((step.sqlite_s, "SQLite"), (step.matrix_s, "matrix"), (step.lexical_s, "tantivy"), (step.whole_s, "whole"))
    return "  ".join(f"{name} {took / step.chunks * 1e6:.0f} us a chunk" for took, name in parts)


def append(folder: Path, spec: ModelSpec, made: Made, there: int, document_count: int) -> Step:
    """So many documents, as one visit of a writer."""
    began = perf_counter()
    with timed("_catch_up_matrix") as matrix, timed("_catch_up_lexical") as lexical, store.writing(folder) as writer:
        writing = perf_counter()
        matrix[0] = lexical[0] = 0.0
        first = there // CHUNKS_A_DOCUMENT
        for start in range(first, first + document_count, DOCUMENTS_A_TRANSACTION):
            insert(writer, spec, made, range(start, min(start + DOCUMENTS_A_TRANSACTION, first + document_count)))
        sqlite_s = perf_counter() - writing
    return Step(
        chunks_before=there, chunks=document_count * CHUNKS_A_DOCUMENT, sqlite_s=sqlite_s, matrix_s=matrix[0],
        lexical_s=lexical[0], whole_s=perf_counter() - began,
    )  # fmt: skip


def insert(writer: Writer, spec: ModelSpec, made: Made, numbers: range) -> None:
    with writer.transaction() as seq:
        for number in numbers:
            chunks = tuple(made.chunks(number))
            rows = made.vectors(number)
            document = NewDocument(
                title=f"Document {number}", source_path=f"/made/up/{number % 1000:03}/{number}.md",
                content_hash=hashlib.sha256(str(number).encode()).hexdigest(), doc_type="markdown",
                modified_at="2026-01-01T00:00:00+00:00", size=4000, mtime_ns=number, extractor="markdown", chunks=chunks,
            )  # fmt: skip
            documents.insert(writer.connection, document, created_at="2026-01-01T00:00:00+00:00", seq=seq)
            vectors.insert(writer.connection, [chunk.text_hash for chunk in chunks], rows, spec.key, seq=seq)


class Made:
    """Texts and vectors, the same for the same number of a document."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.real = real_vectors()
        counts = Counter(word for text in real_texts() for word in WORD.findall(text.lower()))
        words, often = zip(*counts.most_common(VOCABULARY), strict=True)
        self.words = np.array(words)
        self.upto = np.cumsum(often) / sum(often)

    def chunks(self, number: int) -> Iterator[NewChunk]:
        chance = np.random.default_rng([1, number])
        picked = np.searchsorted(self.upto, chance.random((CHUNKS_A_DOCUMENT, WORDS_A_CHUNK))).clip(
            max=len(self.words) - 1
        )
        for line, words in enumerate(self.words[picked].tolist()):
            text = f"{number}.{line} " + " ".join(words)
            yield NewChunk(
                text=text, heading="Made up", context="", text_hash=vectors.text_hash(text), token_count=90,
                start_line=line + 1, end_line=line + 1,
            )  # fmt: skip

    def vectors(self, number: int) -> Rows:
        """float32 (CHUNKS_A_DOCUMENT, dim), unit rows: beside a real vector a part of another one, for each 384 dimensions another."""
        chance = np.random.default_rng([2, number])
        first = chance.integers(len(self.real), size=CHUNKS_A_DOCUMENT)
        parts = []
        for _ in range(self.dim // self.real.shape[1]):
            second = chance.integers(len(self.real), size=CHUNKS_A_DOCUMENT)
            weight = chance.random((CHUNKS_A_DOCUMENT, 1), np.float32)
            parts.append(self.real[first] + weight * self.real[second])
            parts[-1] /= np.linalg.norm(parts[-1], axis=1, keepdims=True)
        mixed = np.concatenate(parts, axis=1)
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        return mixed


def real_texts() -> list[str]:
    with closing(sqlite3.connect(store.database_path(bench_store()))) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM chunks")]


def real_vectors() -> Rows:
    """float32 (22000, 384), unit rows: of the default model, of the store of `scripts/bench search`."""
    folder = projections.matrix_folder(bench_store())
    header = read_header(folder)
    return np.array(map_rows(folder, header.epoch, header.rows, header.dim).vectors)


def model_of(dims: int) -> ModelFiles:
    """The default model, or one in a folder that gives its vectors once for each 384 dimensions."""
    small = locate(DEFAULT_MODEL)
    times = dims // small.spec.dim
    if times == 1:
        return small
    if times * small.spec.dim != dims:
        raise SystemExit(f"--dims: a multiple of {small.spec.dim}, not {dims}")
    from kb.model import choose
    from kb.settings import Embedding

    folder = cache() / f"model-{dims}"
    if not (folder / "onnx" / "model.onnx").exists():
        write_wide_model(small, folder, times)
    spec = choose(Embedding(model=str(folder)), None, data_dir=folder).spec
    return msgspec.structs.replace(locate(str(folder)), spec=spec)


def write_wide_model(small: ModelFiles, folder: Path, times: int) -> None:
    """Protobuf joins what is written behind a message to it: here another step and another output of the graph."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(small.tokenizer, folder / "tokenizer.json")
    dim = small.spec.dim * times
    config = {"hidden_size": dim, "max_position_embeddings": 512, "model_type": "bert"}
    for name, said in (("config.json", config), ("sentence_bert_config.json", {"max_seq_length": 256})):
        (folder / name).write_bytes(msgspec.json.encode(said))
    pooling = {"word_embedding_dimension": dim, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_bytes(msgspec.json.encode(pooling))
    modules = [
        {"path": path, "type": f"sentence_transformers.models.{kind}"}
        for path, kind in (("", "Transformer"), ("1_Pooling", "Pooling"))
    ]
    (folder / "modules.json").write_bytes(msgspec.json.encode(modules))
    content = small.onnx.read_bytes().replace(b"last_hidden_state", b"first_hidden_part")
    joined = onnxfile.node("Concat", ["first_hidden_part"] * times, "token_embeddings", axis=2)
    graph = onnxfile.model([joined], {}, {}, (), ("token_embeddings", ("texts", "tokens", dim)))
    (folder / "onnx" / "model.onnx").write_bytes(content + graph)


def count(folder: Path) -> int:
    with store.reading(folder) as reader:
        return documents.chunk_count(reader.connection)


@contextmanager
def timed(name: str) -> Iterator[list[float]]:
    """How long a step of `index.projections` takes, in seconds, added up in the list's one number."""
    took = [0.0]
    step: Any = getattr(projections, name)

    def measured(*arguments: Any) -> None:
        began = perf_counter()
        step(*arguments)
        took[0] += perf_counter() - began

    setattr(projections, name, measured)
    try:
        yield took
    finally:
        setattr(projections, name, step)
