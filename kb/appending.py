"""What was read of a transcript that has grown, into the store: one transaction, so that a crash leaves the shorter one.

Which one has grown, and what the document is then: `kb.transcripts`.
"""

from __future__ import annotations

from pathlib import Path

from index import documents, failures
from index.rows import DocumentRow
from index.vectors import Vectors
from index.writer import Writer
from kb import transcripts
from kb.candidates import Candidate, Request
from kb.reading import Passages
from kb.record import document_of
from kb.transcripts import Grown
from kb.wire import AddedFile


def append(
    writer: Writer, candidate: Candidate, grown: Grown, passages: Passages, request: Request,
    new_vectors: dict[bytes, Vectors], model: str,
) -> AddedFile:  # fmt: skip
    """`passages`: of the last stored exchange and what follows it; `new_vectors` as in `Writer.insert`."""
    row, path = grown.row, candidate.path
    with writer.transaction() as seq:
        if overtaken := _overtaken(writer, candidate, row):
            return overtaken
        if request.replace:  # versions from before it was known to grow
            documents.delete(writer.connection, [other.id for other in candidate.earlier if other.id != row.id])
        part = document_of(candidate, passages, request)
        document = transcripts.continued(grown, part, request.title)
        count = writer.append(row.id, document, new_vectors, model, first_chunk=grown.tail.first_chunk, seq=seq)
        failures.forget(writer.connection, path)
    return AddedFile(
        path=path,
        title=document.title,
        status="appended",
        document_id=row.id,
        chunks=count,
        redacted=sum(passages.redacted.values()),
    )


def _overtaken(writer: Writer, candidate: Candidate, row: DocumentRow) -> AddedFile | None:
    """What is to be said where another process was faster."""
    path, name = candidate.path, Path(candidate.path).name
    there = documents.by_hash(writer.connection, candidate.content_hash)
    if there is not None:
        return AddedFile(path=path, title=name, status="skipped", document_id=there.id)
    now = documents.by_id(writer.connection, row.id)
    if now is None or now.content_hash != row.content_hash:
        reason = "another process has changed it meanwhile; give the command again"
        return AddedFile(path=path, title=name, status="skipped", document_id=row.id, reason=reason)
    return None
