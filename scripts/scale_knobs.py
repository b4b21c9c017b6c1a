#!/usr/bin/env python3
"""SQLite's page size and cache, measured where they would tell: scripts/scale_knobs.py [--rows N]

Each setting fills a database of its own through the store's own functions and reads it back as a rebuild of the matrix does. What
counts is the CPU time of the last tenth, where the indexes are largest; wall times would be the machine's, not SQLite's.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from pathlib import Path
from time import process_time

from scale_store import CHUNKS_A_DOCUMENT, DOCUMENTS_A_TRANSACTION, Made, built_with, insert

from index import builtwith, database, schema, store, vectors
from index.writer import Writer
from models.known import KNOWN

SPEC = next(iter(KNOWN.values()))
SETTINGS = ((4096, -2000, 0), (4096, -64_000, 0), (4096, -2000, 1 << 32), (8192, -2000, 0), (16_384, -2000, 0))
"""Page size, cache (below 0: KB), bytes that are mapped; the first is what the store has, SQLite's own."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    rows = parser.parse_args().rows
    made = Made(SPEC.dim)
    print(
        f"{rows:,} chunks; CPU time\n{'page':>8}{'cache':>10}{'mapped':>10}{'append, us a chunk':>22}{'read, us a chunk':>20}{'MB':>8}"
    )
    for page, cache, mapped in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            append_us, read_us, size = measured(Path(folder), made, rows, (page, cache, mapped))
        print(
            f"{page:>8}{cache:>10}{'yes' if mapped else 'no':>10}{append_us:>22.0f}{read_us:>20.1f}{size / 1e6:>8.0f}",
            flush=True,
        )


def measured(folder: Path, made: Made, rows: int, setting: tuple[int, int, int]) -> tuple[float, float, int]:
    page, cache, mapped = setting
    path = store.database_path(folder)
    with sqlite3.connect(path) as empty:
        empty.execute(f"PRAGMA page_size = {page}")
        empty.execute("VACUUM")
    connection = database.connect_writer(path)
    connection.execute(f"PRAGMA cache_size = {cache}")
    connection.execute(f"PRAGMA mmap_size = {mapped}")
    schema.migrate(connection)
    writer = Writer(folder, connection)
    with writer.transaction():
        builtwith.set_built_with(connection, built_with(SPEC))
    documents = rows // CHUNKS_A_DOCUMENT
    began, late = 0.0, documents - documents // 10
    for start in range(0, documents, DOCUMENTS_A_TRANSACTION):
        if not began and start >= late:
            began, late = process_time(), start
        insert(writer, SPEC, made, range(start, min(documents, start + DOCUMENTS_A_TRANSACTION)))
    append_s = process_time() - began
    began = process_time()
    count = sum(len(ids) for ids, _ in vectors.of_chunks(connection, SPEC.key, SPEC.dim, after_seq=-1))
    read_s = process_time() - began
    connection.close()
    return append_s / (documents - late) / CHUNKS_A_DOCUMENT * 1e6, read_s / count * 1e6, path.stat().st_size


if __name__ == "__main__":
    main()
