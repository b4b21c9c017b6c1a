"""What a search cannot do without, measured alone in a process of its own: the embedding of a query and the matrix product.

    python scripts/bench_floors.py STORE

Reads a JSON object a line, {"what": "embedding" | "numpy" | "ours", "queries": [...], "pause_s": 0.02}, and answers with the times in ms.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import msgspec

CANDIDATES = 100  # as kb.search asks for


class Order(msgspec.Struct):
    what: str
    queries: list[str]
    pause_s: float


class Floors:
    """The process that measures."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    @classmethod
    def start(cls, store: Path) -> Floors:
        command = [sys.executable, __file__, str(store)]
        return cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))

    def times(self, what: str, queries: Sequence[str], pause_s: float) -> list[float]:
        """Of each query, in ms."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(msgspec.json.encode(Order(what, list(queries), pause_s)) + b"\n")
        self.process.stdin.flush()
        return msgspec.json.decode(self.process.stdout.readline(), type=list[float])

    def end(self) -> None:
        self.process.communicate()


def serve(store: Path) -> None:
    from index.builtwith import built_with
    from index.store import reading
    from kb.model import choose
    from kb.settings import Settings

    with reading(store) as reader:
        built = built_with(reader.connection)
    embedder = choose(Settings().embedding, built, data_dir=store).load(store, for_queries=True)
    products = products_of(store)
    embedder.embed_query("a first query")
    for line in sys.stdin:
        order = msgspec.json.decode(line, type=Order)
        if order.what == "embedding":
            times = [timed(embedder.embed_query, query, order.pause_s) for query in order.queries]
        else:
            vectors = [embedder.embed_query(query) for query in order.queries]
            times = [timed(products[order.what], vector, order.pause_s) for vector in vectors]
        sys.stdout.buffer.write(msgspec.json.encode(times) + b"\n")
        sys.stdout.buffer.flush()


def timed(work: Callable[[Any], object], value: Any, pause_s: float) -> float:
    sleep(pause_s)
    started = perf_counter()
    work(value)
    return (perf_counter() - started) * 1000


def products_of(store: Path) -> dict[str, Callable[[Any], object]]:
    """numpy's alone, of as many rows; and ours with its search for the best."""
    import numpy as np

    from index.matrix import Matrix
    from index.projections import matrix_folder

    matrix = Matrix.open(matrix_folder(store))
    plain = np.random.default_rng(0).standard_normal((matrix.header.rows, matrix.header.dim), np.float32)
    return {"numpy": lambda vector: plain @ vector, "ours": lambda vector: matrix.search(vector, CANDIDATES)}


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
