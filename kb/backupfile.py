"""The file that a backup is: a `.tar.gz` that any `tar -xzf` opens, and that is known to be whole before it is believed.

    gzip member     a tar of `manifest.json`, `kb.db` and, where there is one, `config.yaml`
    gzip member     empty, with the comment `sha256 <hex>`: of every byte before it

The last member is what gzip's own checksum leaves open: it says nothing of the bytes of gzip's header, of the padding at its
end, or of a file that ends between two members. Not here: what a store needs in order to be copied or replaced (`index.backup`).
"""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Self

import msgspec

from index.atomic import for_us_alone
from kb.errors import UnreadableFile

FORMAT = 1
MANIFEST, DATABASE, CONFIG = "manifest.json", "kb.db", "config.yaml"
PIECE_BYTES = 1 << 20
LARGEST_TEXT_BYTES = 1 << 20
"""Of the manifest and of config.yaml, which are read whole."""
GZIP_MAGIC = b"\x1f\x8b"
SEAL_HEAD = b"\x1f\x8b\x08\x10\0\0\0\0\0\xff" + b"sha256 "
"""Of a gzip member with a comment and no time (RFC 1952)."""
SEAL_TAIL = b"\0" + b"\x03\0" + bytes(8)
"""The end of the comment, deflate's shortest way to say nothing, checksum and length of nothing."""
SEAL_BYTES = len(SEAL_HEAD) + hashlib.sha256().digest_size * 2 + len(SEAL_TAIL)


class Member(msgspec.Struct, frozen=True):
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> Self:
        return cls(len(content), hashlib.sha256(content).hexdigest())


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The first thing in a backup: what follows, and of what store."""

    format: int = FORMAT
    program: str
    """Version of the kb that made it."""
    created_at: str
    schema_version: int
    model_name: str
    documents: int
    chunks: int
    vectors: int
    database: Member
    config: Member | None


class _Format(msgspec.Struct, frozen=True):
    format: int


def measure(path: Path) -> Member:
    with path.open("rb") as file:
        return Member(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write(target: IO[bytes], manifest: Manifest, database: Path, config: bytes) -> None:
    """`target` is written from its beginning; memory stays flat. `config` is of no account where the manifest has none."""
    sealed = _Digesting(target)
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=sealed, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        said = msgspec.json.format(msgspec.json.encode(manifest))
        tar.addfile(_entry(MANIFEST, len(said)), BytesIO(said))
        with database.open("rb") as file:
            tar.addfile(_entry(DATABASE, manifest.database.size_bytes), file)
        if manifest.config:
            tar.addfile(_entry(CONFIG, manifest.config.size_bytes), BytesIO(config))
    target.write(_seal(sealed.digest.hexdigest()))


def check_whole(path: Path) -> None:
    """Raises UnreadableFile unless every byte is as it was written: one pass over the file, nothing unpacked."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = path.stat().st_size - SEAL_BYTES
        if file.read(len(GZIP_MAGIC)) != GZIP_MAGIC:
            raise UnreadableFile(f"{path} is no backup of kb", "kb backup FILE makes one")
        file.seek(0)
        while left > 0 and (piece := file.read(min(PIECE_BYTES, left))):
            digest.update(piece)
            left -= len(piece)
        if left or file.read() != _seal(digest.hexdigest()):
            raise damaged(path)


@contextmanager
def unpacking(path: Path) -> Iterator[Unpacking]:
    """Of a file that is whole. Raises UnreadableFile where it is whole and no backup, or one of a newer kb."""
    try:
        with gzip.open(path) as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
            yield Unpacking(path, tar)
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise damaged(path) from error


class Unpacking:
    """The members one after the other, in their order; each is believed only when its checksum is right."""

    def __init__(self, path: Path, tar: tarfile.TarFile) -> None:
        self.path = path
        self.tar = tar

    def manifest(self) -> Manifest:
        content = self._small(MANIFEST)
        try:
            found = msgspec.json.decode(content, type=_Format).format
            if found > FORMAT:
                raise UnreadableFile(f"{self.path} was made by a newer kb (format {found})", "upgrade kb-search")
            return msgspec.json.decode(content, type=Manifest)
        except msgspec.DecodeError as error:
            raise damaged(self.path) from error

    def database(self, expected: Member, target: Path) -> None:
        digest = hashlib.sha256()
        with open(target, "wb", opener=for_us_alone) as file:
            member = self._next(DATABASE)
            while piece := member.read(PIECE_BYTES):
                digest.update(piece)
                file.write(piece)
        self._check(expected, digest.hexdigest())

    def config(self, expected: Member) -> bytes:
        content = self._small(CONFIG)
        self._check(expected, Member.of(content).sha256)
        return content

    def _small(self, name: str) -> bytes:
        content = self._next(name).read(LARGEST_TEXT_BYTES + 1)
        if len(content) > LARGEST_TEXT_BYTES:
            raise damaged(self.path)
        return content

    def _next(self, name: str) -> IO[bytes]:
        entry = self.tar.next()
        member = self.tar.extractfile(entry) if entry is not None and entry.name == name and entry.isreg() else None
        if member is None:
            raise damaged(self.path)
        return member

    def _check(self, expected: Member, sha256: str) -> None:
        if sha256 != expected.sha256:
            raise damaged(self.path)


def damaged(path: Path) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is not what kb backup wrote: it was cut short or changed", "nothing was replaced; take another backup"
    )


class _Digesting:
    """What is written here goes to `target`, and into a digest."""

    def __init__(self, target: IO[bytes]) -> None:
        self.target = target
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> int:
        self.digest.update(content)
        return self.target.write(content)

    def flush(self) -> None:
        self.target.flush()


def _seal(sha256: str) -> bytes:
    return SEAL_HEAD + sha256.encode() + SEAL_TAIL


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry
