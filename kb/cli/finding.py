"""`kb search`, `get`, `list`, `show`: what only reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from kb.asking import document_filter, typed
from kb.cli.options import (
    Before,
    EnvFile,
    Format,
    Json,
    Metas,
    PathGlob,
    Reference,
    Roles,
    Since,
    Stores,
    Tags,
    Types,
    of_store,
)
from kb.cli.output import AnyAnswer, emit
from kb.errors import BadRequest, Exit
from kb.meta import pairs
from kb.opening import Setup, setup

if TYPE_CHECKING:
    from kb.search import Request
    from kb.wire_search import SearchAnswer, SearchAnswers

Mode = Literal["hybrid", "keyword", "semantic"]
MOST = 1_000_000_000
"""Of anything that can be listed: SQLite refuses numbers of more than 64 bits."""


def search(
    words: Annotated[
        list[str], typer.Argument(metavar="QUERY", help='Words; "quoted" ones are a phrase, -word excludes.')
    ],
    as_json: Json = False,
    format_: Annotated[
        Literal["auto", "json", "jsonl", "human", "markdown", "csv", "xml", "paths", "paths0"] | None,
        typer.Option(
            "--format",
            help="auto: JSON unless standard output is a terminal. jsonl: a hit a line; paths: each file once; paths0: for xargs -0.",
        ),
    ] = None,
    top: Annotated[int | None, typer.Option("--top", "-n", min=1, max=1000, help="How many results.")] = None,
    mode: Annotated[Mode, typer.Option("--mode", help="By words, by meaning, or both.")] = "hybrid",
    tags: Tags = None,
    types: Types = None,
    path: PathGlob = None,
    since: Since = None,
    before: Before = None,
    roles: Roles = None,
    metas: Metas = None,
    min_score: Annotated[float, typer.Option("--min-score", min=0, max=1, help="Leave out what scores less.")] = 0.0,
    group: Annotated[bool, typer.Option("--group", help="One result a document: its best passage.")] = False,
    per_document: Annotated[
        int | None,
        typer.Option(
            "--per-document",
            metavar="N",
            min=1,
            help="At most N results a document. Without: 3, and more to fill the page.",
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            metavar="[MODE:]QUERY",
            help="Ask this as well, and fuse the results; may be repeated. `keyword:` or `semantic:` before it says how.",
        ),
    ] = None,
    rerank: Annotated[
        bool | None,
        typer.Option("--rerank/--no-rerank", help="Let a cross-encoder read the best results (kb init --rerank)."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each result came by its score.")] = False,
    fresh: Annotated[
        bool | None,
        typer.Option("--fresh/--no-fresh", help="Look at the sources first, and read what is new in them."),
    ] = None,
    env_file: EnvFile = None,
    stores: Stores = None,
) -> int:
    """Search for passages."""
    from kb.across import merged
    from kb.caller import caller
    from kb.search import Request

    if group and per_document not in (None, 1):
        raise BadRequest("--group means --per-document 1", "say one of them")
    queries = [(" ".join(words), mode), *(typed(query, mode) for query in also or ())]
    answers: list[tuple[str, SearchAnswer | SearchAnswers]] = []
    named: list[str | None] = [*stores] if stores else [None]
    for store in dict.fromkeys(named):
        with of_store(store):
            here = setup(env_file)
            wanted = here.settings.search
            filters = document_filter(tags, types, path, since, before, metas=pairs(metas or ()), roles=roles)
            requests = [
                Request(
                    query=query, top=top or wanted.default_top, mode=how, filter=filters, min_score=min_score, group=group,
                    per_document=per_document, rerank=rerank, explain=explain,
                )
                for query, how in queries
            ]  # fmt: skip
            said = _freshened(here) if (wanted.fresh if fresh is None else fresh) else ()
            answers.append((str(here.data_dir), _with_warnings(_answer(here, requests), said)))
    if not as_json:
        format_ = format_ or wanted.default_format
        as_json = format_ == "auto" and not caller().on_terminal
    code = _emit(answers[0][1] if len(answers) == 1 else merged(answers, requests[0].top), as_json, format_)
    if wanted.daemon and caller().is_this_process and not stores:  # which `kb` asks by its place alone
        from kb.standby import leave_behind

        caller().stdout.flush()
        leave_behind(here.data_dir)
    return code


def _answer(here: Setup, requests: Sequence[Request]) -> SearchAnswer | SearchAnswers:
    from kb.search import search as one_by_one
    from kb.search import search_together

    if len(requests) > 1:
        return search_together(here.data_dir, here.settings, requests)
    return one_by_one(here.data_dir, here.settings, requests)[0]


def _emit(answer: SearchAnswer | SearchAnswers, as_json: bool, format_: str | None) -> int:
    from kb.cli import render_search as render
    from kb.wire_search import SearchAnswers

    if isinstance(answer, SearchAnswers):
        return emit(answer, render.searches, as_json=as_json, format_=format_)
    return emit(answer, render.search, as_json=as_json, format_=format_)


def _freshened(here: Setup) -> Sequence[str]:
    """Bring the store into step; what is to be said of that."""
    from kb.caller import caller
    from kb.fresh import freshen

    if not caller().is_this_process:
        raise typer.Exit  # the daemon declines: it does not write
    return freshen(here.data_dir, here.settings)


def _with_warnings(answer: AnyAnswer, said: Sequence[str]) -> AnyAnswer:
    return msgspec.structs.replace(answer, warnings=(*said, *answer.warnings)) if said else answer


def get(
    reference: Annotated[
        str, typer.Argument(metavar="ID|PATH", help="A document's id or path; with --around a chunk's id.")
    ],
    lines: Annotated[str | None, typer.Option("--lines", metavar="A:B", help="These lines of the file.")] = None,
    page: Annotated[
        int | None, typer.Option("--page", metavar="N", min=1, help="The text of this page, slide or sheet.")
    ] = None,
    around: Annotated[
        int | None, typer.Option("--around", metavar="N", min=0, help="A chunk with N neighbours on each side.")
    ] = None,
    original: Annotated[
        bool, typer.Option("--original", help="Its file as it was, where that was kept (kb add --keep-original).")
    ] = False,
    as_json: Json = False,
    format_: Format = None,
) -> int:
    """Print the text of a document or of a part of it, to read on or to cite."""
    from kb import browse
    from kb.cli import render_get

    if original:
        if as_json or any(option is not None for option in (lines, page, around, format_)):
            raise BadRequest("--original gives the whole file and goes alone", "say kb get ID --original > FILE")
        return _original(reference)
    if sum(option is not None for option in (lines, page, around)) > 1:
        raise BadRequest("--lines, --page and --around exclude each other", "say one of them")
    part = browse.Part(None if lines is None else browse.parse_lines(lines), page, around)
    answer = browse.get(setup().data_dir, reference, part)
    is_plain = not as_json and format_ in {None, "human"}
    if is_plain and part != browse.WHOLE:
        render_get.say_where(answer, part)
    code = emit(answer, render_get.get, as_json=as_json, format_=format_)
    if is_plain and around is not None:
        render_get.say_what_follows(answer)
    return code


def _original(reference: str) -> int:
    """Write the bytes as they come: they may be many, so no daemon collects them, and they may be no text."""
    from kb import browse
    from kb.caller import caller

    if not caller().is_this_process:
        raise typer.Exit  # the daemon declines
    if caller().on_terminal:
        raise BadRequest("a file is not for a terminal", f"say kb get {reference} --original > FILE")
    for piece in browse.original(setup().data_dir, reference):
        caller().stdout.buffer.write(piece)
    return Exit.OK


def list_documents(
    tags: Tags = None,
    types: Types = None,
    path: PathGlob = None,
    since: Since = None,
    before: Before = None,
    metas: Metas = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, max=MOST, help="How many on this page.")] = 50,
    offset: Annotated[int, typer.Option("--offset", min=0, max=MOST, help="How many to pass over first.")] = 0,
    every: Annotated[bool, typer.Option("--all", help="All of them, on one page.")] = False,
    failed: Annotated[
        bool,
        typer.Option(
            "--failed", help="In place of documents the files that could not be read or hold no text, and why."
        ),
    ] = False,
    as_json: Json = False,
    format_: Format = None,
) -> int:
    """List the documents, in the order they were added."""
    from kb import browse
    from kb.cli import render

    limit = None if every else top
    if failed:
        if any((tags, types, path, since, before, metas)):
            raise BadRequest("--failed is about files that are no documents", "say --top, --offset or --all beside it")
        files = browse.list_failed(setup().data_dir, limit=limit, offset=offset)
        return emit(files, render.failures, as_json=as_json, format_=format_)
    filters = document_filter(tags, types, path, since, before, metas=pairs(metas or ()))
    answer = browse.list_documents(setup().data_dir, filters, limit=limit, offset=offset)
    return emit(answer, render.listing, as_json=as_json, format_=format_)


def show(reference: Reference, as_json: Json = False) -> int:
    """Show what is known of a document: metadata, who read it, its chunks."""
    from kb import browse
    from kb.cli import render

    return emit(browse.show(setup().data_dir, reference), render.show, as_json=as_json)
