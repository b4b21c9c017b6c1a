"""`kb bench`: how well the store answers questions whose answers are known."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.options import EnvFile, Json
from kb.cli.output import emit
from kb.opening import setup


class Backend(StrEnum):  # typer takes no list of a Literal
    keyword = "keyword"
    semantic = "semantic"
    hybrid = "hybrid"
    rerank = "rerank"


def bench(
    fixture: Annotated[
        Path, typer.Argument(metavar="FIXTURE.json", help="Queries with their relevant documents; qmd's format too.")
    ],
    backends: Annotated[
        list[Backend] | None,
        typer.Option(
            "--backend",
            help="Ask this one; may be repeated. rerank is hybrid with its best hits read by the reranker."
            " Without: all of them, rerank where there is a reranker.",
        ),
    ] = None,
    k: Annotated[
        int, typer.Option("--k", min=1, max=100, help="Of precision and recall, where a query says none.")
    ] = 5,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Keep this run.")] = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="FILE", help="Name the queries that changed since that run.")
    ] = None,
    env_file: EnvFile = None,
    as_json: Json = False,
) -> int:
    """Measure how well searches find what they should: precision, recall, MRR, nDCG and latency."""
    from kb import bench as use
    from kb.cli.render_bench import benched

    here = setup(env_file)
    run = use.bench(here.data_dir, here.settings, fixture, [backend.value for backend in backends or ()], k)
    answer = run if compare is None else use.compare(run, compare)  # before saving: it may be the same file
    if save is not None:
        use.save(run, save)
    return emit(answer, benched, as_json=as_json)
