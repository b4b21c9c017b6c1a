"""What `kb serve` does for whoever asks: a function an operation; `kb.serve.table` says where each is.

A function's parameters say what a client may send: `number`, the id in the path; `asked`, the query (of POST the body, as JSON); `file`, an
uploaded file. What it returns says what the answer is. The schema is made from just that (`kb.serve.openapi`), and so is what is
refused (`kb.serve.door`). Functions run in threads, several at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from index.errors import StoreMissing
from kb import KnowledgeBase, __version__, queue
from kb.candidates import Request
from kb.errors import BadRequest, NotFound
from kb.meta import values
from kb.serve import asked as say
from kb.serve.faults import Conflict
from kb.serve.metrics import MEDIA_TYPE, Metrics
from kb.settings import Settings
from kb.uploads import Upload
from kb.wire import AddAnswer, GetAnswer, ListAnswer, RemoveAnswer, ShowAnswer, StatusAnswer, TagAnswer
from kb.wire_failed import FailedAnswer
from kb.wire_jobs import JobAnswer, JobsAnswer
from kb.wire_search import SearchAnswer, SearchAnswers
from kb.wire_similar import SimilarAnswer
from kb.wire_view import ViewAnswer


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What the operations work on."""

    knowledge: KnowledgeBase
    settings: Settings
    metrics: Metrics
    describe: Callable[[], dict[str, Any]]
    """The OpenAPI schema, which is made of the operations."""

    @property
    def data_dir(self) -> Path:
        return self.knowledge.data_dir


class Health(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["ok"] = "ok"
    version: str = __version__


class Png(msgspec.Struct, frozen=True):
    content: bytes


class Original(msgspec.Struct, frozen=True):
    """A file as it was, in pieces."""

    name: str
    pieces: Iterator[bytes]


class PrometheusText(msgspec.Struct, frozen=True):
    text: str
    media_type: str = MEDIA_TYPE


# Finding


def search(served: Served, asked: say.Search) -> SearchAnswer | SearchAnswers:
    """Search for passages; with `also`, several queries at once."""
    if asked.group and asked.per_document not in (msgspec.UNSET, 1):
        raise Conflict("group means per_document=1", "say one of them")
    answer: SearchAnswer | SearchAnswers = served.knowledge.search(**_said(asked))
    return answer


def similar_to_document(served: Served, number: int, asked: say.Likeness) -> SimilarAnswer:
    """Find passages that say something like a document."""
    return served.knowledge.similar(number, **_said(asked))


def similar_to_chunk(served: Served, number: int, asked: say.ChunkLikeness) -> SimilarAnswer:
    """Find passages that say something like a chunk."""
    return served.knowledge.similar(chunk=number, **_said(asked))


# Reading


def list_documents(served: Served, asked: say.Listing) -> ListAnswer:
    """List the documents, in the order they were added."""
    return served.knowledge.list(**_said(asked))


def list_failures(served: Served, asked: say.FailureListing) -> FailedAnswer:
    """List the files that were to be added and could not be read or hold no text, and why."""
    return served.knowledge.failed(top=asked.top, offset=asked.offset)


def show_document(served: Served, number: int) -> ShowAnswer:
    """What is known of a document: metadata, who read it, its chunks."""
    return served.knowledge.show(number)


def text_of_document(served: Served, number: int, asked: say.Part) -> GetAnswer:
    """The text of a document or of a part of it."""
    if not asked.lines:
        return served.knowledge.get(number, page=asked.page or None)
    if asked.page:
        raise Conflict("page and lines exclude each other", "say one of them")
    first, last = map(int, asked.lines.split(":"))
    if last < first:
        raise NotFound(f"nothing is on lines {first}:{last}", "say the first line first")
    return served.knowledge.get(number, lines=(first, last))


def text_around_chunk(served: Served, number: int, asked: say.Around) -> GetAnswer:
    """The text of a chunk, with its neighbours."""
    return served.knowledge.get(number, around=asked.around)


def original_of_document(served: Served, number: int) -> Original:
    """The file of a document as it was, where it was kept."""
    shown = served.knowledge.show(number)
    name = shown.original or ""
    return Original(name, served.knowledge.original(shown.document.document_id))


def view_document(served: Served, number: int, asked: say.Picture) -> ViewAnswer:
    """A page of a document, or how it begins: the text, and where it stands in the picture."""
    return served.knowledge.view(number, page=asked.page or None).answer


def picture_of_document(served: Served, number: int, asked: say.Picture) -> Png:
    """The picture of a page of a document, or of how it begins."""
    return Png(served.knowledge.view(number, page=asked.page or None).png)


def view_chunk(served: Served, number: int) -> ViewAnswer:
    """A chunk where it stands: the text around it, and where it stands in the picture."""
    return served.knowledge.view(chunk=number).answer


def picture_of_chunk(served: Served, number: int) -> Png:
    """The picture of the page on which a chunk stands, with the chunk marked."""
    return Png(served.knowledge.view(chunk=number).png)


# Changing


def upload(served: Served, asked: say.Sending, file: Upload) -> JobAnswer:
    """Add a file, which is the body. A job reads it: the answer names that job."""
    request = Request(
        doc_type=asked.type or None, title=asked.title or None, tags=asked.tags, meta=_meta(asked.meta),
        keep_original=asked.keep_original,
    )  # fmt: skip
    return queue.submit_uploads(served.data_dir, served.settings, request, [file])


def add_note(served: Served, asked: say.Note) -> AddAnswer:
    """Add a text that is in no file, at once."""
    return served.knowledge.add_note(asked.text, title=asked.title or None, tags=asked.tags, meta=_meta(asked.meta))


def delete_document(served: Served, number: int) -> RemoveAnswer:
    """Remove a document from the store; a file that it was read from stays where it is."""
    return served.knowledge.remove(number)


def list_tags(served: Served) -> TagAnswer:
    """List the tags, with what they mean and how many documents have them."""
    return served.knowledge.tags()


def describe_tag(served: Served, asked: say.Described) -> TagAnswer:
    """Say what a tag means."""
    return served.knowledge.describe_tag(asked.name, asked.description)


def tag_document(served: Served, number: int, asked: say.TagNames) -> TagAnswer:
    """Give a document tags."""
    return served.knowledge.tag(number, *asked.tags)


def untag_document(served: Served, number: int, asked: say.TagNames) -> TagAnswer:
    """Take tags from a document."""
    return served.knowledge.untag(number, *asked.tags)


# Jobs


def list_jobs(served: Served, asked: say.JobListing) -> JobsAnswer:
    """List the jobs, the newest first."""
    return queue.jobs(served.data_dir, asked.states, limit=asked.top, offset=asked.offset)


def show_job(served: Served, number: int, asked: say.JobFiles) -> JobAnswer:
    """How a job goes on, and what became of each of its files."""
    return queue.job(served.data_dir, number, statuses=asked.statuses, limit=asked.top, offset=asked.offset)


def cancel_job(served: Served, number: int) -> JobAnswer:
    """End a job: one that waits at once, one that runs at its next file. What is done stays."""
    return _changed(queue.cancel, served, number)


def retry_job(served: Served, number: int) -> JobAnswer:
    """Try again the files of a job that failed, and those that were never come to."""
    return _changed(queue.retry, served, number)


# The server itself


def health(served: Served) -> Health:  # noqa: ARG001  every operation is given it
    """Whether the server answers."""
    return Health()


def status(served: Served) -> StatusAnswer:
    """How much is in the store, with which model, and what should be done about it."""
    return served.knowledge.status()


def metrics(served: Served) -> PrometheusText:
    """Requests, latencies, errors, the store's size and the jobs, for Prometheus."""
    try:
        now = served.knowledge.status()
        jobs = queue.jobs(served.data_dir, (), limit=1, offset=0).by_state
    except StoreMissing:
        return PrometheusText(served.metrics.text({}, {}, {}))
    counts = {
        "documents": now.documents,
        "chunks": now.chunks,
        "waiting_texts": now.waiting,
        "failed_files": now.failed_files,
    }
    sizes = {"database": now.database_bytes, "matrix": now.matrix_bytes, "lexical": now.lexical_bytes}
    return PrometheusText(served.metrics.text(counts, sizes, jobs))


def openapi(served: Served) -> dict[str, Any]:
    """What can be asked, as OpenAPI 3.1: the description that you read."""
    return served.describe()


def _said(asked: msgspec.Struct) -> dict[str, Any]:
    """What the client said or a default says, as `KnowledgeBase` takes it."""
    said = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not msgspec.UNSET}
    days: dict[str, Any] = {name: said[name].isoformat() for name in ("since", "before") if name in said}
    return {**said, **days, "meta": _meta(said["meta"])}


def _meta(pairs: Sequence[str]) -> dict[str, str]:
    try:
        return values(pairs)
    except BadRequest as error:  # the schema says what a pair is, not that no key may come twice
        raise Conflict(error.message, error.hint) from error


def _changed(change: Callable[[Path, int], JobAnswer], served: Served, number: int) -> JobAnswer:
    try:
        return change(served.data_dir, number)
    except BadRequest as error:  # of its state, which a client cannot know for sure
        raise Conflict(error.message, error.hint) from error
