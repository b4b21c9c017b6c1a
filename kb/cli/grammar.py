"""What the command line takes, as values: made of the commands themselves, for completion scripts and the man page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import typer

from kb.cli.app import command_line


class Option(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    """Such as `--json`, `-j`; of a switch `--rerank`, `--no-rerank`."""
    help: str
    value: str | None
    """What is written for its value in help; None: it takes none."""
    choices: tuple[str, ...] = ()
    """The values that it takes, where those are few."""


class Argument(msgspec.Struct, frozen=True):
    name: str
    help: str
    choices: tuple[str, ...] = ()


class Command(msgspec.Struct, frozen=True):
    path: tuple[str, ...]
    """`("tag", "add")`; empty: `kb` itself."""
    usage: str
    """All that may follow its name."""
    help: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    members: tuple[Command, ...]
    """Of a group."""

    @property
    def summary(self) -> str:
        return first_sentence(self.help)

    def walk(self) -> Iterator[Command]:
        """Itself and all below, parents first."""
        yield self
        for member in self.members:
            yield from member.walk()


def grammar() -> Command:
    """`kb` with all its commands, in the order of `kb --help`."""
    return _command(typer.main.get_command(command_line()), (), None)


def first_sentence(text: str) -> str:
    return text.partition("\n\n")[0].replace("\n", " ").partition(". ")[0].rstrip(".")


def _command(command: Any, path: tuple[str, ...], parent: Any) -> Command:
    name = path[-1] if path else "kb"
    context = command.context_class(command, info_name=name, parent=parent, **command.context_settings)
    parameters = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    members = getattr(command, "commands", {})
    return Command(
        path=path,
        usage=" ".join(command.collect_usage_pieces(context)),
        help=(command.help or "").strip(),
        options=tuple(_option(one, context) for one in parameters if one.param_type_name == "option"),
        arguments=tuple(
            Argument(one.make_metavar(context), one.help or "", _choices(one))
            for one in parameters
            if one.param_type_name == "argument"
        ),
        members=tuple(_command(member, (*path, short), context) for short, member in members.items()),
    )


def _option(parameter: Any, context: Any) -> Option:
    takes_none = parameter.is_flag or parameter.count
    return Option(
        names=(*parameter.opts, *parameter.secondary_opts),
        help=parameter.help or "",
        value=None if takes_none else parameter.make_metavar(context),
        choices=() if takes_none else _choices(parameter),
    )


def _choices(parameter: Any) -> tuple[str, ...]:
    return tuple(map(str, getattr(parameter.type, "choices", ())))
