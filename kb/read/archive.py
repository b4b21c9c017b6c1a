"""Opens the zip archives that Office and EPUB files are, and refuses bombs before anything is unpacked.

What an archive will unpack to is read from its central directory: the number of members, the bytes together, the ratio
to the file's own size. Python's zipfile never returns more of a member than the directory declares, so the same check
bounds every later read by a library that we hand the path to. XML that declares entities is refused too. An archive
inside an archive is never opened, so nesting cannot multiply anything; nothing is ever written to disk.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.errors import EncryptedFile, NotFound, UnreadableFile
from kb.types import ReadOptions, Source

MAX_MEMBERS = 10_000  # Docling's own limit; a deck of 500 slides has about 2,500
MAX_RATIO = 200  # deflate ends at 1,032; worksheets of one repeated number reach about 60
RATIO_FREE_BYTES = 32 * 1024 * 1024  # below this no ratio hurts
CHUNK_BYTES = 1024 * 1024

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED_PACKAGE = "EncryptedPackage".encode(
    "utf-16-le"
)  # the stream that holds an encrypted OOXML file, MS-OFFCRYPTO
ENCRYPTED_FLAG = 0x1
SAVE_AS = {".doc": "docx", ".dot": "docx", ".xls": "xlsx", ".xlt": "xlsx", ".ppt": "pptx", ".pps": "pptx"}
ENTITY = b"<!ENTITY"
ENTITIES = (ENTITY, ENTITY.decode().encode("utf-16-le"), ENTITY.decode().encode("utf-16-be"))
XML_SUFFIXES = (".xml", ".rels", ".opf", ".ncx", ".vml")
DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError,
    NotImplementedError,  # a version or a compression that no program writes
    UnicodeDecodeError,  # in a name
    struct.error,
)  # fmt: skip
"""What zipfile raises over an archive that is none any more, besides OSError."""
REPAIR_HINT = "Open it in the program that made it and save it again."


@contextmanager
def open_archive(source: Source, options: ReadOptions) -> Iterator[zipfile.ZipFile]:
    """The archive, checked. Raises UnreadableFile (EncryptedFile) in one line, also for damage found while reading."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            check(archive, source, options)
            yield archive
    except FileNotFoundError as error:
        raise NotFound(f"{source.path}: no such file") from error
    except DAMAGED as error:
        raise _not_an_archive(source) from error
    except OSError as error:
        reason = error.strerror or "damaged archive"
        raise UnreadableFile(f"{source.path}: {reason}", REPAIR_HINT) from error


def check(archive: zipfile.ZipFile, source: Source, options: ReadOptions) -> None:
    """Refuses what is encrypted, a bomb, or holds XML that declares entities. Reads the XML members through once."""
    members = archive.infolist()
    if any(member.flag_bits & ENCRYPTED_FLAG for member in members):
        raise EncryptedFile(f"{source.path}: the archive is encrypted", "Unpack it with its password and zip it again.")
    expanded_bytes = sum(member.file_size for member in members)
    packed_bytes = Path(source.path).stat().st_size
    if len(members) > MAX_MEMBERS:
        raise _bomb(source, f"{len(members):,} members")
    if expanded_bytes > options.max_expanded_bytes:
        raise _bomb(source, f"would unpack to {expanded_bytes // 2**20:,} MiB")
    if expanded_bytes > max(RATIO_FREE_BYTES, MAX_RATIO * packed_bytes):
        raise _bomb(source, f"would unpack to {expanded_bytes // packed_bytes:,} times its size")
    for member in members:
        if member.filename.lower().endswith(XML_SUFFIXES):
            _refuse_entities(archive, member, source)


def read_member(archive: zipfile.ZipFile, name: str, limit_bytes: int) -> bytes:
    """A member's bytes. Raises UnreadableFile when it is missing or longer than `limit_bytes`."""
    try:
        with archive.open(name) as stream:
            content = stream.read(limit_bytes + 1)
    except KeyError as error:
        raise UnreadableFile(f"{archive.filename}: {name} is missing in the archive", REPAIR_HINT) from error
    if len(content) > limit_bytes:
        raise UnreadableFile(f"{archive.filename}: {name} unpacks to more than {limit_bytes:,} bytes")
    return content


def _refuse_entities(archive: zipfile.ZipFile, member: zipfile.ZipInfo, source: Source) -> None:
    """Streamed, with a tail kept so that no chunk border hides the declaration."""
    tail = b""
    with archive.open(member) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            window = tail + chunk
            if any(entity in window for entity in ENTITIES):
                raise UnreadableFile(
                    f"{source.path}: {member.filename} declares XML entities, which no office program writes",
                    "The file may be an attack; do not open it.",
                )
            tail = window[-2 * len(ENTITY) :]


def _bomb(source: Source, reason: str) -> UnreadableFile:
    return UnreadableFile(
        f"{source.path}: refused as a zip bomb ({reason})", "If you trust it, unpack it and add what is inside."
    )


def _not_an_archive(source: Source) -> UnreadableFile:
    """Says what the file is instead: encrypted, the old binary format, or damaged."""
    path = Path(source.path)
    content = path.read_bytes()
    if not content:
        return UnreadableFile(f"{source.path}: the file is empty")
    if content.startswith(OLE):
        if ENCRYPTED_PACKAGE in content:
            return EncryptedFile(f"{source.path}: encrypted with a password", "Save it without a password.")
        new = SAVE_AS.get(path.suffix.lower(), source.doc_type)
        return UnreadableFile(
            f"{source.path}: the old binary Office format", f"Open it in Office or LibreOffice and save it as .{new}."
        )
    if content.startswith(b"PK"):
        return UnreadableFile(f"{source.path}: damaged or cut off ({source.doc_type})", REPAIR_HINT)
    return UnreadableFile(
        f"{source.path}: not a {source.doc_type} file", "Give --type if it is another kind under a wrong name."
    )
