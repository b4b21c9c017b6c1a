"""The commands of `kb`, each a few lines: options, a use case, an answer. The order here is the order of `kb --help`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from kb.cli.options import (
    Before,
    Json,
    PathGlob,
    Since,
    Tags,
    Types,
    document_filter,
    setup,
    terminal,
)
from kb.cli.output import emit
from kb.errors import BadRequest, Exit

app = typer.Typer(
    name="kb",
    help="Search everything you own, offline. Documents go in with `kb add`, passages come out with `kb search`.",
    epilog="Exit codes: " + ", ".join(f"{code.value} {code.name.lower().replace('_', ' ')}" for code in Exit) + ".",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
tag_app = typer.Typer(
    help="Give documents tags, and say what the tags mean.", no_args_is_help=True, rich_markup_mode=None
)

MOST = 1_000_000_000
"""Of anything that can be listed: SQLite refuses numbers of more than 64 bits."""

Reference = Annotated[str, typer.Argument(metavar="ID|PATH", help="A document's id, or the path of its file.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version as installed_version  # 20 ms that no other command needs

        print(installed_version("kb-search"))
        raise typer.Exit


@app.callback()
def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def add(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Files or directories; - reads standard input.")
    ] = None,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Take directories with all that is in them.")
    ] = False,
    doc_type: Annotated[
        str | None, typer.Option("--type", metavar="T", help="Read as this type, whatever the name says.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="L", help="The programming language, if the name does not say it."),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="T", help="Give the documents this tag; may be repeated.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="S", help="The title, of one document.")] = None,
    excludes: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave these out, as in .gitignore; may be repeated."),
    ] = None,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Add this text as a note.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="A changed file takes the place of its earlier version.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed before and has not changed.")] = False,
    follow_symlinks: Annotated[
        bool, typer.Option("--follow-symlinks", help="Follow symbolic links in directories.")
    ] = False,
    password: Annotated[str | None, typer.Option("--password", metavar="S", help="Opens encrypted documents.")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes that read; never more than cores.")
    ] = None,
    reread: Annotated[
        bool, typer.Option("--reread", help="Read again what a better engine than before can improve.")
    ] = False,
    engine: Annotated[
        Literal["auto", "docling", "pymupdf"] | None,
        typer.Option("--engine", help="Who reads complex PDF pages, for this once."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added, and add nothing.")] = False,
    as_json: Json = False,
) -> int:
    """Add documents: files, directories, a note, or standard input."""
    from kb.candidates import Request
    from kb.cli import adding

    request = Request(
        paths=tuple(Path(path) for path in paths or ()), recursive=recursive, doc_type=doc_type, language=language,
        tags=tuple(tag.strip() for tag in tags or ()), title=title, excludes=tuple(excludes or ()), replace=replace, retry=retry,
        follow_symlinks=follow_symlinks, password=password, dry_run=dry_run, pdf_engine=engine,
    )  # fmt: skip
    return adding.run(setup(), request, paths or [], note, workers, reread=reread, as_json=as_json)


@app.command()
def search(
    words: Annotated[
        list[str], typer.Argument(metavar="QUERY", help='Words; "quoted" ones are a phrase, -word excludes.')
    ],
    as_json: Json = False,
    format_: Annotated[
        Literal["auto", "json", "human"] | None,
        typer.Option("--format", help="auto: JSON unless standard output is a terminal."),
    ] = None,
    top: Annotated[int | None, typer.Option("--top", "-n", min=1, max=1000, help="How many results.")] = None,
    mode: Annotated[
        Literal["hybrid", "keyword", "semantic"], typer.Option("--mode", help="By words, by meaning, or both.")
    ] = "hybrid",
    tags: Tags = None,
    types: Types = None,
    path: PathGlob = None,
    since: Since = None,
    before: Before = None,
    min_score: Annotated[float, typer.Option("--min-score", min=0, max=1, help="Leave out what scores less.")] = 0.0,
    group: Annotated[bool, typer.Option("--group", help="One result a document: its best passage.")] = False,
    also: Annotated[
        list[str] | None, typer.Option("--also", metavar="QUERY", help="Ask this as well; may be repeated.")
    ] = None,
) -> int:
    """Search for passages."""
    from kb.cli import render
    from kb.search import Request
    from kb.search import search as run
    from kb.wire import SearchAnswers

    here = setup()
    wanted = here.settings.search
    filters = document_filter(tags, types, path, since, before)
    requests = [
        Request(query=query, top=top or wanted.default_top, mode=mode, filter=filters, min_score=min_score, group=group)
        for query in (" ".join(words), *(also or ()))
    ]
    answers = run(here.data_dir, here.settings, requests)
    chosen = "json" if as_json else format_ or wanted.default_format
    as_json = chosen == "json" or (chosen == "auto" and not terminal())
    if not also:
        return emit(answers[0], render.search, as_json=as_json)
    return emit(SearchAnswers.of(answers), render.searches, as_json=as_json)


@app.command()
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
    as_json: Json = False,
) -> int:
    """Print the text of a document or of a part of it, to read on or to cite."""
    from kb import browse
    from kb.cli import render

    if sum(option is not None for option in (lines, page, around)) > 1:
        raise BadRequest("--lines, --page and --around exclude each other", "say one of them")
    part = browse.Part(None if lines is None else browse.parse_lines(lines), page, around)
    return emit(browse.get(setup().data_dir, reference, part), render.get, as_json=as_json)


@app.command("list")
def list_documents(
    tags: Tags = None,
    types: Types = None,
    path: PathGlob = None,
    since: Since = None,
    before: Before = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, max=MOST, help="How many on this page.")] = 50,
    offset: Annotated[int, typer.Option("--offset", min=0, max=MOST, help="How many to pass over first.")] = 0,
    every: Annotated[bool, typer.Option("--all", help="All of them, on one page.")] = False,
    as_json: Json = False,
) -> int:
    """List the documents, in the order they were added."""
    from kb import browse
    from kb.cli import render

    filters = document_filter(tags, types, path, since, before)
    answer = browse.list_documents(setup().data_dir, filters, limit=None if every else top, offset=offset)
    return emit(answer, render.listing, as_json=as_json)


@app.command()
def show(reference: Reference, as_json: Json = False) -> int:
    """Show what is known of a document: metadata, who read it, its chunks."""
    from kb import browse
    from kb.cli import render

    return emit(browse.show(setup().data_dir, reference), render.show, as_json=as_json)


@app.command()
def remove(
    references: Annotated[
        list[str], typer.Argument(metavar="ID|PATH...", help="Documents' ids, or paths of their files.")
    ],
    as_json: Json = False,
) -> int:
    """Remove documents from the store; the files stay where they are."""
    from kb.cli import render
    from kb.remove import remove as run

    here = setup()
    return emit(run(here.data_dir, references, lock_timeout_s=here.lock_timeout_s), render.removed, as_json=as_json)


app.add_typer(tag_app, name="tag")

TagNames = Annotated[list[str], typer.Argument(metavar="TAG...")]


@tag_app.command("add")
def tag_add(reference: Reference, names: TagNames, as_json: Json = False) -> int:
    """Give a document tags."""
    from kb import tagging
    from kb.cli import render

    here = setup()
    answer = tagging.attach(here.data_dir, reference, names, lock_timeout_s=here.lock_timeout_s)
    return emit(answer, render.tags, as_json=as_json)


@tag_app.command("remove")
def tag_remove(reference: Reference, names: TagNames, as_json: Json = False) -> int:
    """Take tags from a document."""
    from kb import tagging
    from kb.cli import render

    here = setup()
    answer = tagging.detach(here.data_dir, reference, names, lock_timeout_s=here.lock_timeout_s)
    return emit(answer, render.tags, as_json=as_json)


@tag_app.command("list")
def tag_list(as_json: Json = False) -> int:
    """List the tags, with what they mean and how many documents have them."""
    from kb import tagging
    from kb.cli import render

    return emit(tagging.every(setup().data_dir), render.tags, as_json=as_json)


@tag_app.command("describe")
@app.command("tag-describe")
def tag_describe(
    name: Annotated[str, typer.Argument(metavar="TAG")],
    description: Annotated[str, typer.Argument(metavar="TEXT")],
    as_json: Json = False,
) -> int:
    """Say what a tag means."""
    from kb import tagging
    from kb.cli import render

    here = setup()
    answer = tagging.describe(here.data_dir, name, description, lock_timeout_s=here.lock_timeout_s)
    return emit(answer, render.tags, as_json=as_json)


@app.command()
def status(as_json: Json = False) -> int:
    """Say how much is in the store, and what should be done about it."""
    from kb.cli import render
    from kb.status import status as run

    here = setup()
    return emit(run(here.data_dir, here.lock_timeout_s), render.fields, as_json=as_json)


@app.command()
def compact(
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="Rewrite kb.db too; needs as much free disk as it has bytes.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Give back the room of removed documents: rebuild the matrix, merge the lexical index."""
    from kb.cli import render
    from kb.compact import compact as run

    here = setup()
    return emit(
        run(here.data_dir, vacuum=vacuum, lock_timeout_s=here.lock_timeout_s), render.compacted, as_json=as_json
    )


@app.command()
def reindex(
    model: Annotated[str | None, typer.Option("--model", metavar="M", help="Switch the store to this model.")] = None,
    as_json: Json = False,
) -> int:
    """Make the vectors that are missing, or those of another model; may be interrupted, and goes on from there."""
    from kb.cli import render
    from kb.cli.bars import EmbeddingBar
    from kb.reindex import reindex as run

    here = setup()
    with EmbeddingBar.for_terminal() as bar:
        answer = run(here.data_dir, here.settings, model, bar, os.environ)
    return emit(answer, render.reindexed, as_json=as_json)


@app.command()
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended.")] = False,
    as_json: Json = False,
) -> int:
    """Check every invariant of the store, the model and the readers."""
    from kb.cli import render
    from kb.doctor import doctor as run

    here = setup()
    answer = run(here.data_dir, here.settings, fix=fix)
    emit(answer, render.diagnosis, as_json=as_json)
    return Exit.OK if answer.ok else Exit.PARTIAL


@app.command()
def config(as_json: Json = False) -> int:
    """Show every setting, its value, and where it came from."""
    from kb.cli import render
    from kb.configuration import describe

    here = setup()
    return emit(describe(here.data_dir, here.loaded), render.configuration, as_json=as_json)


@app.command()
def init(
    model: Annotated[
        str | None, typer.Option("--model", metavar="ORG/NAME", help="A model of the hub, or a folder that holds one.")
    ] = None,
    docling: Annotated[
        bool,
        typer.Option("--docling", help="Fetch Docling's models too, for complex PDF pages; needs the docling extra."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Make the store, and fetch its embedding model. The only command that may use the network."""
    from kb.cli import render
    from kb.init import init as run

    here = setup()
    return emit(run(here.data_dir, here.settings, model, docling=docling), render.fields, as_json=as_json)
