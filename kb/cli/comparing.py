"""`kb similar`: more like something that is there."""

from __future__ import annotations

from typing import Annotated

import typer

from kb.asking import document_filter
from kb.cli.options import Before, Format, Json, Metas, PathGlob, Roles, Since, Tags, Types
from kb.cli.output import emit
from kb.meta import pairs
from kb.opening import setup


def similar(
    reference: Annotated[
        str, typer.Argument(metavar="ID|PATH", help="A chunk's id, as searches show it, or the path of a document.")
    ],
    is_document: Annotated[bool, typer.Option("--document", help="ID is a document's: more like all of it.")] = False,
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="Leave out the chunk's own document: what others say of it.")
    ] = False,
    top: Annotated[int | None, typer.Option("--top", "-n", min=1, max=1000, help="How many results.")] = None,
    tags: Tags = None,
    types: Types = None,
    path: PathGlob = None,
    since: Since = None,
    before: Before = None,
    roles: Roles = None,
    metas: Metas = None,
    as_json: Json = False,
    format_: Format = None,
) -> int:
    """Find passages that say something like a chunk or a document.

    By the vectors that are stored: no model is needed, and what has none is not found (exit code 3; kb reindex makes it). Of a document, the
    best passage of each other document is shown.
    """
    from kb.cli import render_search as render
    from kb.resolve import is_id
    from kb.similar import Request
    from kb.similar import similar as run

    here = setup()
    request = Request(
        reference=reference,
        is_chunk=not is_document and is_id(reference),
        top=top or here.settings.search.default_top,
        elsewhere=elsewhere,
        filter=document_filter(tags, types, path, since, before, metas=pairs(metas or ()), roles=roles),
    )
    return emit(run(here.data_dir, here.settings, request), render.similar, as_json=as_json, format_=format_)
