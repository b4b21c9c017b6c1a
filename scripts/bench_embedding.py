#!/usr/bin/env python3
"""Measure a query's embedding by how onnxruntime is set up: scripts/bench_embedding.py [--rounds N] [--fifo] [WORD ...]

Two rhythms: a loop, and as a daemon knows it, asked every 20 ms with 20 MB of other memory read in between. Each variant is a
process of its own; they take turns (16 queries of 12 tokens, never seen before, in each rhythm), so that a noisy machine is
noisy for all. WORD: only variants whose name contains one of them. --fifo: at real-time priority (root only), where others use the
machine too. docs/embedding_speed.md holds what came out and what was done about it.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Literal

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

TOKENS = 10  # and the two that open and close a text
QUERIES_A_TURN = 16
UNCOUNTED = 2  # of each turn, while the process gets going again
PAUSE_S = 0.02
READ_BETWEEN_BYTES = 20_000_000
MODEL = "all-MiniLM-L6-v2"

SLEEPING = {"session.intra_op.allow_spinning": "0"}
SPINNING = {"session.intra_op.allow_spinning": "1"}
IN_CALLS = {**SPINNING, "session.force_spinning_stop": "1"}
BRIEFLY = {**IN_CALLS, "session.intra_op.spin_duration_us": "100"}


class Variant(msgspec.Struct, frozen=True):
    name: str
    graph: Literal["file", "float32", "int8"] = "float32"
    """The file's own, or those of models.minilm and models.minilm_int8."""
    threads: int = 0
    config: dict[str, str] = msgspec.field(default_factory=lambda: BRIEFLY)
    options: dict[str, Any] = {}
    environment: dict[str, str] = {}
    bound: bool = False
    """Inputs and outputs by IO binding."""
    apart: bool = False
    """A core for each thread."""
    ours: bool = False
    """Embedder.embed_query, whatever it does."""


VARIANTS = (
    Variant("file's graph, threads sleep", graph="file", config=SLEEPING),
    Variant("file's graph, one thread", graph="file", threads=1),
    Variant("file's graph, spin in calls", graph="file", config=IN_CALLS),
    Variant("rewritten, threads sleep", config=SLEEPING),
    Variant("rewritten, one thread", threads=1),
    Variant("rewritten, spin always", config=SPINNING),
    Variant("rewritten, spin in calls", config=IN_CALLS),
    Variant("rewritten, spin 100 us in calls"),
    Variant("same, a core for each thread", apart=True),
    Variant("same, IO binding", bound=True),
    Variant("same, no memory arena", options={"enable_cpu_mem_arena": False}),
    Variant("same, no memory pattern", options={"enable_mem_pattern": False}),
    Variant("same, denormals are zero", config={**BRIEFLY, "session.set_denormal_as_zero": "1"}),
    Variant("same, no prepacking", config={**BRIEFLY, "session.disable_prepacking": "1"}),
    Variant("same, smaller blocks", config={**BRIEFLY, "session.dynamic_block_base": "4"}),
    Variant("same, huge pages", environment={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
    Variant("same, tokenizer alone", environment={"TOKENIZERS_PARALLELISM": "false"}),
    Variant("same, OpenBLAS alone", environment={"OPENBLAS_NUM_THREADS": "1"}),
    Variant("int8, a core for each thread", graph="int8", apart=True),
    Variant("int8, one thread", graph="int8", threads=1),
    Variant("Embedder.embed_query", ours=True),
)


class Opened(msgspec.Struct):
    opening_ms: float
    memory_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--fifo", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(msgspec.json.decode(arguments.serve, type=Variant), fifo=arguments.fifo)
        return
    chosen = [each for each in VARIANTS if not arguments.words or any(word in each.name for word in arguments.words)]
    compare(chosen, arguments.rounds, fifo=arguments.fifo)


def compare(variants: list[Variant], rounds: int, *, fifo: bool) -> None:
    servers, opened = [], []
    for each in variants:  # one after the other: opening is timed
        servers.append(start(each, fifo=fifo))
        opened.append(msgspec.json.decode(line_of(servers[-1]), type=Opened))
    times: dict[tuple[int, str], list[float]] = {}
    for _ in range(rounds):
        for rhythm in ("loop", "paused"):
            for number, server in enumerate(servers):
                assert server.stdin
                server.stdin.write(f"{rhythm}\n".encode())
                server.stdin.flush()
                times.setdefault((number, rhythm), []).extend(msgspec.json.decode(line_of(server)))
    for server in servers:
        server.communicate()
    print(f"{'ms':<34}{'loop':>7}{'p95':>7}{'paused':>9}{'p95':>7}{'opening':>10}{'MB':>6}")
    for number, each in enumerate(variants):
        loop, paused = times[number, "loop"], times[number, "paused"]
        print(
            f"{each.name:<34}{statistics.median(loop):>7.2f}{p95(loop):>7.2f}{statistics.median(paused):>9.2f}"
            f"{p95(paused):>7.2f}{opened[number].opening_ms:>10.0f}{opened[number].memory_mb:>6.0f}"
        )


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def start(variant: Variant, *, fifo: bool) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        __file__,
        "--serve",
        msgspec.json.encode(variant).decode(),
        *(["--fifo"] if fifo else []),
    ]
    environment = {**os.environ, **variant.environment}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def line_of(server: subprocess.Popen[bytes]) -> bytes:
    assert server.stdout
    return server.stdout.readline()


def serve(variant: Variant, *, fifo: bool) -> None:
    """Say what opening took; then, for each line that names a rhythm, answer with the times of one turn."""
    import numpy as np
    import onnxruntime  # noqa: F401  # its import is not what is measured

    if fifo:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(3))
    before_mb, started = resident_mb(), perf_counter()
    embed = ours() if variant.ours else bare(variant)
    opening_ms = (perf_counter() - started) * 1000
    embed("a first query")
    say(Opened(opening_ms, resident_mb() - before_mb))
    words, chance = vocabulary(), random.Random()
    elsewhere = np.ones(READ_BETWEEN_BYTES // 4, np.float32)
    for line in sys.stdin:
        times = []
        for _ in range(QUERIES_A_TURN):
            query = " ".join(chance.choices(words, k=TOKENS))
            if line.strip() == "paused":
                elsewhere.sum()
                sleep(PAUSE_S)
            begun = perf_counter()
            embed(query)
            times.append((perf_counter() - begun) * 1000)
        say(times[UNCOUNTED:])


def say(value: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def resident_mb() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS")) / 1000


def vocabulary() -> list[str]:
    """Words of one token each."""
    from models.locate import locate
    from models.tokenizer import load_tokenizer

    found = load_tokenizer(locate(MODEL).tokenizer, None).get_vocab()
    return sorted(word for word in found if word.isalpha() and word.isascii() and len(word) > 3)


def ours() -> Callable[[str], object]:
    from models.embedder import Embedder
    from models.locate import locate

    return Embedder.load(locate(MODEL), spinning=True, for_queries=True).embed_query


def bare(variant: Variant) -> Callable[[str], object]:
    """Tokenizer, session and mean, with nothing around them."""
    import numpy as np
    import onnxruntime

    from models.locate import locate
    from models.minilm import rewrite
    from models.minilm_int8 import rewrite_int8
    from models.session import usable_cores
    from models.tokenizer import load_tokenizer

    files = locate(MODEL)
    tokenizer = load_tokenizer(files.tokenizer, files.spec.max_tokens)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = variant.threads or usable_cores()
    options.log_severity_level = 3
    for name, value in variant.options.items():
        setattr(options, name, value)
    config = dict(variant.config)
    if variant.apart:
        mine, *others = sorted(os.sched_getaffinity(0))
        config["session.intra_op_thread_affinities"] = ";".join(str(core + 1) for core in others)
        os.sched_setaffinity(0, {mine})
    for key, value in config.items():
        options.add_session_config_entry(key, value)
    made = {"file": lambda path: (str(path), {}), "float32": rewrite, "int8": rewrite_int8}
    graph, weights = made[variant.graph](files.onnx)
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
    options.add_external_initializers(list(weights), values)
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    asked = [each.name for each in session.get_inputs()]
    (output,) = (each.name for each in session.get_outputs())

    def embed(text: str) -> object:
        _ = weights  # read by the session as long as it lives
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [found] = run({name: feeds[name] for name in asked})
        vector = found if found.ndim == 1 else found.mean(axis=0)
        return vector / np.sqrt(vector @ vector)

    def run(feeds: dict[str, np.ndarray]) -> Any:
        if not variant.bound:
            return session.run([output], feeds)[0]
        binding = session.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        binding.bind_output(output)
        session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()[0]

    return embed


if __name__ == "__main__":
    main()
