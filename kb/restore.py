"""Restore: a backup verified from end to end, and only then put in the place of the store.

Order of the proofs: every byte of the file, each member's checksum, SQLite's own check of the database, that it is a store of
this program. Until then nothing of the old store is touched. What is wrong with single texts or vectors is said and does not
stop it: such a backup may be all that is left.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

from index import backup as copying
from index import check, database, schema
from index.atomic import replace_file
from index.errors import StoreDamaged
from index.store import database_path
from kb import backupfile
from kb.backupfile import CONFIG, Manifest
from kb.errors import NotFound, UnreadableFile
from kb.wire_moving import RestoreAnswer


def manifest_of(file: Path) -> Manifest:
    """What is in a backup, every byte of which is as it was written. Raises NotFound, UnreadableFile."""
    if not file.is_file():
        raise NotFound(f"no backup {file}", "name the file that kb backup wrote")
    backupfile.check_whole(file)
    with backupfile.unpacking(file) as members:
        return members.manifest()


def is_occupied(data_dir: Path) -> bool:
    """Whether a restore would replace something, be it a store that can be opened or not."""
    return database_path(data_dir).exists()


def restore(data_dir: Path, file: Path, lock_timeout_s: float) -> RestoreAnswer:
    """Replaces what is in `data_dir`. Raises NotFound, UnreadableFile, StoreTooNew, StoreLocked, DiskFault; then nothing changed."""
    manifest_of(file)
    occupied = is_occupied(data_dir)
    with copying.staging(data_dir, lock_timeout_s) as staged, database.disk_faults_reported(data_dir):
        with backupfile.unpacking(file) as members:
            manifest = members.manifest()
            members.database(manifest.database, staged)
            config = members.config(manifest.config) if manifest.config else None
        warnings = _verified(staged, file)
        copying.put_in_place(staged, data_dir)
        what = _put_config(data_dir, config)
    if what == "kept" and config not in (None, (data_dir / CONFIG).read_bytes()):
        warnings.append(f"config.yaml stays as it is here; the backup's: tar -xzOf {file} {CONFIG}")
    return RestoreAnswer(
        data_dir=str(data_dir), backup=str(file), created_at=manifest.created_at, schema_version=manifest.schema_version,
        model=manifest.model_name, documents=manifest.documents, chunks=manifest.chunks, vectors=manifest.vectors,
        replaced=occupied, config=what, warnings=tuple(warnings),
    )  # fmt: skip


def _verified(staged: Path, file: Path) -> list[str]:
    """What is wrong with single rows. Raises UnreadableFile, StoreTooNew for what cannot be a store of this program."""
    no_store = UnreadableFile(f"the database in {file} is damaged or no store of kb", "nothing was replaced")
    try:
        with closing(database.connect_reader(staged)) as connection:
            schema.check_version(connection)
            if copying.problems(connection) or not _is_store(connection):
                raise no_store
            found = check.contents(connection)
    except StoreDamaged as error:
        raise no_store from error
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return [f"the backup was taken of a store with a fault: {found[0]}{more}; kb doctor says more"] if found else []


def _is_store(connection: sqlite3.Connection) -> bool:
    return schema.version(connection) > 0 and "model_name" in database.read_config(connection)


def _put_config(data_dir: Path, config: bytes | None) -> Literal["restored", "kept", "none"]:
    """What somebody prefers on this machine is not replaced."""
    path = data_dir / CONFIG
    if path.exists():
        return "kept"
    if config is None:
        return "none"
    replace_file(path, config)
    return "restored"
