"""The knowledge base for Python programs: what the commands do, as methods that return what `-j` prints.

Every method is the use case that the command line runs, with the settings of `config.yaml` and KB_* variables as they are at that
moment. Answers are frozen structs; docs/schema.json says what each field means. Relative paths are relative to the working directory.

Errors are those of the command line, with a `message` and a `hint` each: `KbError`, `StoreError`, `ModelError` and what is below
them (docs/errors.md). Of several files, those that fail are in the answer and the others are in the store.

Not here: what is done (`kb.add`, `kb.search` ...), what is printed (`kb.cli`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, overload

import msgspec

from index.filters import Filter
from index.kept import keep_open, let_go
from kb import arguments, asking, browse, preferences, tagging
from kb.caller import Caller, answering_for, caller
from kb.errors import BadRequest
from kb.opening import Setup, setup
from kb.wire import (
    AddAnswer,
    Answer,
    CompactAnswer,
    GetAnswer,
    ListAnswer,
    RemoveAnswer,
    ShowAnswer,
    StatusAnswer,
    TagAnswer,
)
from kb.wire_search import SearchAnswer, SearchAnswers

if TYPE_CHECKING:
    from typing import Self, Unpack

    from kb.add import Progress
    from kb.retrieve import Mode
    from kb.view import Viewed
    from kb.wire_failed import FailedAnswer
    from kb.wire_similar import SimilarAnswer

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)
Done = TypeVar("Done")
AnyPath = str | os.PathLike[str]
MOST_RESULTS = 1000

_drawing = Lock()
"""PyMuPDF is not thread-safe."""


class SearchOptions(TypedDict, total=False):
    """What `KnowledgeBase.search` takes besides the queries, for type checkers."""

    top: int | None
    mode: Mode
    tags: Sequence[str]
    types: Sequence[str]
    path: AnyPath | None
    since: str | None
    before: str | None
    roles: Sequence[str]
    meta: Mapping[str, str]
    min_score: float
    group: bool
    per_document: int | None
    rerank: bool | None
    explain: bool
    fresh: bool | None


class KnowledgeBase:
    """One store, made by `open`. A context manager, and safe to use from several threads at once.

    What a search needs (connections, the lexical index, the matrix, the model) stays loaded until `close`: the first search takes
    half a second, the next ones milliseconds. Every answer is of one moment of the store, also while others write to it.

    >>> with KnowledgeBase.open("store") as kb:
    ...     added = kb.add("notes", recursive=True)
    ...     best = kb.search("how are the keys rotated?").results[0]
    >>> added.added
    3
    >>> best.source.title, best.source.lines
    ('Keys', (1, 3))
    >>> print(best.text)
    # Keys
    <BLANKLINE>
    Rotate the API keys every month with the vault tool.
    """

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        """The store's folder, absolute."""
        self.is_closed = False

    @classmethod
    def open(cls, path: AnyPath | None = None) -> KnowledgeBase:
        """Open the store in the folder `path`; without it the one that the command line would use here.

        That is KB_DATA_DIR, else the nearest `.kb` from the working directory upwards, else `~/.kb`. Nothing is made or read yet: a
        store begins with the first document that is added, and until then everything else raises StoreMissing.

        >>> KnowledgeBase.open("elsewhere").status()
        Traceback (most recent call last):
        index.errors.StoreMissing: there is no store in ...
        """
        here = caller()
        data_dir = (
            preferences.data_dir(here.environ, here.folder) if path is None else Path(here.absolute(os.fspath(path)))
        )
        keep_open(data_dir)
        return cls(data_dir)

    def close(self) -> None:
        """Let go of files and connections. A second close does nothing; any other call afterwards raises BadRequest."""
        if not self.is_closed:
            self.is_closed = True
            let_go(self.data_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<KnowledgeBase {self.data_dir}{' (closed)' if self.is_closed else ''}>"

    @overload
    def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchAnswer: ...

    @overload
    def search(
        self, query: str, *, also: Sequence[str], **options: Unpack[SearchOptions]
    ) -> SearchAnswer | SearchAnswers: ...

    def search(
        self,
        query: str,
        *,
        also: Sequence[str] = (),
        top: int | None = None,
        mode: Mode = "hybrid",
        tags: Sequence[str] = (),
        types: Sequence[str] = (),
        path: AnyPath | None = None,
        since: str | None = None,
        before: str | None = None,
        roles: Sequence[str] = (),
        meta: Mapping[str, str] = {},
        min_score: float = 0.0,
        group: bool = False,
        per_document: int | None = None,
        rerank: bool | None = None,
        explain: bool = False,
        fresh: bool | None = None,
    ) -> SearchAnswer | SearchAnswers:
        """Search for passages, as `kb search` does.

        - `query`: words; "quoted" ones are a phrase, -word excludes.
        - `also`: more queries; the answer is then `SearchAnswers`, with the hits of all as one list in `fused`. `keyword:`,
          `semantic:` or `hybrid:` before one says how it is searched.
        - `top`: how many results, 1 to 1000; None: `search.default_top`, which is 10.
        - `mode`: by words (`keyword`), by meaning (`semantic`), or both (`hybrid`).
        - `tags` (all of them), `types` (any of them), `path` (a folder or a pattern), `since` and `before` (`YYYY-MM-DD`), `roles` (who
          speaks in a conversation), `meta` (keys and values given with `add`): only passages of such documents.
        - `min_score`: leave out what scores less, 0 to 1.
        - `group`: one result a document; `per_document`: at most so many, None: 3, and more to fill the page.
        - `rerank`: let a cross-encoder read the best; None: as `search.rerank` says. `explain`: say how each score came about.
        - `fresh`: look at the sources first; None: as `search.fresh` says.

        Raises StoreMissing, BadRequest, ModelMismatch; ModelMissing only where the mode is `semantic`: else words alone are searched,
        and a warning says so.

        >>> answer = kb.search("fruit", types=["markdown"], top=2)
        >>> [hit.source.title for hit in answer.results], answer.confidence
        (['Pears', 'Apples'], 'strong')
        >>> best = kb.search("keys", also=["keyword:vault"]).fused[0]
        >>> best.source.title, [by.query for by in best.found_by]
        ('Keys', [0, 1])
        """
        from kb.search import Request, search, search_together

        arguments.words(also=also)
        arguments.whole("top", top, 1, MOST_RESULTS)
        arguments.whole("per_document", per_document, 1)
        arguments.share("min_score", min_score)
        arguments.one_of("mode", mode, asking.MODES)
        if group and per_document not in (None, 1):
            raise BadRequest("group means per_document=1", "say one of them")

        def work(here: Setup) -> SearchAnswer | SearchAnswers:
            wanted = here.settings.search
            admits = _filter(tags, types, path, since, before, meta, roles)
            requests = [
                Request(
                    query=words, top=top or wanted.default_top, mode=how, filter=admits, min_score=min_score, group=group,
                    per_document=per_document, rerank=rerank, explain=explain,
                )
                for words, how in [(arguments.text(query), mode), *(asking.typed(arguments.text(one), mode) for one in also)]
            ]  # fmt: skip
            said = _freshened(here) if (wanted.fresh if fresh is None else fresh) else ()
            answer: SearchAnswer | SearchAnswers
            if len(requests) > 1:
                answer = search_together(here.data_dir, here.settings, requests)
            else:
                [answer] = search(here.data_dir, here.settings, requests)
            return msgspec.structs.replace(answer, warnings=(*said, *answer.warnings)) if said else answer

        return self._answer(work)

    def similar(
        self,
        reference: str | int | None = None,
        *,
        chunk: int | None = None,
        elsewhere: bool = False,
        top: int | None = None,
        tags: Sequence[str] = (),
        types: Sequence[str] = (),
        path: AnyPath | None = None,
        since: str | None = None,
        before: str | None = None,
        roles: Sequence[str] = (),
        meta: Mapping[str, str] = {},
    ) -> SimilarAnswer:
        """Find passages that say something like a document, or like one chunk, as `kb similar` does.

        - `reference`: a document's id, or the path of its file. Each other document shows its best passage.
        - `chunk`: in its place the `chunk_id` of a passage. The chunk itself is left out, and under `elsewhere` its document too.
        - `top` and the others: as for `search`.

        By the vectors that are stored: no model is needed. Raises StoreMissing, BadRequest; NotFound, also for what has no vector.

        >>> [hit.source.title for hit in kb.similar("notes/apples.md", top=1).results]
        ['Pears']
        """
        from kb.similar import Request, similar

        arguments.whole("top", top, 1, MOST_RESULTS)
        named, is_chunk = _one(reference, chunk)

        def work(here: Setup) -> SimilarAnswer:
            admits = _filter(tags, types, path, since, before, meta, roles)
            count = top or here.settings.search.default_top
            return similar(
                here.data_dir,
                here.settings,
                Request(reference=named, is_chunk=is_chunk, top=count, elsewhere=elsewhere, filter=admits),
            )

        return self._answer(work)

    def get(
        self,
        reference: str | int,
        *,
        page: int | None = None,
        lines: tuple[int, int] | None = None,
        around: int | None = None,
    ) -> GetAnswer:
        """The text of a document or of a part of it, to read on or to cite, as `kb get` gives it.

        - `reference`: a document's id, or the path of its file; with `around` the `chunk_id` of a passage.
        - `page`: of this page, slide or sheet, from 1. `lines`: these lines of the file, from 1, both included.
        - `around`: that chunk with so many neighbours on each side.

        Raises StoreMissing, BadRequest; NotFound, also where the document has no such part.

        >>> kb.get("notes/keys.md", lines=(3, 3)).text
        'Rotate the API keys every month with the vault tool.'
        """
        if sum(part is not None for part in (page, lines, around)) > 1:
            raise BadRequest("page, lines and around exclude each other", "say one of them")
        arguments.whole("page", page, 1)
        arguments.whole("around", around, 0)
        if lines is not None and not 1 <= lines[0] <= lines[1]:
            raise BadRequest(f"lines={lines!r} is not a range", "lines are counted from 1: (10, 20)")
        part = browse.Part(lines, page, around)
        return self._answer(lambda here: browse.get(here.data_dir, arguments.text(reference), part))

    def original(self, reference: str | int) -> Iterator[bytes]:
        """The file of a document as it was, in pieces, as `kb get --original` writes it.

        Raises StoreMissing; NotFound, also where it was not kept (`add(..., keep_original=True)`).

        >>> kb.add("notes/keys.md", keep_original=True).originals
        0
        >>> b"".join(kb.original("notes/keys.md")).splitlines()[0]
        b'# Keys'
        """
        shown = self.show(reference)
        return browse.original(self.data_dir, str(shown.document.document_id))

    def view(
        self,
        reference: str | int | None = None,
        *,
        chunk: int | None = None,
        page: int | None = None,
        dpi: int = 110,
        password: str | None = None,
    ) -> Viewed:
        """Look at a passage where it stands, as `kb view` does: `png` is its page with the passage marked, `answer` says what is shown.

        - `reference`: a document's id, or the path of its file; `page`: which of its pages, slides or sheets; None: how it begins.
        - `chunk`: in its place the `chunk_id` of a passage.
        - `dpi`: how finely a page is drawn, 20 to 600. `password`: opens an encrypted PDF.

        Raises StoreMissing, BadRequest, NotFound; UnreadableFile where the file cannot be drawn.

        >>> seen = kb.view(chunk=1)
        >>> seen.answer.kind, seen.answer.lines, seen.png[1:4]
        ('excerpt', (1, 3), b'PNG')
        """
        from kb.view import Look, view

        arguments.whole("page", page, 1)
        named, is_chunk = _one(reference, chunk)
        if is_chunk and page is not None:
            raise BadRequest("page goes with a document", "a chunk is shown on its own page")
        if not is_chunk and page is None:
            first = self.show(named).chunks[0]
            named, page = (named, first.page) if first.page is not None else (str(first.chunk_id), None)
        look = Look(page=page, dpi=dpi, password=password)
        started = perf_counter()

        def work(here: Setup) -> Viewed:
            with _drawing:
                return view(here.data_dir, named, look)

        seen = self._do(work)
        return msgspec.structs.replace(seen, answer=_timed(seen.answer, started))

    def list(
        self,
        *,
        tags: Sequence[str] = (),
        types: Sequence[str] = (),
        path: AnyPath | None = None,
        since: str | None = None,
        before: str | None = None,
        meta: Mapping[str, str] = {},
        top: int | None = 50,
        offset: int = 0,
    ) -> ListAnswer:
        """The documents, in the order they were added, as `kb list` lists them.

        - `tags`, `types`, `path`, `since`, `before`, `meta`: as for `search`.
        - `top`: how many on this page; None: all. `offset`: how many to pass over first.

        Raises StoreMissing, BadRequest.

        >>> page = kb.list(path="notes", top=2)
        >>> [document.title for document in page.documents], page.total
        (['Apples', 'Keys'], 3)
        """
        arguments.whole("top", top, 1)
        arguments.whole("offset", offset, 0)

        def work(here: Setup) -> ListAnswer:
            admits = _filter(tags, types, path, since, before, meta)
            return browse.list_documents(here.data_dir, admits, limit=top, offset=offset)

        return self._answer(work)

    def failed(self, *, top: int | None = 50, offset: int = 0) -> FailedAnswer:
        """The files that were to be added and could not be read or hold no text, and why, as `kb list --failed` lists them.

        `top`, `offset`: as for `list`. Raises StoreMissing, BadRequest.

        >>> kb.failed().total
        0
        """
        arguments.whole("top", top, 1)
        arguments.whole("offset", offset, 0)
        return self._answer(lambda here: browse.list_failed(here.data_dir, limit=top, offset=offset))

    def show(self, reference: str | int) -> ShowAnswer:
        """What is known of a document: metadata, who read it, its chunks, as `kb show` shows it.

        `reference`: its id, or the path of its file. Raises StoreMissing, NotFound.

        >>> shown = kb.show("notes/keys.md")
        >>> shown.document.type, len(shown.chunks), shown.chunks[0].heading
        ('markdown', 1, 'Keys')
        """
        return self._answer(lambda here: browse.show(here.data_dir, arguments.text(reference)))

    def status(self) -> StatusAnswer:
        """How much is in the store, and in `warnings` what should be done about it, as `kb status` says it. Raises StoreMissing.

        >>> status = kb.status()
        >>> status.documents, status.model, status.warnings
        (3, 'all-MiniLM-L6-v2', ())
        """
        from kb.status import status

        return self._answer(lambda here: status(here.data_dir, here.settings))

    def add(
        self,
        *paths: AnyPath,
        recursive: bool = False,
        tags: Sequence[str] = (),
        doc_type: str | None = None,
        replace: bool = False,
        title: str | None = None,
        meta: Mapping[str, str] = {},
        language: str | None = None,
        exclude: Sequence[str] = (),
        retry: bool = False,
        follow_symlinks: bool = False,
        password: str | None = None,
        engine: Literal["auto", "docling", "pymupdf"] | None = None,
        keep_original: bool | None = None,
        scrub: bool | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> AddAnswer:
        """Add files, and directories with all that is in them, as `kb add` does. Makes the store if need be.

        - `recursive`: take directories. `exclude`: leave these out, as in .gitignore. `follow_symlinks`: in directories.
        - `tags`, `meta`: give the documents these. `title`: of one document.
        - `doc_type`: read as this type, whatever the name says; `language`: of code whose name does not say it.
        - `replace`: a changed file takes the place of its earlier version. `retry`: try again what failed before.
        - `password`: opens encrypted documents. `engine`: who reads complex PDF pages; None: as `ingestion.pdf_engine` says.
        - `keep_original`, `scrub` (secrets): None: as the settings say.
        - `dry_run`: only say what would be added.
        - `progress`: is told of each file that is found and done (`kb.add.Progress`).

        A document is a transaction of its own: what is done when this is interrupted stays. Raises NotFound, BadRequest and StoreLocked;
        of one file alone UnreadableFile; of several, those that fail are in the answer with their `reason`.

        >>> kb.add("notes/keys.md", tags=["ops"]).documents[0].status
        'skipped'
        >>> kb.add("absent.md")
        Traceback (most recent call last):
        kb.errors.NotFound: ...absent.md: no such file or directory
        """
        from kb.add import Silent, add_paths
        from kb.candidates import Request

        arguments.words(tags=tags, exclude=exclude)
        if not paths:
            raise BadRequest("nothing to add", "name files or directories")
        request = Request(
            paths=tuple(Path(path) for path in paths), recursive=recursive, doc_type=doc_type, language=language,
            tags=arguments.texts(tags), title=arguments.title(title), excludes=tuple(exclude), replace=replace, retry=retry,
            follow_symlinks=follow_symlinks, password=password, pdf_engine=engine, keep_original=keep_original, scrub=scrub,
            dry_run=dry_run, meta=arguments.pairs(meta),
        )  # fmt: skip
        arguments.addable(request)
        return self._answer(lambda here: add_paths(here.data_dir, here.settings, request, progress or Silent()))

    def add_note(
        self,
        text: str,
        *,
        title: str | None = None,
        tags: Sequence[str] = (),
        meta: Mapping[str, str] = {},
        scrub: bool | None = None,
    ) -> AddAnswer:
        """Add a text that is in no file, as one passage, as `kb add --note` does. Raises NoText for an empty one.

        >>> kb.add_note("The vault moved to Bern.", tags=["ops"], meta={"source": "doc:12"}).documents[0].title
        'The vault moved to Bern.'
        >>> kb.search("vault", meta={"source": "doc:12"}).returned
        1
        """
        from kb.add import add_note
        from kb.candidates import Request

        arguments.words(tags=tags)
        request = Request(
            title=arguments.title(title), tags=arguments.texts(tags), meta=arguments.pairs(meta), scrub=scrub
        )
        arguments.addable(request)
        return self._answer(lambda here: add_note(here.data_dir, here.settings, request, arguments.text(text)))

    def add_content(
        self,
        content: str | bytes,
        *,
        doc_type: str = "markdown",
        title: str | None = None,
        tags: Sequence[str] = (),
        meta: Mapping[str, str] = {},
        password: str | None = None,
        keep_original: bool | None = None,
        scrub: bool | None = None,
    ) -> AddAnswer:
        r"""Add a document that is in no file, such as one from a database, as `kb add -` adds standard input.

        `content`: what a file of this `doc_type` would hold; it is read and cut into passages as such a file would be. The others are as
        for `add`. Raises UnreadableFile, NoText, UnsupportedType.

        >>> kb.add_content("# Bern\n\nThe vault is in Bern.").documents[0].title
        'Bern'
        """
        from kb.add import add_stream
        from kb.candidates import Request

        arguments.words(tags=tags)
        request = Request(
            doc_type=doc_type, title=arguments.title(title), tags=arguments.texts(tags), meta=arguments.pairs(meta), password=password,
            keep_original=keep_original, scrub=scrub,
        )  # fmt: skip
        arguments.addable(request)
        raw = arguments.text(content).encode() if isinstance(content, str) else content
        return self._answer(lambda here: add_stream(here.data_dir, here.settings, request, raw))

    def remove(self, *references: str | int) -> RemoveAnswer:
        """Remove documents from the store, all or none, as `kb remove` does; the files stay where they are.

        `references`: ids, or paths of files. Raises StoreMissing, StoreLocked, NotFound.

        >>> [document.title for document in kb.remove("notes/pears.md").removed]
        ['Pears']
        """
        from kb.remove import remove

        if not references:
            raise BadRequest("nothing to remove", "name documents by their ids or paths")
        names = [arguments.text(reference) for reference in references]
        return self._answer(lambda here: remove(here.data_dir, names, lock_timeout_s=here.lock_timeout_s))

    def tag(self, reference: str | int, *names: str) -> TagAnswer:
        """Give a document tags, as `kb tag add` does. Raises StoreMissing, StoreLocked, NotFound, BadRequest.

        >>> kb.tag("notes/keys.md", "ops", "urgent").changed
        1
        """
        return self._answer(
            lambda here: tagging.attach(
                here.data_dir, arguments.text(reference), arguments.texts(names), lock_timeout_s=here.lock_timeout_s
            )
        )

    def untag(self, reference: str | int, *names: str) -> TagAnswer:
        """Take tags from a document, as `kb tag remove` does; one that it does not have is no error.

        >>> kb.untag("notes/keys.md", "ops").changed
        0
        """
        return self._answer(
            lambda here: tagging.detach(
                here.data_dir, arguments.text(reference), arguments.texts(names), lock_timeout_s=here.lock_timeout_s
            )
        )

    def describe_tag(self, name: str, description: str) -> TagAnswer:
        """Say what a tag means, as `kb tag describe` does: answers of `search` carry it.

        >>> kb.describe_tag("ops", "how we run things").tags[0].description
        'how we run things'
        """
        return self._answer(
            lambda here: tagging.describe(
                here.data_dir, arguments.text(name), arguments.text(description), lock_timeout_s=here.lock_timeout_s
            )
        )

    def tags(self) -> TagAnswer:
        """The tags, with what they mean and how many documents have them, as `kb tag list` lists them.

        >>> kb.tags().tags
        ()
        """
        return self._answer(lambda here: tagging.every(here.data_dir))

    def compact(self, *, vacuum: bool = False) -> CompactAnswer:
        """Give back the room of what was removed, as `kb compact` does.

        `vacuum`: rewrite `kb.db` too, which needs as much free disk as it has bytes. Raises StoreMissing, StoreLocked.

        >>> _ = kb.remove("notes/pears.md")
        >>> compacted = kb.compact()
        >>> compacted.rows_before, compacted.rows_after
        (3, 2)
        """
        from kb.compact import compact

        return self._answer(lambda here: compact(here.data_dir, vacuum=vacuum, lock_timeout_s=here.lock_timeout_s))

    def _answer(self, work: Callable[[Setup], AnyAnswer]) -> AnyAnswer:
        """What a use case answers, with the time that it took."""
        started = perf_counter()
        return _timed(self._do(work), started)

    def _do(self, work: Callable[[Setup], Done]) -> Done:
        """Let this process ask for something, whatever it is that calls it: the daemon, a command or a program."""
        if self.is_closed:
            raise BadRequest("this knowledge base is closed", "open it again: KnowledgeBase.open()")
        asks = Caller(
            environ={**os.environ, "KB_DATA_DIR": str(self.data_dir)}, folder="", stdout=sys.stdout, stderr=sys.stderr,
            on_terminal=False, started=perf_counter(),
        )  # fmt: skip
        with answering_for(asks):
            return work(setup())


def _timed(answer: AnyAnswer, started: float) -> AnyAnswer:
    if answer.took_ms:
        return answer
    return msgspec.structs.replace(answer, took_ms=round((perf_counter() - started) * 1000, 3))


def _one(reference: str | int | None, chunk: int | None) -> tuple[str, bool]:
    """The document or the chunk that was named, and whether it is a chunk."""
    arguments.whole("chunk", chunk, 1)
    if (reference is None) == (chunk is None):
        raise BadRequest("say a document or a chunk", "one of both: 12, 'notes/keys.md', or chunk=34")
    return (arguments.text(reference), False) if chunk is None else (str(chunk), True)


def _filter(
    tags: Sequence[str],
    types: Sequence[str],
    path: AnyPath | None,
    since: str | None,
    before: str | None,
    meta: Mapping[str, str],
    roles: Sequence[str] = (),
) -> Filter:
    arguments.words(tags=tags, types=types, roles=roles)
    where = None if path is None else arguments.text(os.fspath(path))
    pairs = arguments.pairs(meta).items()
    return asking.document_filter(
        [arguments.text(tag) for tag in tags],
        types,
        where,
        since,
        before,
        metas=pairs,
        roles=[arguments.text(role) for role in roles],
    )


def _freshened(here: Setup) -> Sequence[str]:
    from kb.fresh import freshen

    return freshen(here.data_dir, here.settings)
