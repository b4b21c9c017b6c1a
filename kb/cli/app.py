"""The commands of `kb`, in the order of `kb --help`. What each does and takes is in the modules named here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from kb import __version__
from kb.cli import adding, benching, curating, finding, keeping, standing
from kb.cli.quick import QuickCommand
from kb.errors import Exit

Command = Callable[..., int]
COMMANDS: dict[str, Command] = {
    "add": adding.add,
    "search": finding.search,
    "get": finding.get,
    "list": finding.list_documents,
    "show": finding.show,
    "remove": curating.remove,
    "tag-describe": curating.tag_describe,
    "status": keeping.status,
    "compact": keeping.compact,
    "reindex": keeping.reindex,
    "doctor": keeping.doctor,
    "bench": benching.bench,
    "config": keeping.config,
    "init": keeping.init,
}
GROUPS: dict[str, tuple[str, dict[str, Command]]] = {
    "tag": (
        "Give documents tags, and say what the tags mean.",
        {
            "add": curating.tag_add,
            "remove": curating.tag_remove,
            "list": curating.tag_list,
            "describe": curating.tag_describe,
        },
    ),
    "daemon": (
        "The process that answers searches in milliseconds; the first search starts it.",
        {"start": standing.start, "stop": standing.stop, "status": standing.status},
    ),
}


CONTEXT = {"help_option_names": ["-h", "--help"]}


def command_line() -> typer.Typer:
    """All commands, as `kb --help` lists them."""
    app = typer.Typer(
        name="kb",
        help="Search everything you own, offline. Documents go in with `kb add`, passages come out with `kb search`.",
        epilog="Exit codes: " + ", ".join(f"{code.value} {code.name.lower().replace('_', ' ')}" for code in Exit) + ".",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
        callback=_global,
    )
    for name, command in COMMANDS.items():
        app.command(name)(command)
    for name, (said, commands) in GROUPS.items():
        app.add_typer(_group(said, commands), name=name)
    return app


def one_command(verb: str) -> typer.Typer:
    """One of COMMANDS alone: each takes a millisecond to make, and a process needs one."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(verb, cls=QuickCommand, context_settings=CONTEXT)(COMMANDS[verb])
    return app


def _group(said: str, commands: dict[str, Command]) -> typer.Typer:
    group = typer.Typer(help=said, no_args_is_help=True, rich_markup_mode=None)
    for name, command in commands.items():
        group.command(name)(command)
    return group


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
