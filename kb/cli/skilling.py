"""`kb skill`: what agents read to learn `kb`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.caller import caller
from kb.cli.options import Json
from kb.cli.output import emit
from kb.cli.safe import one_line
from kb.errors import Exit

if TYPE_CHECKING:
    from kb.wire_skill import SkillAnswer


def show() -> int:
    """Print SKILL.md."""
    from kb import skill

    print(skill.text(), end="", file=caller().stdout)
    return Exit.OK


def install(
    for_all: Annotated[bool, typer.Option("--global", help="For all projects: in the home directory.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace one that is there and differs.")] = False,
    as_json: Json = False,
) -> int:
    """Put SKILL.md where agents look for it: .claude/skills/kb and .agents/skills/kb, in this folder."""
    from kb import skill

    folder = Path(caller().absolute("~" if for_all else "."))
    return emit(skill.install(folder, replaces=force), _lines, as_json=as_json)


def _lines(answer: SkillAnswer) -> Iterator[str]:
    for file in answer.files:
        yield f"{file.status.capitalize()}: {one_line(file.path)}"
