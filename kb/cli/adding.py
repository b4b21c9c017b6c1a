"""`kb add`: its options. What is done with them: `kb.cli.ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kb.cli.options import EnvFile, Json
from kb.opening import setup


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
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Read by the workers of a Dask scheduler: tcp://HOST:8786."),
    ] = None,
    reread: Annotated[
        bool, typer.Option("--reread", help="Read again what a better engine than before can improve.")
    ] = False,
    engine: Annotated[
        Literal["auto", "docling", "pymupdf"] | None,
        typer.Option("--engine", help="Who reads complex PDF pages, for this once."),
    ] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="KEY=VALUE", help="Give the documents this too; may be repeated."),
    ] = None,
    keep_original: Annotated[
        bool | None,
        typer.Option("--keep-original/--no-keep-original", help="Keep the files as they are in the store too."),
    ] = None,
    scrub: Annotated[
        bool | None,
        typer.Option(
            "--scrub/--no-scrub", help="Store [redacted: kind] in place of secrets, or them; --scrub is usual."
        ),
    ] = None,
    background: Annotated[
        bool,
        typer.Option("--background", help="Let a worker add it, and answer at once: kb jobs shows how it goes on."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added, and add nothing.")] = False,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Add documents: files, directories, a note, or standard input."""
    from kb.candidates import Request
    from kb.cli import ingest
    from kb.meta import values

    request = Request(
        paths=tuple(Path(path) for path in paths or ()), recursive=recursive, doc_type=doc_type, language=language,
        tags=tuple(tag.strip() for tag in tags or ()), title=title, excludes=tuple(excludes or ()), replace=replace, retry=retry,
        follow_symlinks=follow_symlinks, password=password, dry_run=dry_run, pdf_engine=engine,
        keep_original=keep_original, scrub=scrub, meta=values(meta or ()),
    )  # fmt: skip
    here = setup(env_file)
    if background:
        ingest.check_background(cluster)
        return ingest.submit(here, request, paths or [], note, workers, env_file, reread=reread, as_json=as_json)
    return ingest.run(here, request, paths or [], note, workers, cluster, reread=reread, as_json=as_json)
