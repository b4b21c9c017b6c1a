"""Files as they were, for documents that are to be kept whole: compressed, once a content hash, in the table `originals`.

An original lives as long as a document has its hash. Triggers note each document that goes (`index.schema`), and every
transaction ends with `drop_loose`: so no way to remove a document can forget its original, and a document that is
deleted and inserted again in one transaction keeps it. Bytes go in and out a piece at a time, so memory stays flat.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import IO

import msgspec

PIECE_BYTES = 1 << 20
HELD_IN_MEMORY_BYTES = 1 << 20
"""What is larger when compressed waits in a temporary file."""
LARGEST_BYTES = 1_000_000_000
"""Of what SQLite stores in one value (SQLITE_MAX_LENGTH as it is built everywhere)."""


class Packed(msgspec.Struct, frozen=True):
    """A file compressed, on its way into the store."""

    content_hash: str
    """sha256 of the bytes that were read, hex: the caller compares it with the document's."""
    name: str
    compressed: IO[bytes]
    size_bytes: int
    """Of `compressed`."""

    @property
    def is_too_large(self) -> bool:
        return self.size_bytes >= LARGEST_BYTES


def pack(file: IO[bytes], name: str) -> Packed:
    """Read `file` to its end. `keep` closes what comes of it."""
    import hashlib  # these three cost a search milliseconds, and it packs nothing
    import tempfile
    import zlib

    digest, compressor = hashlib.sha256(), zlib.compressobj()
    compressed = tempfile.SpooledTemporaryFile(HELD_IN_MEMORY_BYTES)  # noqa: SIM115  outlives this function
    while piece := file.read(PIECE_BYTES):
        digest.update(piece)
        compressed.write(compressor.compress(piece))
    compressed.write(compressor.flush())
    return Packed(digest.hexdigest(), name, compressed, compressed.tell())


def keep(connection: sqlite3.Connection, packed: Packed) -> bool:
    """Store it, inside a transaction; False where it is there already."""
    cursor = connection.execute(
        "INSERT OR IGNORE INTO originals VALUES (?, ?, zeroblob(?))",
        (packed.content_hash, packed.name, packed.size_bytes),
    )
    with packed.compressed as compressed:
        if not cursor.rowcount or cursor.lastrowid is None:
            return False
        compressed.seek(0)
        with connection.blobopen("originals", "bytes", cursor.lastrowid) as blob:
            while piece := compressed.read(PIECE_BYTES):
                blob.write(piece)
    return True


def name_of(connection: sqlite3.Connection, content_hash: str) -> str | None:
    """What the file was called; None where its bytes are not kept."""
    row = connection.execute("SELECT name FROM originals WHERE content_hash = ?", (content_hash,)).fetchone()
    return None if row is None else str(row[0])


def pieces(connection: sqlite3.Connection, content_hash: str) -> Iterator[bytes]:
    """The bytes of an original that is kept, in order."""
    row = connection.execute("SELECT rowid FROM originals WHERE content_hash = ?", (content_hash,)).fetchone()
    import zlib

    decompressor = zlib.decompressobj()
    with connection.blobopen("originals", "bytes", row[0], readonly=True) as blob:
        while piece := blob.read(PIECE_BYTES):
            while piece:
                yield decompressor.decompress(piece, PIECE_BYTES)
                piece = decompressor.unconsumed_tail
    yield decompressor.flush()


def is_whole(connection: sqlite3.Connection, content_hash: str) -> bool:
    """Whether the bytes are those of which the hash is."""
    import hashlib
    import zlib

    digest = hashlib.sha256()
    try:
        for piece in pieces(connection, content_hash):
            digest.update(piece)
    except (zlib.error, TypeError):  # not to be unpacked, not to be found
        return False
    return digest.hexdigest() == content_hash


def forget(connection: sqlite3.Connection, content_hash: str) -> bool:
    """Drop an original whose document stays, inside a transaction; whether there was one."""
    return bool(connection.execute("DELETE FROM originals WHERE content_hash = ?", (content_hash,)).rowcount)


def drop_loose(connection: sqlite3.Connection) -> None:
    """At the end of a transaction: originals that no document has any more."""
    connection.execute(
        "DELETE FROM originals WHERE content_hash IN (SELECT content_hash FROM loose_originals)"
        " AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.content_hash = originals.content_hash)"
    )
    connection.execute("DELETE FROM loose_originals")
