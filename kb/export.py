"""Export: every document as a text that people can read, beside all that the store knows of it as JSON (`kb.exported`)."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import msgspec

from index import database, documents, originals, sources, tags
from index.builtwith import built_with
from index.rows import DocumentRow
from index.store import reading
from index.writer import utc_now
from kb import __version__
from kb.chunk.pack import joined
from kb.errors import BadRequest
from kb.exported import (
    DOCUMENTS,
    MANIFEST,
    ORIGINALS,
    PLAIN_TYPES,
    ExportedChunk,
    ExportedDocument,
    ExportedSource,
    Manifest,
    safe_name,
    stem,
)
from kb.wire_moving import ExportAnswer


def export(data_dir: Path, folder: Path) -> ExportAnswer:
    """The store at one moment, into a folder that is empty or new. Raises BadRequest, StoreMissing, DiskFault."""
    with reading(data_dir) as reader, database.snapshot(reader.connection), database.disk_faults_reported(folder):
        _prepare(data_dir, folder)
        exporting = Exporting(folder, reader.connection)
        for row_id in exporting.ids():
            exporting.document(row_id)
        manifest = exporting.manifest()
        (folder / MANIFEST).write_bytes(_pretty(manifest))
    return ExportAnswer(
        folder=str(folder), documents=manifest.documents, originals=exporting.original_count, tags=len(manifest.tags),
        sources=len(manifest.sources),
    )  # fmt: skip


class Exporting:
    """One run; a document at a time, so that memory stays flat."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.connection = connection
        self.sources = {row.id: row for row in sources.every(connection)}
        self.document_count = 0
        self.original_count = 0

    def ids(self) -> list[int]:
        return [row[0] for row in self.connection.execute("SELECT id FROM documents ORDER BY id")]

    def document(self, document_id: int) -> None:
        row = documents.by_ids(self.connection, [document_id])[document_id]
        chunks = documents.new_chunks_of(self.connection, document_id)
        name = stem(row.id, row.title)
        text = joined((chunk.text, chunk.metadata) for chunk in chunks).encode("utf-8", "replace")
        text_name = f"{name}.txt" if row.doc_type in PLAIN_TYPES else f"{name}.md"
        (self.folder / DOCUMENTS / text_name).write_bytes(text)
        original_name = originals.name_of(self.connection, row.content_hash)
        said = ExportedDocument(
            title=row.title, title_is_name=bool(row.title_is_name), path=row.source_path, type=row.doc_type,
            language=row.language, tags=row.tags, stated_tags=row.stated_tags,
            source=self.sources[row.source_id].name if row.source_id else None, content_hash=row.content_hash,
            size=row.size, mtime_ns=row.mtime_ns, created_at=row.created_at, modified_at=row.modified_at,
            extractor=row.extractor, metadata=row.metadata, text=text_name, text_sha256=hashlib.sha256(text).hexdigest(),
            original=self._original(row, original_name) if original_name else None, original_name=original_name,
            chunks=tuple(map(ExportedChunk.of, chunks)),
        )  # fmt: skip
        (self.folder / DOCUMENTS / f"{name}.json").write_bytes(_pretty(said))
        self.document_count += 1

    def _original(self, row: DocumentRow, name: str) -> str:
        """In a folder of its own, so that it can have its own name."""
        below = Path(ORIGINALS) / f"{row.id:05}" / safe_name(name)
        target = self.folder / below
        target.parent.mkdir(parents=True)
        with target.open("xb") as file:
            file.writelines(originals.pieces(self.connection, row.content_hash))
        self.original_count += 1
        return below.as_posix()

    def manifest(self) -> Manifest:
        return Manifest(
            program=__version__,
            exported_at=utc_now(),
            model=built_with(self.connection).model_name,
            documents=self.document_count,
            tags={row.name: row.description for row in tags.every(self.connection) if row.description},
            sources=tuple(
                ExportedSource(**{name: getattr(row, name) for name in ExportedSource.__struct_fields__})
                for row in self.sources.values()
            ),
        )


def _prepare(data_dir: Path, folder: Path) -> None:
    if folder.resolve() == data_dir.resolve() or data_dir.resolve() in folder.resolve().parents:
        raise BadRequest(f"{folder} lies in the store's own folder", "name another one")
    if folder.exists() and not folder.is_dir():
        raise BadRequest(f"{folder} is a file", "name a folder that is empty or new")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise BadRequest(f"{folder} is not empty", "name a folder that is empty or new")
    for name in (DOCUMENTS, ORIGINALS):
        (folder / name).mkdir(mode=0o700)


def _pretty(value: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"
