"""`kb completion`: prints what a shell needs to complete commands, options and their values."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from kb.errors import Exit


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish", "pwsh"], typer.Argument(help="The shell that is to read it.")],
) -> int:
    """Print a completion script for a shell. It knows the commands and options of this version and starts no program.

    bash: kb completion bash > ~/.local/share/bash-completion/completions/kb

    zsh: kb completion zsh > a file _kb in a folder of $fpath

    fish: kb completion fish > ~/.config/fish/completions/kb.fish

    pwsh (PowerShell; written by its documentation, and not tried in one): kb completion pwsh >> $PROFILE
    """
    from kb.caller import caller
    from kb.cli.grammar import grammar
    from kb.cli.shells import SCRIPTS

    for line in SCRIPTS[shell](grammar()):
        print(line, file=caller().stdout)
    return Exit.OK
