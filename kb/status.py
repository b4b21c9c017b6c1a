"""Status: how much is in the store, with which model, and what should be done about it. Only reads."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from index import database, documents, failures, projections, sources, tags, unembedded, vectors
from index.builtwith import BuiltWith, built_with
from index.epoch import MatrixDamaged
from index.errors import StoreLocked
from index.matrix import Matrix
from index.store import Reader, database_path, reading
from kb import heartbeat, jobanswers, provider, rerank
from kb.model import choose
from kb.newvectors import other_windows, refusal
from kb.settings import Search, Settings
from kb.wire import EmbeddingStatus, RerankStatus, SourceStatus, StatusAnswer
from models.errors import ModelError
from models.rerankerfiles import full_name

COMPACT_FROM = 0.25
"""Share of dead rows from which compaction is suggested: below it costs more than it gives."""


def status(data_dir: Path, settings: Settings) -> StatusAnswer:
    with reading(data_dir, settings.storage.lock_timeout_s) as reader, reader.moment():
        connection = reader.connection
        matrix = _matrix(reader)
        rows, dead = (matrix.header.rows, matrix.dead_count) if matrix else (0, 0)
        chunks = documents.chunk_count(connection)
        failed = failures.every(connection)
        built = built_with(connection)
        waiting = waiting_count(reader, matrix, built, chunks)
        warnings = [*reader.warnings]
        if rows and dead / rows >= COMPACT_FROM:
            warnings.append(f"{dead} of {rows} rows of the matrix are dead: kb compact gives their room back")
        if waiting:
            warnings.append(f"{waiting} texts wait for their vectors: kb reindex makes them")
        if built.windows != settings.embedding.windows:
            warnings.append(other_windows(built.windows, settings.embedding.windows))
        refused = unembedded.count(connection, built.model_key)
        if refused:
            warnings.append(refusal(refused))
        jobs = jobanswers.status(connection, data_dir)
        if jobs.running and jobs.worker is None:
            warnings.append("the worker of a job died: kb jobs run goes on with it")
        watched = heartbeat.read(data_dir)
        if watched and not watched.running:
            warnings.append(
                f"the watcher (process {watched.pid}) died after {watched.beat_at}: kb sync --watch starts one"
            )
        return StatusAnswer(
            data_dir=str(data_dir),
            documents=documents.count(connection),
            chunks=chunks,
            by_type=_by_type(connection),
            tags=len(tags.every(connection)),
            model=built.model_name,
            embedding_dim=built.embedding_dim,
            model_max_tokens=built.model_max_tokens,
            rows=rows,
            dead_rows=dead,
            waiting=waiting,
            failed_files=sum(row.kind == "failed" for row in failed),
            no_text_files=sum(row.kind == "no_text" for row in failed),
            schema_version=int(database.read_config(connection)["schema_version"]),
            database_bytes=sum(size_of(path) for path in data_dir.glob(f"{database_path(data_dir).name}*")),
            matrix_bytes=size_of(projections.matrix_folder(data_dir)),
            lexical_bytes=size_of(projections.lexical_folder(data_dir)),
            last_added_at=connection.execute("SELECT max(created_at) FROM documents").fetchone()[0],
            rerank=_rerank(settings.search),
            embedding=_embedding(data_dir, settings, built),
            unembedded=refused,
            sources=_sources(connection),
            watch=watched,
            windows=built.windows,
            jobs=jobs,
            warnings=tuple(warnings),
        )


def _sources(connection: sqlite3.Connection) -> tuple[SourceStatus, ...]:
    counts = sources.document_counts(connection)
    return tuple(
        SourceStatus(name=row.name, path=row.path, documents=counts.get(row.id, 0), synced_at=row.synced_at)
        for row in sources.every(connection)
    )


def _rerank(wanted: Search) -> RerankStatus:
    reason = rerank.unavailable(wanted)
    return RerankStatus(
        enabled=wanted.rerank, model=full_name(wanted.rerank_model), url=wanted.rerank_url, available=not reason,
        reason=reason,
    )  # fmt: skip


def _embedding(data_dir: Path, settings: Settings, built: BuiltWith) -> EmbeddingStatus:
    try:
        reason = choose(settings.embedding, built, data_dir=data_dir).missing or ""
    except ModelError as error:
        reason = f"{error.message} {error.hint}"
    return EmbeddingStatus(
        provider=settings.embedding.provider, url=provider.endpoint(settings.embedding), available=not reason, reason=reason
    )  # fmt: skip


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; 0 if there is none."""
    if path.is_dir():
        return sum(size_of(child) for child in path.iterdir())
    return path.stat().st_size if path.exists() else 0


def waiting_count(reader: Reader, matrix: Matrix | None, built: BuiltWith, chunks: int) -> int:
    """Texts that wait for a vector. Where every chunk and window has a row, none does: looking through a million takes seconds."""
    windows = vectors.window_count(reader.connection)
    if matrix is not None and reader.is_of_one_moment and not reader.warnings and matrix.live_count == chunks + windows:
        return 0
    return vectors.waiting_count(reader.connection, built.model_key)


def _matrix(reader: Reader) -> Matrix | None:
    try:
        return reader.matrix()
    except (MatrixDamaged, StoreLocked):
        reader.warnings.append("the matrix is being rebuilt by another process")
        return None


def _by_type(connection: sqlite3.Connection) -> dict[str, int]:
    rows = connection.execute("SELECT doc_type, count(*) FROM documents GROUP BY doc_type ORDER BY doc_type")
    return dict(rows.fetchall())
