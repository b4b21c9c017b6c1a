"""Sync: the documents of the sources made what their files are now: new and changed ones read, moved ones renamed, gone ones removed.

What needs no reading is one transaction (`kb.settling`); then each file that is read is one of its own, as in `kb add`. An interruption
keeps what is done, and the next sync goes on from there. One sync at a time in a store. Not here: what has changed (`kb.scan`), and
which file of several with the same content is the document (`kb.plan`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from index import documents, failures, sources, store, tags
from index.database import disk_faults_reported, snapshot
from index.lock import writer_lock
from index.rows import FailureRow
from index.sources import SourceRow
from index.store import Reader
from index.writer import Writer, utc_now
from kb import transcripts
from kb.add import Adding, Progress
from kb.candidates import Candidate, Request, hash_file
from kb.detect import detect
from kb.errors import KbError
from kb.plan import Claim, Plan, Planner, Reading
from kb.scan import NO_SOURCES, Seen, chosen, is_storable, look
from kb.settings import Settings
from kb.settling import Looked, settle, settled
from kb.sourcerules import SourceRules
from kb.wire import AddedFile
from kb.wire_sources import SyncAnswer, SyncedSource

LOCK = "sync.lock"
"""In run/: held as long as a sync lasts."""
MOST_GONE = 0.5
"""Share of a source's documents that may vanish without a question: an unmounted disk must not empty a store."""

Ask = Callable[[str], bool]
"""Whether the documents of vanished files may be removed; it is told how many, and of which source."""


def sync(data_dir: Path, settings: Settings, names: Sequence[str], progress: Progress, may_remove: Ask) -> SyncAnswer:
    """Bring the sources named into step, all where none is. Raises NotFound, StoreMissing, StoreLocked, ModelMismatch."""
    with store.reading(data_dir, settings.storage.lock_timeout_s) as reader:
        chosen(reader, names)
    run = data_dir / "run"
    with disk_faults_reported(run):
        run.mkdir(mode=0o700, exist_ok=True)
    with writer_lock(run / LOCK, settings.storage.lock_timeout_s):
        return Syncing(data_dir, settings, progress).run(names, may_remove)


class Syncing:
    """One run of `kb sync`."""

    def __init__(self, data_dir: Path, settings: Settings, progress: Progress) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.progress = progress
        self.files: dict[int, list[AddedFile]] = {}
        """What became of each file that was not unchanged, by source."""
        self.chunk_count = 0
        self.embedded_count = 0
        self.warnings: list[str] = []

    def run(self, names: Sequence[str], may_remove: Ask) -> SyncAnswer:
        with store.reading(self.data_dir, self._lock_timeout_s) as reader, snapshot(reader.connection):
            rows = chosen(reader, names)
            found = self._look(reader, rows, may_remove)
            unread = [self._candidate(reader, reading) for reading in found.plan.readings]
        self.files = {row.id: [] for row in rows}
        settle(self.data_dir, self._lock_timeout_s, found)
        for source_id, file in settled(found):
            self._say(source_id, file)
        for one in found.seen:
            self._read(one, [each for each in unread if each[0].claim.source.id == one.source.id])
        return self._answer(rows, found)

    @property
    def _lock_timeout_s(self) -> float:
        return self.settings.storage.lock_timeout_s

    # Looking

    def _look(self, reader: Reader, rows: Sequence[SourceRow], may_remove: Ask) -> Looked:
        seen = [look(reader, row, self.data_dir) for row in rows]
        unreadable = {path: "may not be read" for one in seen for path in one.unreadable}
        hashed = {claim.path: claim for one in seen for claim in _hashed(one, unreadable)}
        plan = Planner(reader.connection, seen, hashed, held=frozenset()).plan()
        questions = {one.source.id: _too_much_gone(one, plan) for one in seen}
        refused = {key: question for key, question in questions.items() if question and not may_remove(question)}
        if refused:
            seen = [one for one in seen if one.source.id not in refused]
            hashed = {path: claim for path, claim in hashed.items() if claim.source.id not in refused}
            plan = Planner(reader.connection, seen, hashed, held=refused.keys()).plan()
        return Looked(seen=tuple(seen), refused=refused, hashed=hashed, plan=plan, unreadable=unreadable)

    def _candidate(self, reader: Reader, reading: Reading) -> tuple[Reading, Candidate | str]:
        """What is to be read, or why it cannot be."""
        claim, path = reading.claim, Path(reading.claim.path)
        wanted = SourceRules.of(claim.source).doc_type
        grown = None
        last = reading.earlier[0] if reading.earlier else None
        if last and last.doc_type == transcripts.TYPE and last.source_path == claim.path and claim.size > last.size:
            found = transcripts.look(reader.connection, last, path)
            grown = found.grown if found.content_hash == claim.content_hash else None
        try:
            detected = detect(path, doc_type=transcripts.TYPE if grown else wanted)
        except KbError as error:
            return reading, error.message
        return reading, Candidate(
            path=claim.path, content_hash=claim.content_hash, mtime_ns=claim.mtime_ns, size=claim.size,
            doc_type=detected.doc_type, earlier=reading.earlier, warning=detected.warning, grown=grown,
        )  # fmt: skip

    # Doing

    def _read(self, one: Seen, unread: Sequence[tuple[Reading, Candidate | str]]) -> None:
        source = one.source
        candidates = [candidate for _, candidate in unread if isinstance(candidate, Candidate)]
        if candidates:
            rules = SourceRules.of(source)
            request = Request(doc_type=rules.doc_type, replace=True, scrub=rules.scrub)
            adding = Adding.prepare(self.data_dir, rules.applied_to(self.settings), request, self.progress)
            adding.filing.source = source
            adding.run(self._counted(candidates))
            answer = adding.answer()
            self.files[source.id] += answer.documents
            self.chunk_count += answer.chunks
            self.embedded_count += answer.embedded
            self.warnings += answer.warnings
        with store.writing(self.data_dir, self._lock_timeout_s) as writer:
            self._drop(writer, source, unread)
            # No projection shows it, so it takes no number of the log.
            sources.mark_synced(writer.connection, source.id, utc_now())

    def _drop(self, writer: Writer, source: SourceRow, unread: Sequence[tuple[Reading, Candidate | str]]) -> None:
        """The earlier versions of what could not be read: they are in no file any more."""
        failed = {file.path for file in self.files[source.id] if file.status in {"failed", "no_text"}}
        for reading, refusal in unread:
            if isinstance(refusal, str):
                failed.add(reading.claim.path)
                self._say(source.id, _refused_by_name(writer, reading.claim, refusal))
        outdated = [row.id for reading, _ in unread if reading.claim.path in failed for row in reading.earlier]
        if any(reading.earlier for reading, _ in unread):
            with writer.transaction():
                documents.delete(writer.connection, outdated)
                tags.forget_unused(writer.connection)

    def _counted(self, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
        for candidate in candidates:
            self.progress.found()
            yield candidate

    # Saying

    def _say(self, source_id: int, file: AddedFile) -> None:
        self.files[source_id].append(file)
        if file.status != "touched":
            self.progress.found()
            self.progress.done(file, pages=0)

    def _answer(self, rows: Sequence[SourceRow], found: Looked) -> SyncAnswer:
        unchanged = {one.source.id: one.unchanged_count for one in found.seen}
        skipped = [sentence for one in found.seen for sentence in one.skipped]
        refused = [f"{why}: nothing was done; kb sync --yes removes them" for why in found.refused.values()]
        return SyncAnswer(
            sources=tuple(self._synced(row, found.refused.get(row.id, ""), unchanged.get(row.id, 0)) for row in rows),
            files=tuple(file for row in rows for file in self.files[row.id]),
            chunks=self.chunk_count,
            embedded=self.embedded_count,
            warnings=tuple(dict.fromkeys([*([] if rows else [NO_SOURCES]), *refused, *skipped, *self.warnings])),
        )

    def _synced(self, row: SourceRow, refused: str, unchanged: int) -> SyncedSource:
        count = Counter(file.status for file in self.files[row.id])
        return SyncedSource(
            name=row.name, path=row.path, refused=refused, added=count["added"],
            replaced=count["replaced"] + count["appended"], moved=count["moved"], removed=count["removed"],
            touched=count["touched"], copies=count["copy"], no_text=count["no_text"], failed=count["failed"],
            unreadable=count["unreadable"], unchanged=unchanged,
        )  # fmt: skip


def _hashed(one: Seen, unreadable: dict[str, str]) -> Iterator[Claim]:
    """What the new and different files hold. One that went away meanwhile is left to the next sync."""
    for path, status in (*one.new, *one.different):
        if not is_storable(path):
            unreadable[path] = "its name is not UTF-8 (rename the file)"
            continue
        try:
            content_hash, size = hash_file(Path(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            unreadable[path] = error.strerror or str(error)
            continue
        yield Claim(path=path, content_hash=content_hash, mtime_ns=status.st_mtime_ns, size=size, source=one.source)


def _too_much_gone(one: Seen, plan: Plan) -> str:
    """The question to be asked; empty if there is none."""
    count = plan.vanished(one.source, frozenset(one.gone))
    if count == 0 or (one.is_there and count <= one.document_count * MOST_GONE):
        return ""
    why = "their files are gone" if one.is_there else f"{one.source.path} is not there"
    return f"{one.source.name}: {count} of {one.document_count} documents would be removed, since {why}"


def _refused_by_name(writer: Writer, claim: Claim, reason: str) -> AddedFile:
    """Remember a file of which not even the type is known."""
    failure = FailureRow(
        source_path=claim.path, content_hash=claim.content_hash, mtime_ns=claim.mtime_ns, size=claim.size, kind="failed",
        reason=reason, failed_at=utc_now(),
    )  # fmt: skip
    with writer.transaction():
        failures.record(writer.connection, failure)
    return AddedFile(path=claim.path, title=Path(claim.path).name, status="failed", reason=reason)
