"""One job of the queue, done: its files found, those that are not done yet added, and each noted as it goes by.

All files of a job are listed before the first is read, so that it is known how many there are, and which are left when it is taken up
again. Not here: which job, and what becomes of it (`kb.worker`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Event

import msgspec

from index import database, documents, meta, originals, store, tags
from index import jobs as rows
from index.jobs import JobFileRow, JobRow
from index.rows import DocumentRow
from index.store import Reader
from kb import uploads as spool
from kb.add import Adding, Note, add_stream
from kb.candidates import Candidate, Candidates, Request, hash_file, printable_path
from kb.detect import detect
from kb.errors import BadRequest, KbError
from kb.jobanswers import decoded
from kb.originals import packed
from kb.reread import reread
from kb.settings import Settings
from kb.walk import Rules, Walk
from kb.wire import AddAnswer, AddedFile

NOT_UTF_8 = "its name is not UTF-8 (rename the file)"


class Stopped(Exception):
    """The job was cancelled, or its worker is to end."""


def do(data_dir: Path, settings: Settings, row: JobRow, connection: sqlite3.Connection, ending: Event) -> None:
    """Raises Stopped at the next file after somebody said so; KbError, StoreError, ModelError where it cannot be done."""
    DoingJob(data_dir, _with_workers(settings, row.workers), row, connection, ending).run()


class DoingJob:
    """Is told by `kb.add` how it goes on, and tells it when to stop."""

    def __init__(
        self, data_dir: Path, settings: Settings, row: JobRow, connection: sqlite3.Connection, ending: Event
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.row = row
        self.connection = connection
        self.ending = ending
        self.request = decoded(row.request)
        self.pathless = ""
        """What the job calls a text that is in no file, which may be in the store under another title."""

    def run(self) -> None:
        kinds: dict[str, Callable[[], AddAnswer]] = {
            "paths": self._paths, "reread": self._reread, "note": self._note, "stream": self._stream, "uploads": self._uploads,
        }  # fmt: skip
        self.found()
        answer = kinds[self.row.kind]()
        with database.immediate(self.connection):
            rows.warn(self.connection, self.row.id, answer.warnings)

    # What `kb.add.Progress` has

    def found(self) -> None:
        if self.ending.is_set() or not rows.goes_on(self.connection, self.row.id):
            raise Stopped

    def done(self, file: AddedFile, *, pages: int) -> None:
        del pages  # a bar shows them
        self._record(file)
        self.found()

    def _record(self, file: AddedFile) -> None:
        noted = JobFileRow(
            path=file.path or self.pathless or file.title, status=file.status, title=file.title, document_id=file.document_id,
            chunks=file.chunks, reason=file.reason, redacted=file.redacted,
        )  # fmt: skip
        with database.immediate(self.connection):
            rows.record(self.connection, self.row.id, noted)

    # The kinds of jobs

    def _paths(self) -> AddAnswer:
        if not self.row.is_listed:
            self._list()
        adding = self._adding(self.request)
        with store.reading(self.data_dir, self.settings.storage.lock_timeout_s) as reader:
            candidates = Candidates(self.data_dir, self.settings, adding.request, reader)
            adding.run(adding.unsettled(candidates.look_at((file.path, False) for file in self._left())))
        return adding.answer()

    def _list(self) -> None:
        """Find all files. Raises NotFound where a path that was named is gone."""
        rules = Rules(
            recursive=self.request.recursive, excludes=self.request.excludes,
            follow_symlinks=self.request.follow_symlinks, any_type=self.request.doc_type is not None,
        )  # fmt: skip
        walk = Walk(rules, avoid=self.data_dir)
        names = [name for name, _ in walk.files(self.request.paths)]
        counted = ((walk.unsupported, "files are of unsupported types"), (walk.ignored, "are left out by ignore rules"))
        said = [f"{count} {what}" for count, what in counted if count]
        with database.immediate(self.connection):
            rows.set_listed(self.connection, self.row.id, map(_storable, names), [*walk.skipped, *said])
        for name in names:
            if (shown := _storable(name)) != name:
                title = shown.rpartition("/")[2]
                self._record(AddedFile(path=shown, title=title, status="failed", reason=NOT_UTF_8))

    def _reread(self) -> AddAnswer:
        return reread(self.data_dir, self.settings, self.request, self)

    def _note(self) -> AddAnswer:
        adding = self._adding(self.request)
        left = self._left()
        if self.row.note and left:
            self.pathless = left[0].path
            adding.keep_note(msgspec.json.decode(self.row.note, type=Note))
        return adding.answer()

    def _stream(self) -> AddAnswer:
        answer = self._adding(self.request).answer()
        for file in self._left():
            self.pathless = file.path
            try:
                content = spool.path_of(self.data_dir, file.upload or "").read_bytes()
                answer = add_stream(self.data_dir, self.settings, self.request, content)
                self._record(answer.documents[0])
            except (KbError, OSError) as error:
                self._record(_failed(file.path, error))
        return answer

    def _uploads(self) -> AddAnswer:
        adding = self._adding(self.request)
        with store.reading(self.data_dir, self.settings.storage.lock_timeout_s) as reader:
            adding.run(adding.unsettled(self._look(reader, file) for file in self._left()))
        return adding.answer()

    def _look(self, reader: Reader, file: JobFileRow) -> Candidate | AddedFile:
        """An upload as `kb.candidates` looks at a file."""
        path = spool.path_of(self.data_dir, file.upload or "")
        try:
            content_hash, size = hash_file(path)
            if not (file.upload or "").startswith(content_hash):
                raise BadRequest("what was sent is damaged on the disk", "send it again")
            if there := documents.by_hash(reader.connection, content_hash):
                return self._there(there, file, path)
            detected = detect(path, doc_type=self.request.doc_type)
        except (KbError, OSError) as error:
            return _failed(file.path, error, path)
        return Candidate(
            path=str(path), content_hash=content_hash, mtime_ns=0, size=size, doc_type=detected.doc_type,
            earlier=tuple(documents.by_upload(reader.connection, file.path)), warning=detected.warning,
            uploaded_as=file.path,
        )  # fmt: skip

    def _there(self, there: DocumentRow, file: JobFileRow, path: Path) -> AddedFile:
        """Its content is a document: that is given what the request gives."""
        keeps = self.request.keeps_originals(self.settings) and not there.metadata.get("redacted")
        original = packed(str(path), there.content_hash, file.path) if keeps else None
        with (
            store.writing(self.data_dir, self.settings.storage.lock_timeout_s) as writer,
            writer.transaction(),
        ):
            tags.attach(writer.connection, there.id, self.request.tags)
            meta.merge(writer.connection, there.id, self.request.meta)
            if isinstance(original, originals.Packed):
                originals.keep(writer.connection, original)
        return AddedFile(path=file.path, title=there.title, status="skipped", document_id=there.id)

    def _left(self) -> list[JobFileRow]:
        return rows.files(self.connection, self.row.id, ("waiting",))

    def _adding(self, request: Request) -> Adding:
        return Adding.prepare(self.data_dir, self.settings, request, self)


def _failed(name: str, error: KbError | OSError, path: Path | None = None) -> AddedFile:
    """`path`: where its bytes wait, which is no name for it."""
    if isinstance(error, OSError):
        reason = f"{error.strerror} (send it again)"
    else:
        reason = f"{error.message} ({error.hint})" if error.hint else error.message
    return AddedFile(path=name, title=name, status="failed", reason=reason.replace(str(path), name) if path else reason)


def _storable(name: str) -> str:
    return printable_path(Path(name))


def _with_workers(settings: Settings, workers: int | None) -> Settings:
    if workers is None:
        return settings
    ingestion = msgspec.structs.replace(settings.ingestion, workers=workers)
    return msgspec.structs.replace(settings, ingestion=ingestion)
