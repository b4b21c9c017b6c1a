"""Add: paths to documents in the store. Read, chunk, embed what is new, write; a batch at a time.

Each document is its own transaction, so an interruption keeps what is done and the same command goes on from there.
The write lock is held to write only; reading and embedding happen before it is taken. Not here: which files are read
(`kb.candidates`), how (`kb.read`), in which process (`kb.reading`), and what the transaction of one does (`kb.filing`).
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import tee
from pathlib import Path
from time import monotonic
from typing import Protocol

import msgspec

from index import builtwith, meta, store
from kb import reading
from kb.candidates import Candidate, Candidates, Request
from kb.chunk import plan_for
from kb.detect import detect
from kb.filing import Filing
from kb.model import Model, choose
from kb.newvectors import NewVectors
from kb.originals import packed
from kb.read.note import from_text, title_of
from kb.reading import Outcome, Passages, Readers, Unread
from kb.readjobs import jobs_of, read_options, scrub_rules, without_secrets
from kb.settings import Settings
from kb.wire import AddAnswer, AddedFile
from models.tokenizer import TokenCounter

BATCH_S = 1.0
"""A batch is written when it is full or this old, so that search sees a long add grow."""
BATCH_CHUNKS = 1000
"""As many fill a batch too: some 7 s of the default model's work, the most that an interruption costs where no document is longer."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is in no file, read and without its secrets."""

    content_hash: str
    """Of the text as it was given."""
    size: int
    passages: Passages
    warnings: tuple[str, ...]


class Progress(Protocol):
    """What wants to know how an add goes on."""

    def found(self) -> None: ...

    def done(self, file: AddedFile, *, pages: int) -> None: ...


class Silent:
    def found(self) -> None:
        pass

    def done(self, file: AddedFile, *, pages: int) -> None:
        pass


def add_paths(data_dir: Path, settings: Settings, request: Request, progress: Progress) -> AddAnswer:
    """Add the files that the request names; one that fails is in the answer, and the others are in.

    Raises KbError where nothing can be done at all: no such path, or the one file named is of no supported type.
    """
    with ExitStack() as stack:
        adding = Adding.prepare(data_dir, settings, request, progress)
        reader = None
        if store.exists(data_dir):
            reader = stack.enter_context(store.reading(data_dir, settings.storage.lock_timeout_s))
        candidates = Candidates(data_dir, settings, adding.request, reader)
        adding.run(adding.unsettled(candidates.each()))
        return adding.answer(candidates)


def add_note(data_dir: Path, settings: Settings, request: Request, text: str) -> AddAnswer:
    """Add a text that is in no file. Raises NoText for an empty one."""
    adding = Adding.prepare(data_dir, settings, request, Silent())
    adding.note(text)
    return adding.answer()


def add_stream(data_dir: Path, settings: Settings, request: Request, content: bytes) -> AddAnswer:
    """Add what came on standard input, read as `request.doc_type`, markdown where that is not said.

    Raises what its reader raises: UnreadableFile, NoText, EncryptedFile.
    """
    adding = Adding.prepare(data_dir, settings, request, Silent())
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        adding.stream(file.name, content)
    return adding.answer()


class Adding:
    """One run of `kb add`."""

    def __init__(self, data_dir: Path, settings: Settings, request: Request, model: Model, progress: Progress) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.request = request
        self.model = model
        self.progress = progress
        self.files: list[AddedFile] = []
        self.warnings: list[str] = []
        self.filing = Filing(data_dir, request, model.spec.key, self.warnings.append)
        self.keeps_originals = request.keeps_originals(settings)
        self.original_count = 0
        self.new_vectors = NewVectors(data_dir, model, settings.embedding.batch_size)

    @classmethod
    def prepare(cls, data_dir: Path, settings: Settings, request: Request, progress: Progress) -> Adding:
        """Settle the model. Raises ModelMismatch before anything is read."""
        built = store.model_of(data_dir, settings.storage.lock_timeout_s)
        model = choose(settings.embedding, built, data_dir=data_dir)
        if built is not None:
            builtwith.check_model(built, model.spec.name, model.spec.key)
        return cls(data_dir, settings, without_secrets(settings, request), model, progress)

    def run(self, found: Iterable[Candidate]) -> None:
        """Read, chunk, embed and write; or only say so, in a dry run."""
        if self.request.dry_run:
            for candidate in found:
                self._say(AddedFile(path=candidate.path, title=Path(candidate.path).name, status="would_add"))
            return
        for batch in _batches(self._read(found), self.settings.ingestion.batch_size):
            self._write_batch(batch)

    def note(self, text: str) -> None:
        self.keep_note(self.read_note(text))

    def read_note(self, text: str) -> Note:
        """The first half of adding it: what this returns may wait. Raises NoText for an empty one."""
        content = text.strip().encode()
        counter = TokenCounter.load(self.model.tokenizer)
        room = counter.room(self.model.spec)
        plan, rules = plan_for("note", self.settings.chunking), scrub_rules(self.settings, self.request)
        untitled = msgspec.structs.replace(from_text(text), title=None)
        passages = reading.passages(untitled, plan, counter, room, rules)
        passages = msgspec.structs.replace(
            passages, title=title_of(passages.chunks[0].text)
        )  # a cut may go through a secret
        warning = f"the model sees the first {room} tokens of this note; its end is found by words only"
        return Note(
            content_hash=hashlib.sha256(content).hexdigest(),
            size=len(content),
            passages=passages,
            warnings=(warning,) if passages.chunks[0].token_count > room else (),
        )

    def keep_note(self, note: Note) -> None:
        self.warnings += note.warnings
        candidate = Candidate(path="", content_hash=note.content_hash, mtime_ns=0, size=note.size, doc_type="note")
        self._keep(candidate, note.passages)

    def stream(self, path: str, content: bytes) -> None:
        """`path`: where `content` lies as long as it is being read."""
        candidate = Candidate(
            path=path,
            content_hash=hashlib.sha256(content).hexdigest(),
            mtime_ns=0,
            size=len(content),
            doc_type=detect(Path(path), doc_type=self.request.doc_type or "markdown").doc_type,
        )
        [(_, outcome)] = self._read([candidate])
        if isinstance(outcome, Unread):
            reason = outcome.reason.replace(path, "standard input")
            raise reading.error_of(msgspec.structs.replace(outcome, reason=reason))
        opening = title_of(outcome.chunks[0].text)
        candidate = self._with_original(candidate, outcome, name="standard input")
        self._keep(candidate, msgspec.structs.replace(outcome, title=outcome.title or opening))

    def _keep(self, candidate: Candidate, passages: Passages) -> None:
        """A text that is in no file: its path is empty."""
        if self.request.dry_run:
            self._say(AddedFile(path=None, title=self.request.title or passages.title or "", status="would_add"))
        else:
            self._write_batch([(msgspec.structs.replace(candidate, path=""), passages)])

    def answer(self, candidates: Candidates | None = None) -> AddAnswer:
        def count(*wanted: str) -> int:
            return sum(file.status in wanted for file in self.files)

        walk = candidates.walk if candidates else None
        return AddAnswer(
            documents=tuple(self.files),
            added=count("added", "replaced", "appended"),
            failed=count("failed"),
            skipped=count("skipped", "moved"),
            no_text=count("no_text"),
            unsupported=walk.unsupported if walk else 0,
            ignored=walk.ignored if walk else 0,
            chunks=self.filing.chunk_count,
            embedded=self.new_vectors.count,
            redacted=sum(file.redacted for file in self.files),
            originals=self.original_count,
            warnings=(*(walk.skipped if walk else ()), *self.new_vectors.remarks(), *self.warnings),
        )

    def unsettled(self, files: Iterable[Candidate | AddedFile]) -> Iterator[Candidate]:
        """The files to be read; what became of the others is said on the way."""
        for file in files:
            self.progress.found()
            if isinstance(file, Candidate):
                yield file
            else:
                self._say(file)

    def _read(self, found: Iterable[Candidate]) -> Iterator[tuple[Candidate, Outcome]]:
        """Each candidate with what was read of it, in order."""
        taken, read = tee(found)  # what is being read is held between the two
        jobs = jobs_of(read, self.data_dir, self.settings, self.request, self.model)
        for _, outcome in self._readers().read(jobs):
            yield next(taken), outcome

    def _readers(self) -> Readers:
        ingestion = self.settings.ingestion
        if not ingestion.cluster:
            return reading.Here(workers=ingestion.workers, timeout_s=ingestion.file_timeout_s)
        from kb.clustered import Cluster
        from kb.clusterwork import asked_of

        options = read_options(self.data_dir, self.settings, self.request)
        asked = asked_of(self.model, self.settings.embedding, options)
        return Cluster(ingestion.cluster, asked, ingestion.file_timeout_s, self.warnings.append)

    def _write_batch(self, batch: Sequence[tuple[Candidate, Outcome]]) -> None:
        """Embed what is new in all documents of a batch together, then write each in a transaction of its own.

        Where there is no store yet it is made now: a request that comes to nothing leaves none behind.
        """
        if not store.exists(self.data_dir):
            store.create(self.data_dir, self.model.built_with, self.settings.storage.lock_timeout_s)
        read = [outcome for _, outcome in batch if isinstance(outcome, Passages)]
        for passages in read:
            if passages.vectors:
                self.new_vectors.bring(passages.vectors)
        new_vectors = self.new_vectors.of(chunk for passages in read for chunk in passages.chunks)
        batch = [_as_sent(self._with_original(candidate, outcome), outcome) for candidate, outcome in batch]
        with store.writing(self.data_dir, self.settings.storage.lock_timeout_s) as writer:
            self.new_vectors.settle(writer)
            for candidate, outcome in batch:
                if isinstance(outcome, Passages):
                    self._say(self.filing.write(writer, candidate, outcome, new_vectors), pages=_page_count(outcome))
                else:
                    self._say(self.filing.remember(writer, candidate, outcome))

    def _with_original(self, candidate: Candidate, outcome: Outcome, name: str | None = None) -> Candidate:
        """With the bytes of its file, where they are to be kept; read before the write lock is taken."""
        if not self.keeps_originals or not candidate.path or isinstance(outcome, Unread):
            return candidate
        name = name or candidate.uploaded_as
        if outcome.redacted:
            called = name or Path(candidate.path).name
            self.warnings.append(f"the original of {called} is not kept: it holds secrets (--no-scrub keeps them)")
            return candidate
        original = packed(candidate.path, candidate.content_hash, name)
        if isinstance(original, str):
            self.warnings.append(original)
            return candidate
        self.original_count += 1
        return msgspec.structs.replace(candidate, original=original)

    def _say(self, file: AddedFile, *, pages: int = 0) -> None:
        self.files.append(file)
        self.progress.done(file, pages=pages)


def _batches(outcomes: Iterable[tuple[Candidate, Outcome]], size: int) -> Iterator[list[tuple[Candidate, Outcome]]]:
    """Lists of at most `size`, none held back for longer than `BATCH_S`, none that goes on past `BATCH_CHUNKS`."""
    batch: list[tuple[Candidate, Outcome]] = []
    begun, chunks = monotonic(), 0
    for candidate, outcome in outcomes:
        batch.append((candidate, outcome))
        chunks += len(outcome.chunks) if isinstance(outcome, Passages) else 0
        if len(batch) >= size or chunks >= BATCH_CHUNKS or monotonic() - begun >= BATCH_S:
            yield batch
            batch, begun, chunks = [], monotonic(), 0
    if batch:
        yield batch


def _as_sent(candidate: Candidate, outcome: Outcome) -> tuple[Candidate, Outcome]:
    """An upload, read where its bytes wait, is a document that is in no file, and called as its sender calls it."""
    name = candidate.uploaded_as
    if name is None:
        return candidate, outcome
    if isinstance(outcome, Unread):
        outcome = msgspec.structs.replace(outcome, reason=outcome.reason.replace(candidate.path, name))
    else:
        title = {"title": outcome.title} if outcome.title else {}
        outcome = msgspec.structs.replace(outcome, metadata={**title, **outcome.metadata, meta.UPLOADED_AS: name})
    return msgspec.structs.replace(candidate, path=""), outcome


def _page_count(passages: Passages) -> int:
    return len({chunk.page for chunk in passages.chunks if chunk.page is not None})
