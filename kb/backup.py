"""Backup: the store at one moment as one file, whole or not there, while others read and write."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from index import backup as copying
from index import database, schema
from index.atomic import sync
from index.builtwith import built_with
from index.errors import StoreDamaged
from index.writer import utc_now
from kb import __version__, backupfile
from kb.backupfile import CONFIG, LARGEST_TEXT_BYTES, Manifest
from kb.errors import BadRequest
from kb.wire_moving import BackupAnswer


def backup(data_dir: Path, target: Path, *, force: bool) -> BackupAnswer:
    """Raises BadRequest for a target that is there (unless `force`) or cannot be, StoreMissing, StoreDamaged, DiskFault.

    What is in the making lies beside the target, in a folder that only the user can read.
    """
    _check(data_dir, target, force=force)
    with (
        database.disk_faults_reported(target),
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".kb-backup-") as folder,
    ):
        copied, packed = Path(folder) / "kb.db", Path(folder) / "backup"
        copying.copy(data_dir, copied)
        config = _config(data_dir)
        manifest = _manifest(copied, config)
        with os.fdopen(os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            backupfile.write(file, manifest, copied, config or b"")
            file.flush()
            os.fsync(file.fileno())
        size = packed.stat().st_size
        _check(data_dir, target, force=force)  # it took a while
        packed.replace(target)
        sync(target.parent)
    return BackupAnswer(
        path=str(target), bytes=size, database_bytes=manifest.database.size_bytes, sha256=manifest.database.sha256,
        created_at=manifest.created_at, schema_version=manifest.schema_version, model=manifest.model_name,
        documents=manifest.documents, chunks=manifest.chunks, vectors=manifest.vectors, with_config=config is not None,
    )  # fmt: skip


def _check(data_dir: Path, target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise BadRequest(f"there is no folder {target.parent}", "make it first, or name another one")
    if target.is_dir():
        raise BadRequest(f"{target} is a folder", "name the file that is to be written")
    if data_dir.resolve() in target.resolve().parents:
        raise BadRequest(f"{target} lies in the store's own folder", "a backup there is lost with the store")
    if os.path.lexists(target) and not force:
        raise BadRequest(f"{target} is there already", "--force replaces it")


def _config(data_dir: Path) -> bytes | None:
    path = data_dir / CONFIG
    if not path.exists():
        return None
    if path.stat().st_size > LARGEST_TEXT_BYTES:
        raise BadRequest(f"{path} is too large to be a configuration", "move it away")
    return path.read_bytes()


def _manifest(copied: Path, config: bytes | None) -> Manifest:
    """Raises StoreDamaged for what could not be restored."""
    with closing(database.connect_reader(copied)) as connection:
        if found := copying.problems(connection):
            raise StoreDamaged(f"kb.db is damaged: {found[0]}", "restore an earlier backup: kb restore FILE")
        return Manifest(
            program=__version__,
            created_at=utc_now(),
            schema_version=schema.version(connection),
            model_name=built_with(connection).model_name,
            documents=_count(connection, "documents"),
            chunks=_count(connection, "chunks"),
            vectors=_count(connection, "vectors"),
            database=backupfile.measure(copied),
            config=None if config is None else backupfile.Member.of(config),
        )


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
