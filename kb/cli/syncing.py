"""`kb source`, `kb scan`, `kb sync`: folders that the store is kept in step with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kb.cli.options import EnvFile, Json
from kb.cli.output import emit
from kb.errors import Exit
from kb.opening import Setup, setup

if TYPE_CHECKING:
    from kb.cli.bars import AddBar

Name = Annotated[str, typer.Argument(metavar="NAME", help="A source's name, or its path.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...", help="Names of sources; none: all of them.")]


def add(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder with all that is in it, or a file.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="N", help="What it is called; unset: as the folder is.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="T", help="Give its documents this tag; may be repeated.")
    ] = None,
    globs: Annotated[
        list[str] | None,
        typer.Option("--glob", metavar="G", help="Take these files only, as in .gitignore; may be repeated."),
    ] = None,
    excludes: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="G", help="Leave these out, as in .gitignore; may be repeated."),
    ] = None,
    doc_type: Annotated[
        str | None, typer.Option("--type", metavar="T", help="Read its files as this type, whatever their names say.")
    ] = None,
    chunker: Annotated[
        Literal["structure", "fixed"] | None,
        typer.Option("--chunker", help="Cut its documents at headings and functions, or in windows."),
    ] = None,
    follow_symlinks: Annotated[bool, typer.Option("--follow-symlinks", help="Follow symbolic links in it.")] = False,
    scrub: Annotated[
        bool | None, typer.Option("--scrub/--no-scrub", help="Take secrets out of its documents, or leave them in.")
    ] = None,
    description: Annotated[
        str, typer.Option("--describe", metavar="TEXT", help="What it is; comes back with its hits.")
    ] = "",
    as_json: Json = False,
) -> int:
    """Register a source. Nothing is read before `kb sync`."""
    from kb import sources
    from kb.caller import caller
    from kb.cli import render_sources as render
    from kb.sourcerules import SourceRules

    rules = SourceRules(
        tags=tuple(tag.strip() for tag in tags or ()), globs=tuple(globs or ()), excludes=tuple(excludes or ()),
        doc_type=doc_type, chunker=chunker, follow_symlinks=follow_symlinks, scrub=scrub,
    )  # fmt: skip
    declared = sources.Declared(path=caller().absolute(path), name=name, description=description, rules=rules)
    here = setup()
    return emit(sources.add(here.data_dir, here.settings, declared), render.registered, as_json=as_json)


def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="YAML: `sources:`, a list of `path:`, `name:` and so on.")
    ],
    as_json: Json = False,
) -> int:
    """Register the sources that a file declares, and let those that are registered be as it says.

    Each has `path` (relative to the file), and may have `name`, `description`, `tags`, `globs`, `excludes`, `type`, `chunker`,
    `follow_symlinks` and `scrub`. Sources that the file does not name stay.
    """
    from kb import declared, sources
    from kb.caller import caller
    from kb.cli import render_sources as render

    here = setup()
    wanted = declared.read(Path(caller().absolute(file)))
    return emit(sources.declare(here.data_dir, here.settings, wanted), render.registered, as_json=as_json)


def list_(as_json: Json = False) -> int:
    """List the sources, in the order they were registered."""
    from kb import sources
    from kb.cli import render_sources as render

    return emit(sources.every(setup().data_dir), render.listing, as_json=as_json)


def show(name: Name, as_json: Json = False) -> int:
    """Show a source's path, rules and description."""
    from kb import sources
    from kb.cli import render_sources as render

    return emit(sources.show(setup().data_dir, name), render.details, as_json=as_json)


def rename(
    name: Name, to: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")], as_json: Json = False
) -> int:
    """Give a source another name; its documents keep their tags and all else."""
    from kb import sources
    from kb.cli import render_sources as render

    here = setup()
    answer = sources.rename(here.data_dir, name, to, lock_timeout_s=here.lock_timeout_s)
    return emit(answer, render.listing, as_json=as_json)


def remove(
    name: Name,
    with_documents: Annotated[
        bool, typer.Option("--documents", help="Remove its documents from the store too.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Forget a source. Its documents stay in the store, and its files where they are."""
    from kb import sources
    from kb.cli import render_sources as render

    here = setup()
    answer = sources.remove(here.data_dir, name, with_documents=with_documents, lock_timeout_s=here.lock_timeout_s)
    return emit(answer, render.removed, as_json=as_json)


def scan(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Name every file, not the first 20 of a kind.")] = False,
    as_json: Json = False,
) -> int:
    """Say what is new, changed, moved or gone in the sources, and change nothing. Exit code 8 if anything is."""
    from kb.cli import render_sources as render
    from kb.scan import scan as run

    here = setup()
    answer = run(here.data_dir, here.settings, names or (), shows_all=every)
    emit(answer, render.scanned, as_json=as_json)
    return Exit.OUT_OF_STEP if answer.in_step is False else Exit.OK


def sync(
    names: Names = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove what is gone even if that is more than half of a source.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on, and sync whenever something changes.")] = False,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Bring the store into step with the sources: read what is new or changed, rename what moved, remove what is gone."""
    here = setup(env_file)
    if watch:
        return _watch(here, names or [], yes=yes, as_json=as_json)
    from kb.cli import render_sources as render
    from kb.sync import sync as run

    with _bar(as_json=as_json) as bar:

        def may_remove(question: str) -> bool:
            if yes or as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
                return yes
            with bar.paused():
                return typer.confirm(f"{question}. Remove them?", err=True)

        answer = run(here.data_dir, here.settings, names or (), bar, may_remove)
    emit(answer, render.synced, as_json=as_json)
    if any(source.refused for source in answer.sources):
        return Exit.OUT_OF_STEP
    return Exit.PARTIAL if any(source.failed or source.unreadable for source in answer.sources) else Exit.OK


def _watch(here: Setup, names: list[str], *, yes: bool, as_json: bool) -> int:
    """Under -j a line of JSON for each sync that had something to do."""
    from kb.cli import render_sources as render
    from kb.watch import watch as run
    from kb.wire_sources import SyncAnswer

    def tell(answer: SyncAnswer) -> None:
        emit(answer, render.synced, as_json=as_json)
        sys.stdout.flush()

    with _bar(as_json=as_json, shown=False) as bar:
        run(here.data_dir, here.settings, names, bar, lambda _question: yes, tell)
    return Exit.OK


def _bar(*, as_json: bool, shown: bool = True) -> AddBar:
    from kb.cli.bars import AddBar

    return AddBar(shown=shown and sys.stderr.isatty() and not as_json, say=(lambda _line: None) if as_json else print)
