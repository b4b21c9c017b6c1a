"""The commands of `kb`, in the order of `kb --help`. What each does and takes is in the modules named here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from kb.cli import adding, curating, finding, keeping
from kb.errors import Exit

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


COMMANDS: tuple[tuple[str, Callable[..., int]], ...] = (
    ("add", adding.add),
    ("search", finding.search),
    ("get", finding.get),
    ("list", finding.list_documents),
    ("show", finding.show),
    ("remove", curating.remove),
    ("tag-describe", curating.tag_describe),
    ("status", keeping.status),
    ("compact", keeping.compact),
    ("reindex", keeping.reindex),
    ("doctor", keeping.doctor),
    ("config", keeping.config),
    ("init", keeping.init),
)
TAG_COMMANDS: tuple[tuple[str, Callable[..., int]], ...] = (
    ("add", curating.tag_add),
    ("remove", curating.tag_remove),
    ("list", curating.tag_list),
    ("describe", curating.tag_describe),
)

for name, command in COMMANDS:
    app.command(name)(command)
for name, command in TAG_COMMANDS:
    tag_app.command(name)(command)
app.add_typer(tag_app, name="tag")
