"""`kb status`, `compact`, `reindex`, `doctor`, `config`, `init`: the store itself."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from kb.cli.options import EnvFile, Json
from kb.cli.output import emit
from kb.errors import BadRequest, Exit
from kb.opening import setup


def status(env_file: EnvFile = None, as_json: Json = False) -> int:
    """Say how much is in the store, and what should be done about it."""
    from kb.cli import render
    from kb.status import status as run

    here = setup(env_file)
    return emit(run(here.data_dir, here.settings), render.fields, as_json=as_json)


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


def reindex(
    model: Annotated[str | None, typer.Option("--model", metavar="M", help="Switch the store to this model.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again the texts that the model could not embed.")] = False,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Make the vectors that are missing, or those of another model; may be interrupted, and goes on from there."""
    from kb.cli import render
    from kb.cli.bars import EmbeddingBar
    from kb.reindex import reindex as run

    here = setup(env_file)
    with EmbeddingBar.for_terminal() as bar:
        answer = run(here.data_dir, here.settings, model, bar, os.environ, retry=retry)
    return emit(answer, render.reindexed, as_json=as_json)


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended.")] = False,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Check every invariant of the store, the model and the readers."""
    from kb.cli import render
    from kb.doctor import doctor as run

    here = setup(env_file)
    answer = run(here.data_dir, here.settings, fix=fix)
    emit(answer, render.diagnosis, as_json=as_json)
    return Exit.OK if answer.ok else Exit.PARTIAL


def config(as_json: Json = False) -> int:
    """Show every setting, its value, and where it came from."""
    from kb.cli import render
    from kb.configuration import describe

    here = setup()
    return emit(describe(here.data_dir, here.loaded, os.environ), render.configuration, as_json=as_json)


def init(
    model: Annotated[
        str | None, typer.Option("--model", metavar="ORG/NAME", help="A model of the hub, or a folder that holds one.")
    ] = None,
    docling: Annotated[
        bool,
        typer.Option("--docling", help="Fetch Docling's models too, for complex PDF pages; needs the docling extra."),
    ] = False,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Fetch a reranker too: RERANKER, or the one that the settings name.")
    ] = False,
    reranker: Annotated[
        str | None, typer.Argument(metavar="[RERANKER]", help="With --rerank: a cross-encoder of the hub, as ORG/NAME.")
    ] = None,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Make the store, and fetch its embedding model. The only command that fetches anything from the network."""
    from kb.cli import render
    from kb.init import init as run

    if reranker is not None and not rerank:
        raise BadRequest(f"what is {reranker!r}?", f"say --model {reranker} or --rerank {reranker}")
    here = setup(env_file)
    wanted = (reranker or here.settings.search.rerank_model) if rerank else None
    answer = run(here.data_dir, here.settings, model, docling=docling, reranker=wanted)
    return emit(answer, render.fields, as_json=as_json)
