"""Options that several commands share, and the context that each command begins with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from index.filters import Filter
from kb import envfile, settings
from kb.caller import answering_for, caller
from kb.detect import supported_types
from kb.errors import BadRequest
from kb.meta import pairs
from kb.settings import Loaded, Settings
from kb.whichstore import named

Json = Annotated[bool, typer.Option("--json", "-j", help="Answer in JSON on standard output.")]
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


class Setup(msgspec.Struct, frozen=True):
    """Where the store is, and what the user prefers."""

    data_dir: Path
    loaded: Loaded

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def lock_timeout_s(self) -> float:
        return self.loaded.settings.storage.lock_timeout_s


def setup(env_file: str | None = None) -> Setup:
    """Raises BadConfig, and BadRequest for an --env-file that is not there."""
    environ = caller().environ
    folder = settings.data_dir(environ, caller().folder)
    loaded = settings.load(folder, environ)
    if loaded.settings.embedding.model is not None:
        from kb.switch import settled  # SQLite, numpy and tantivy, which not every command needs

        loaded = settled(folder, loaded)
    envfile.use(env_file, loaded, folder)
    return Setup(folder, loaded)


@contextmanager
def of_store(name: str | None) -> Iterator[None]:
    """What happens inside happens in the store of this name or path; None: in the one that is found."""
    if name is None:
        yield
        return
    if not name.strip():
        raise BadRequest("--store needs a name or a path", "say --store NAME, or --store ./folder")
    here = caller()
    environ = {**here.environ, "KB_DATA_DIR": here.absolute(named(name))}
    with answering_for(msgspec.structs.replace(here, environ=environ, names_a_store=True)):
        yield


def document_filter(
    tags: list[str] | None,
    types: list[str] | None,
    path: str | None,
    since: str | None,
    before: str | None,
    metas: list[str] | None = None,
    roles: list[str] | None = None,
) -> Filter:
    """Raises BadRequest for a type, a date or a pair that cannot be."""
    known = [*supported_types(), "note"]
    for name in types or ():
        if name not in known:
            raise BadRequest(f"unknown type {name!r}", f"types are {', '.join(sorted(known))}")
    return Filter(
        tags=tuple(tags or ()), types=tuple(types or ()), path_glob=path_glob(path) if path else None,
        since=_day("--since", since), before=_day("--before", before), meta=pairs(metas or ()),
        roles=tuple(roles or ()),
    )  # fmt: skip


def path_glob(path: str) -> str:
    """What a person writes as a path pattern, as SQLite's GLOB over absolute paths.

    A folder means all that is below it; a relative pattern may match anywhere below the root.
    """
    absolute = caller().absolute(path)
    if Path(absolute).exists():
        literal = re.sub(r"[*?[]", r"[\g<0>]", absolute)
        return f"{literal.rstrip('/')}/*" if Path(absolute).is_dir() else literal
    if path.startswith(("/", "~", "./", "../")):
        return absolute
    if any(mark in path for mark in "*?["):
        return f"*{path}" if path.startswith("*") else f"*/{path}"
    return f"*{path}*"


def _day(option: str, text: str | None) -> str | None:
    """A day, a month, a year or a moment as ISO 8601 in UTC, which sorts as the store's dates do."""
    if text is None:
        return None
    padded = {4: f"{text}-01-01", 7: f"{text}-01"}.get(len(text), text)
    try:
        moment = datetime.fromisoformat(padded)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest(f"{option} {text!r} is not a date", "say it as 2026-11-29") from None
    return moment.isoformat(timespec="seconds")
