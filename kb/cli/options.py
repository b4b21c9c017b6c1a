"""Options that several commands share, and --store, which all have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import msgspec
import typer

from index.errors import StoreMissing
from kb.caller import answering_for, caller
from kb.errors import BadRequest
from kb.whichstore import named, stores_beside

Json = Annotated[bool, typer.Option("--json", "-j", help="Answer in JSON on standard output.")]
Format = Annotated[
    Literal["json", "jsonl", "human", "markdown", "csv", "xml", "paths", "paths0"] | None,
    typer.Option(
        "--format", help="How to print it. jsonl: an item a line; paths: each file once; paths0: for xargs -0."
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", "-t", metavar="T", help="Only documents with this tag; repeated: with all of them."),
]
Types = Annotated[
    list[str] | None, typer.Option("--type", metavar="T", help="Only this type of document; repeated: any of them.")
]
PathGlob = Annotated[
    str | None,
    typer.Option("--path", metavar="GLOB", help="Only below this folder, or where the path matches; * also crosses /."),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="DATE",
        help="Only documents of this day or later (YYYY-MM-DD); of a conversation what was said then.",
    ),
]
Before = Annotated[str | None, typer.Option("--before", metavar="DATE", help="Only documents of before this day.")]

EnvFile = Annotated[
    str | None,
    typer.Option("--env-file", metavar="FILE", help="Keys of services that no variable has: lines such as NAME=value."),
]
Metas = Annotated[
    list[str] | None,
    typer.Option(
        "--meta",
        metavar="KEY=VALUE",
        help="Only documents that were given this (kb add --meta) or state it; repeated: all of them.",
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="R",
        help="Only where this one speaks in a conversation: user, assistant or a name; repeated: any of them.",
    ),
]

Store = Annotated[
    str | None,
    typer.Option("--store", metavar="NAME|PATH", help="Another store: a folder, or a name below ~/.kb/stores."),
]
Stores = Annotated[
    list[str] | None,
    typer.Option("--store", metavar="NAME|PATH", help="Another store, as elsewhere; repeated: all of them."),
]
Reference = Annotated[str, typer.Argument(metavar="ID|PATH", help="A document's id, or the path of its file.")]


@contextmanager
def of_store(name: str | None) -> Iterator[None]:
    """What happens inside happens in the store of this name or path; None: in the one that is found."""
    if name is None:
        yield
        return
    if not name.strip():
        raise BadRequest("--store needs a name or a path", "say --store NAME, or --store ./folder")
    here = caller()
    folder = here.absolute(named(name))
    environ = {**here.environ, "KB_DATA_DIR": folder}
    with answering_for(msgspec.structs.replace(here, environ=environ, names_a_store=True)):
        try:
            yield
        except StoreMissing as error:
            raise StoreMissing(error.message, _stores_there_are(name, folder)) from error


def _stores_there_are(name: str, folder: str) -> str:
    """What helps whoever named a store that is not there."""
    makes = f"kb add PATH --store {name} makes it"
    if named(name) == name:  # a path
        return makes
    known = ", ".join(stores_beside(folder)) or "none"
    return f"stores called by name: {known}; {makes}"
