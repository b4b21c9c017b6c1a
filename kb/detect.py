"""Which type a file is: by its name, checked against its first bytes where the two disagree.

Does not read documents. A type that the user names (`--type`) is taken as it is.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from kb.errors import NotFound, UnreadableFile, UnsupportedType
from kb.read import languages
from kb.read.kinds import KINDS, Kind

SAMPLE_BYTES = 1024
"""Enough for every mark below, and for a shebang."""

MAGIC = (
    (0, b"\x89PNG\r\n\x1a\n", "image"),
    (0, b"\xff\xd8\xff", "image"),
    (0, b"II*\x00", "image"),
    (0, b"MM\x00*", "image"),
    (8, b"WEBP", "image"),
)
ARCHIVES = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"), ("META-INF/container.xml", "epub"))
TEXT_NAMES = frozenset(
    {"readme", "license", "licence", "copying", "changelog", "changes", "news", "authors", "notice", "todo", "install"}
)
"""Files without an extension that are prose by convention."""


class Detected(msgspec.Struct, frozen=True):
    doc_type: str
    warning: str | None = None


def supported_types() -> list[str]:
    return sorted(kind.doc_type for kind in KINDS)


def detect(path: Path, *, doc_type: str | None = None) -> Detected:
    """The type to read `path` as. Raises UnsupportedType, which lists the supported ones; NotFound; UnreadableFile."""
    if doc_type is not None:
        return Detected(known_type(doc_type))
    by_name = type_of_name(path)
    head = _head(path)
    if by_name in {"data", "text"} and _is_transcript(path):
        return Detected("transcript")
    by_content = _type_of_content(path, head)
    if by_content and by_content != by_name:
        said = f"named {path.suffix}" if path.suffix else "without an extension"
        note = f"{path.name}: {said}, but its content is {by_content}; read as {by_content}" if by_name else None
        return Detected(by_content, note)
    if by_name is None and languages.of_shebang(head.decode(errors="replace")):
        return Detected("code")
    if by_name is None:
        raise UnsupportedType(
            f"{path}: unsupported type {path.suffix or 'without extension'}",
            f"supported are {', '.join(map(_described, KINDS))}; --type TYPE reads it as one of these",
        )
    return Detected(by_name)


def type_of_name(path: Path) -> str | None:
    """The type that a name stands for, without looking into the file."""
    suffix = path.suffix.lower()
    for kind in KINDS:
        if suffix in kind.extensions:
            return kind.doc_type
    if not suffix and path.name.lower() in TEXT_NAMES:
        return "text"
    return "code" if languages.of_path(path) else None


def _described(kind: Kind) -> str:
    """`pdf (.pdf)`, `code (.sh .bash .zsh .ksh and 90 more)`."""
    shown, others = kind.extensions[:4], len(kind.extensions) - 4
    return f"{kind.doc_type} ({' '.join(shown)}{f' and {others} more' if others > 0 else ''})"


def known_type(doc_type: str) -> str:
    """The type that a user named. Raises UnsupportedType, which lists the supported ones."""
    if doc_type not in supported_types():
        raise UnsupportedType(f"unknown type {doc_type!r}", f"supported are {', '.join(supported_types())}")
    return doc_type


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(SAMPLE_BYTES)
    except FileNotFoundError as error:
        raise NotFound(f"{path}: no such file", "check the path") from error
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}", "check that it is a file that you may read") from error


def _is_transcript(path: Path) -> bool:
    from kb.read import transcript  # a search asks for the names of the types only

    return transcript.is_likely(path)


def _type_of_content(path: Path, head: bytes) -> str | None:
    found: str | None
    if head.lstrip().startswith(b"%PDF-"):  # not anywhere in it: texts about PDF quote the header
        found = "pdf"
    elif head.startswith(b"PK\x03\x04"):
        found = _type_of_archive(path)
    else:
        found = next((kind for at, mark, kind in MAGIC if head[at : at + len(mark)] == mark), None)
    return found if found in supported_types() else None


def _type_of_archive(path: Path) -> str | None:
    import zipfile

    from kb.read.archive import DAMAGED

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (*DAMAGED, OSError):
        return None  # its reader will say what is wrong
    return next((kind for mark, kind in ARCHIVES if any(name.startswith(mark) for name in names)), None)
