"""`kb remove` and `kb tag`: what changes documents that are in the store."""

from __future__ import annotations

from typing import Annotated

import typer

from kb.cli.options import Json, Reference
from kb.cli.output import emit
from kb.opening import setup

TagNames = Annotated[list[str], typer.Argument(metavar="TAG...")]


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


def tag_add(reference: Reference, names: TagNames, as_json: Json = False) -> int:
    """Give a document tags."""
    from kb import tagging
    from kb.cli import render

    here = setup()
    answer = tagging.attach(here.data_dir, reference, names, lock_timeout_s=here.lock_timeout_s)
    return emit(answer, render.tags, as_json=as_json)


def tag_remove(reference: Reference, names: TagNames, as_json: Json = False) -> int:
    """Take tags from a document."""
    from kb import tagging
    from kb.cli import render

    here = setup()
    answer = tagging.detach(here.data_dir, reference, names, lock_timeout_s=here.lock_timeout_s)
    return emit(answer, render.tags, as_json=as_json)


def tag_list(as_json: Json = False) -> int:
    """List the tags, with what they mean and how many documents have them."""
    from kb import tagging
    from kb.cli import render

    return emit(tagging.every(setup().data_dir), render.tags, as_json=as_json)


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
