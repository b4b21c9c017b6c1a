"""Measure a warm `search` call of `kb mcp`, asked by the SDK's own client over a real pipe, beside the embedding that it cannot do without.

The store and the queries are those of scripts/bench_search.py: 12 tokens each, never asked before, 20 ms apart. The call, the embedding
alone and a ping, which is the SDK alone on both sides, take turns of ten. What is measured is what an agent waits for: the client's
own reading, and its check of the answer against the tool's schema, are in it.

On a machine that is busy with other things: chrt -f 10 scripts/bench mcp, as root, which puts all that is compared before them.
"""

from __future__ import annotations

import os
import statistics
import sys
from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter

import anyio
from bench_floors import Floors
from bench_process import PAUSE_S
from bench_search import QUERIES, TURN, chunk_total, unseen
from bench_store import bench_store
from mcp import ClientSession, StdioServerParameters, stdio_client

BOUND_MS = 10
"""Over the embedding: issue 7."""


def bench_mcp() -> None:
    store = bench_store()
    queries = unseen(store)
    print(f"{chunk_total(store):,} chunks; queries such as: {', '.join(map(repr, islice(queries, 2)))}\n")
    floors = Floors.start(store)
    try:
        found = anyio.run(measure, store, floors, queries)
    finally:
        floors.end()
    print(f"{'ms':<46}{'least':>9}{'median':>9}{'p95':>9}{'p99':>9}{'N':>6}")
    for name, times in found.items():
        cuts = statistics.quantiles(times, n=100)
        print(
            f"{name:<46}{min(times):>9.2f}{statistics.median(times):>9.2f}{cuts[94]:>9.2f}{cuts[98]:>9.2f}{len(times):>6}"
        )
    call, embedding = statistics.median(found["search call"]), statistics.median(found["embedding alone, every 20 ms"])
    met = "met    " if call - embedding < BOUND_MS else "NOT MET"
    print(f"\n{met} search call: {call - embedding:.2f} ms over the embedding alone (medians), bound {BOUND_MS}")


async def measure(store: Path, floors: Floors, queries: Iterator[str]) -> dict[str, list[float]]:
    server = StdioServerParameters(
        command=str(Path(sys.executable).parent / "kb"),
        args=["mcp"],
        env={"KB_DATA_DIR": str(store), "HOME": os.environ["HOME"]},
    )
    async with stdio_client(server) as (heard, told), ClientSession(heard, told) as session:
        await session.initialize()
        await session.list_tools()
        found: dict[str, list[float]] = {
            "embedding alone, every 20 ms": [],
            "ping": [],
            "search call, by words": [],
            "search call": [],
        }
        for _ in range(QUERIES // TURN):
            some = list(islice(queries, TURN))
            found["embedding alone, every 20 ms"] += floors.times("embedding", some, PAUSE_S)
            found["ping"] += await timed(lambda _: session.send_ping(), some)
            found["search call, by words"] += await timed(
                lambda query: search(session, query, "keyword"), list(islice(queries, TURN))
            )
            found["search call"] += await timed(lambda query: search(session, query, "hybrid"), some)
        return found


async def search(session: ClientSession, query: str, mode: str) -> None:
    answer = await session.call_tool("search", {"query": query, "mode": mode})
    if answer.is_error or not answer.structured_content["results"]:
        raise SystemExit(f"nothing found for {query!r}: {answer}")


async def timed(ask: Callable[[str], Awaitable[object]], queries: Sequence[str]) -> list[float]:
    found = []
    for query in queries:
        await sleep(PAUSE_S)
        started = perf_counter()
        await ask(query)
        found.append((perf_counter() - started) * 1000)
    return found
