"""The commands of `kb`, in the order of `kb --help`. What each does and takes is in the modules named here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer

from kb import __version__
from kb.cli import options as options_of_all
from kb.cli.quick import QuickCommand
from kb.errors import Exit

Command = Callable[..., int]
COMMANDS: dict[str, str] = {
    "add": "adding.add",
    "scan": "syncing.scan",
    "sync": "syncing.sync",
    "search": "finding.search",
    "similar": "comparing.similar",
    "get": "finding.get",
    "list": "finding.list_documents",
    "show": "finding.show",
    "view": "viewing.view",
    "remove": "curating.remove",
    "tag-describe": "curating.tag_describe",
    "status": "keeping.status",
    "scrub": "scrubbing.scrub",
    "compact": "keeping.compact",
    "reindex": "keeping.reindex",
    "doctor": "keeping.doctor",
    "backup": "moving.backup",
    "restore": "moving.restore",
    "export": "moving.export",
    "import": "moving.import_folder",
    "bench": "benching.bench",
    "mcp": "mcp.mcp",
    "serve": "serving.serve",
    "completion": "completing.completion",
    "config": "keeping.config",
    "init": "keeping.init",
}
"""Each with its place in `kb.cli`: only the module of the command that was given is loaded."""
WRITING = frozenset({"add", "sync", "reindex", "import", "restore", "compact", "jobs"})
"""Those that may write much."""
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "tag": (
        "Give documents tags, and say what the tags mean.",
        {
            "add": "curating.tag_add",
            "remove": "curating.tag_remove",
            "list": "curating.tag_list",
            "describe": "curating.tag_describe",
        },
    ),
    "source": (
        "Folders that the store is kept in step with: register them, then `kb sync`.",
        {
            "add": "syncing.add",
            "list": "syncing.list_",
            "show": "syncing.show",
            "rename": "syncing.rename",
            "remove": "syncing.remove",
            "import": "syncing.import_",
        },
    ),
    "jobs": (
        "What is added in the background: `kb add --background` makes a job, a worker does one at a time.",
        {
            "list": "queueing.list_",
            "show": "queueing.show",
            "wait": "queueing.wait",
            "cancel": "queueing.cancel",
            "retry": "queueing.retry",
            "remove": "queueing.remove",
            "run": "queueing.run",
        },
    ),
    "skill": (
        "What agents read to learn `kb`: SKILL.md, printed or put where they look for it.",
        {"show": "skilling.show", "install": "skilling.install"},
    ),
    "daemon": (
        "The process that answers searches in milliseconds; the first search starts it.",
        {"start": "standing.start", "stop": "standing.stop", "status": "standing.status"},
    ),
}


OF_NO_STORE = frozenset({"kb.cli.completing", "kb.cli.skilling"})
"""Modules of commands that look at no store, and take no --store."""
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
    for name, place in COMMANDS.items():
        app.command(name)(in_a_store(at(place)))
    for name, (said, commands) in GROUPS.items():
        app.add_typer(_group(said, commands), name=name)
    return app


def one_command(verb: str) -> typer.Typer:
    """One of COMMANDS or GROUPS alone: each command takes a millisecond to make, and its module up to a hundred to load."""
    if verb in GROUPS:
        return _group(*GROUPS[verb])
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(verb, cls=QuickCommand, context_settings=CONTEXT)(in_a_store(at(COMMANDS[verb])))
    return app


def _group(said: str, commands: dict[str, str]) -> typer.Typer:
    group = typer.Typer(
        help=said, no_args_is_help=True, rich_markup_mode=None, add_completion=False, context_settings=CONTEXT
    )
    for name, place in commands.items():
        group.command(name)(in_a_store(at(place)))
    return group


def at(place: str) -> Command:
    """The command at a place such as `finding.search`."""
    module, _, function = place.partition(".")
    command: Command = getattr(import_module(f"kb.cli.{module}"), function)
    return command


def in_a_store(command: Command) -> Command:
    """The command with the option --store, unless it has that itself or looks at no store."""
    signature = inspect.signature(command, eval_str=True)
    if "stores" in signature.parameters or command.__module__ in OF_NO_STORE:
        return command

    @wraps(command)
    def of_store(*arguments: Any, store: str | None = None, **options: Any) -> int:
        with options_of_all.of_store(store):
            return command(*arguments, **options)

    option = inspect.Parameter("store", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=options_of_all.Store)
    of_store.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    of_store.__annotations__ = {**command.__annotations__, "store": options_of_all.Store}
    return of_store


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
