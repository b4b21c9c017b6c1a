"""What was sent to be added, on its way to a job: `uploads/` in the data directory, mode 0700.

Each upload lies in a folder of its own, named by the sha256 of its bytes and a random part, under the name it was sent as: so the
same file may be sent twice, and readers see its extension. It is as it was sent: what is secret in it is put out when it is read, and
`kb.worker` removes it when its job is over. Not here: how many bytes may be sent, and by whom.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from time import time
from types import TracebackType
from typing import Self

import msgspec

from index.database import disk_faults_reported
from index.store import database_path
from kb.exported import safe_name

FOLDER = "uploads"
RECEIVING = "receiving-"
NAMELESS = "upload"
LONGEST_NAME = 200
"""Characters of the name that is shown."""
UNCLAIMED_S = 3600.0
"""What no job has named for so long, none will."""


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was sent, whole."""

    name: str
    """As its sender calls it, without folders."""
    place: str
    """Below `uploads/`."""
    content_hash: str
    size_bytes: int


class Receiving:
    """One upload as its bytes come in; nothing is left of one that is not kept. Raises DiskFault.

    with Receiving(data_dir, "report.pdf") as receiving:
        for data in pieces:
            receiving.write(data)
        upload = receiving.keep()
    """

    def __init__(self, data_dir: Path, name: str) -> None:
        self.data_dir = data_dir
        self.name = shown_name(name)
        self.size_bytes = 0
        self._digest = hashlib.sha256()
        self._path = folder_of(data_dir) / f"{RECEIVING}{secrets.token_hex(8)}"

    def __enter__(self) -> Self:
        with disk_faults_reported(database_path(self.data_dir)):
            folder_of(self.data_dir).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        return self

    def write(self, data: bytes) -> None:
        with disk_faults_reported(database_path(self.data_dir)):
            self._file.write(data)
        self._digest.update(data)
        self.size_bytes += len(data)

    def keep(self) -> Upload:
        """All bytes have come."""
        content_hash = self._digest.hexdigest()
        place = f"{content_hash}-{secrets.token_hex(4)}/{safe_name(self.name)}"
        target = path_of(self.data_dir, place)
        with disk_faults_reported(database_path(self.data_dir)):
            self._file.flush()
            os.fsync(self._file.fileno())
            target.parent.mkdir(mode=0o700)
            self._path.rename(target)
        return Upload(name=self.name, place=place, content_hash=content_hash, size_bytes=self.size_bytes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # a full disk, at the end of what failed for it
            self._file.close()
        self._path.unlink(missing_ok=True)


def folder_of(data_dir: Path) -> Path:
    return data_dir / FOLDER


def path_of(data_dir: Path, place: str) -> Path:
    return folder_of(data_dir) / place


def shown_name(sent: str) -> str:
    """The name of a file as somebody sent it: no folders, nothing that is no text."""
    name = PurePosixPath(sent.replace("\\", "/")).name
    name = "".join(letter for letter in name.encode(errors="replace").decode() if letter.isprintable())
    return name.strip()[-LONGEST_NAME:] or NAMELESS


def distinct(uploads: Collection[Upload]) -> tuple[Upload, ...]:
    """Each with a name of its own: `report.pdf`, `report (2).pdf`."""
    taken: set[str] = set()
    found = []
    for upload in uploads:
        name, number = upload.name, 1
        while name in taken:
            number += 1
            stem, dot, suffix = upload.name.rpartition(".")
            name = f"{stem} ({number}).{suffix}" if dot and stem else f"{upload.name} ({number})"
        taken.add(name)
        found.append(msgspec.structs.replace(upload, name=name))
    return tuple(found)


def remove(data_dir: Path, places: Collection[str]) -> None:
    for place in places:
        shutil.rmtree(path_of(data_dir, place).parent, ignore_errors=True)


def orphans(data_dir: Path, needed: Collection[str]) -> Iterator[Path]:
    """What lies there for no job, and is too old to be on its way to one."""
    folder = folder_of(data_dir)
    expected = {place.partition("/")[0] for place in needed}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name not in expected and time() - path.stat().st_mtime > UNCLAIMED_S:
            yield path


def remove_orphans(data_dir: Path, needed: Collection[str]) -> None:
    for path in orphans(data_dir, needed):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
