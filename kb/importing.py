"""Import: what `kb export` wrote into this store. No file is read or cut again; what has no vector here is embedded.

Each document is its own transaction, so an interruption keeps what is done and the same command goes on from there. What is
here already by its content stays, and gets the tags and the meta that it did not have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from index import builtwith, documents, meta, sources, store, tags, vectors
from index.originals import Packed
from index.rows import NewChunk, NewDocument
from index.writer import Writer
from kb.cleaned import cleaned
from kb.errors import NotFound, UnreadableFile
from kb.exported import DOCUMENTS, FORMAT, MANIFEST, ExportedChunk, ExportedDocument, Manifest
from kb.meta import said as meta_said
from kb.model import Model, choose
from kb.newvectors import NewVectors
from kb.originals import packed
from kb.settings import Settings
from kb.sourcerules import SourceRules
from kb.types import Chunk
from kb.wire_moving import ImportAnswer, ImportedDocument
from models.tokenizer import TokenCounter

Value = TypeVar("Value")
WRITES_IT = "kb export DIR writes what can be imported"


def import_folder(data_dir: Path, settings: Settings, folder: Path, *, scrub: bool | None = None) -> ImportAnswer:
    """`scrub` overrides the setting. Raises NotFound, UnreadableFile for what is no whole export, before anything is written; ModelMismatch."""
    manifest = _manifest(folder)
    files = sorted((folder / DOCUMENTS).glob("*.json"))
    if len(files) != manifest.documents:
        raise UnreadableFile(f"{folder} has {len(files)} of its {manifest.documents} documents", "export it again")
    rules = settings.scrub if scrub is None else msgspec.structs.replace(settings.scrub, enabled=scrub)
    importing = Importing.prepare(data_dir, msgspec.structs.replace(settings, scrub=rules), folder)
    importing.run(manifest, files)
    return importing.answer(manifest)


class Importing:
    """One run of `kb import`."""

    def __init__(self, data_dir: Path, settings: Settings, folder: Path, model: Model) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.folder = folder
        self.model = model
        self.new_vectors = NewVectors(data_dir, model, settings.embedding.batch_size)
        self.imported: list[ImportedDocument] = []
        self.warnings: list[str] = []
        self.chunk_count = 0
        self.original_count = 0
        self.redacted = 0
        self._spared: set[str] = set()
        """Sources whose rules say that their documents are not to be scrubbed."""
        self._source_ids: dict[str, int] = {}
        """Of this store, by the names in the export."""

    @classmethod
    def prepare(cls, data_dir: Path, settings: Settings, folder: Path) -> Importing:
        built = store.model_of(data_dir, settings.storage.lock_timeout_s)
        model = choose(settings.embedding, built, data_dir=data_dir)
        if built is not None:
            builtwith.check_model(built, model.spec.name, model.spec.key)
        return cls(data_dir, settings, folder, model)

    def run(self, manifest: Manifest, files: Sequence[Path]) -> None:
        timeout_s = self.settings.storage.lock_timeout_s
        if not store.exists(self.data_dir):
            store.create(self.data_dir, self.model.built_with, timeout_s)
        with store.writing(self.data_dir, timeout_s) as writer:
            self._describe(writer, manifest)
        waiting = iter(files)
        while batch := [self._read(path) for path in islice(waiting, self.settings.ingestion.batch_size)]:
            ready = [(said, self._new(said)) for said in batch]
            new_vectors = self.new_vectors.of(_chunk(chunk) for _, document in ready for chunk in document.chunks)
            with store.writing(self.data_dir, timeout_s) as writer:
                self.new_vectors.settle(writer)
                for said, document in ready:
                    self.imported.append(self._write(writer, said, document, new_vectors))

    def answer(self, manifest: Manifest) -> ImportAnswer:
        if manifest.model != self.model.spec.name and self.chunk_count:
            self.warnings.append(f"the chunks were cut for {manifest.model}, and stay as they are")
        added = sum(document.status == "added" for document in self.imported)
        return ImportAnswer(
            folder=str(self.folder), documents=tuple(self.imported), added=added, skipped=len(self.imported) - added,
            chunks=self.chunk_count, embedded=self.new_vectors.count, originals=self.original_count, redacted=self.redacted,
            warnings=(*self.new_vectors.remarks(), *self.warnings),
        )  # fmt: skip

    def _describe(self, writer: Writer, manifest: Manifest) -> None:
        """Sources and what tags mean; what this store says itself stays."""
        connection = writer.connection
        here = sources.every(connection)
        named, placed = {row.name: row for row in here}, {row.path for row in here}
        described = {row.name for row in tags.every(connection) if row.description}
        with writer.transaction():
            for name in manifest.tags.keys() - described:
                tags.describe(connection, name, manifest.tags[name])
            for source in manifest.sources:
                if msgspec.json.decode(source.rules, type=SourceRules).scrub is False:
                    self._spared.add(source.name)
                if source.name in named and named[source.name].path == source.path:
                    self._source_ids[source.name] = named[source.name].id
                elif source.name in named or source.path in placed:
                    self.warnings.append(f"source {source.name} is another one here: its documents belong to none")
                else:
                    self._source_ids[source.name] = sources.insert(
                        connection, source.name, source.path, source.description, source.rules, source.added_at
                    )

    def _read(self, path: Path) -> ExportedDocument:
        said = _decode(path, ExportedDocument)
        text = path.with_name(PurePosixPath(said.text).name)
        if text.is_file() and hashlib.sha256(text.read_bytes()).hexdigest() != said.text_sha256:
            self.warnings.append(
                f"{text} was edited after the export: what {path.name} says was imported; kb add takes the text"
            )
        return said

    def _new(self, said: ExportedDocument) -> NewDocument:
        """As it is to be stored: without secrets, and then without the file that has them, unless that was wanted."""
        document = _document(said, self._source_ids.get(said.source or ""))
        if self.settings.scrub.enabled and said.source not in self._spared:
            document, count = cleaned(document, self.settings.scrub, TokenCounter.load(self.model.tokenizer))
            self.redacted += count
            if count and said.original:
                self.warnings.append(
                    f"the original of {said.title} is not kept: it holds secrets (--no-scrub keeps them)"
                )
                return document
        return msgspec.structs.replace(document, original=self._original(said))

    def _original(self, said: ExportedDocument) -> Packed | None:
        if said.original is None:
            return None
        path = self.folder / PurePosixPath(said.original)
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise UnreadableFile(f"the original of {said.title} lies outside of {self.folder}", WRITES_IT)
        found = packed(str(path), said.content_hash, said.original_name)
        if isinstance(found, str):
            self.warnings.append(found)
            return None
        return found

    def _write(
        self, writer: Writer, said: ExportedDocument, new: NewDocument, new_vectors: dict[bytes, vectors.Vectors]
    ) -> ImportedDocument:
        connection = writer.connection
        with writer.transaction() as seq:
            there = documents.by_hash(connection, new.content_hash)
            if there is not None:
                tags.attach(connection, there.id, new.tags)
                changed = meta.merge(connection, there.id, meta.given(new.metadata))
                reason = meta_said(changed) if changed else ""
                return ImportedDocument(
                    title=there.title, path=there.source_path, status="skipped", document_id=there.id, reason=reason
                )
            document_id = writer.insert(new, new_vectors, self.model.spec.key, seq=seq, created_at=said.created_at)
        self.chunk_count += len(new.chunks)
        self.original_count += new.original is not None
        return ImportedDocument(title=new.title, path=new.source_path, status="added", document_id=document_id)


def _manifest(folder: Path) -> Manifest:
    if not folder.is_dir():
        raise NotFound(f"no folder {folder}", WRITES_IT)
    if not (folder / MANIFEST).is_file():
        raise UnreadableFile(f"{folder} is no export, or one that was interrupted: it has no {MANIFEST}", WRITES_IT)
    manifest = _decode(folder / MANIFEST, Manifest)
    if manifest.format > FORMAT:
        raise UnreadableFile(f"{folder} was exported by a newer kb (format {manifest.format})", "upgrade kb-search")
    return manifest


def _decode(path: Path, kind: type[Value]) -> Value:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.DecodeError, OSError) as error:
        raise UnreadableFile(f"{path} is not what kb export wrote: {error}", "export it again") from error


def _document(said: ExportedDocument, source_id: int | None) -> NewDocument:
    return NewDocument(
        title=said.title, title_is_name=said.title_is_name, source_path=said.path, content_hash=said.content_hash,
        doc_type=said.type, language=said.language, modified_at=said.modified_at, mtime_ns=said.mtime_ns,
        size=said.size, extractor=said.extractor, chunks=tuple(map(_new_chunk, said.chunks)), metadata=said.metadata,
        tags=said.tags, stated_tags=said.stated_tags, source_id=source_id,
    )  # fmt: skip


def _new_chunk(said: ExportedChunk) -> NewChunk:
    return NewChunk(
        text_hash=vectors.text_hash(_chunk(said).embedded_text),
        **{name: getattr(said, name) for name in ExportedChunk.__struct_fields__},
    )


def _chunk(said: ExportedChunk | NewChunk) -> Chunk:
    return Chunk(text=said.text, context=said.context, token_count=said.token_count)
