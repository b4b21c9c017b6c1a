"""Completion scripts made of the commands. They start no program: a key press must not wait for Python, nor fail for want of a store.

Each finds the command that is being written (its first word, of a group its first two), then offers values after an option that has
some, options after a dash, else commands, else files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kb import __version__
from kb.cli.grammar import Command, first_sentence
from kb.detect import supported_types

ROLES = ("assistant", "user")


def values_of(name: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    """What may follow an option: its choices, or what is usual for it."""
    usual = {"--type": (*sorted(supported_types()), "note"), "--role": ROLES}
    return choices or usual.get(name, ())


def bash(kb: Command) -> Iterator[str]:
    yield f"# Completion of kb {__version__} for bash, written by `kb completion bash`."
    yield "_kb() {"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" part words=""'
    yield '    if [[ $word == "=" ]]; then word=""; elif [[ $before == "=" ]]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi'
    yield '    for part in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield "        [[ $part == -* ]] && continue"
    yield f'        case "$command" in "") command="$part" ;; {"|".join(_groups(kb))}) command+=" $part" ;; *) break ;; esac'
    yield "    done"
    yield '    case "$command $before" in'
    for place, names, values in _valued(kb):
        patterns = "|".join(f'"{place} {name}"' for name in names)
        yield f"        {patterns}) words='{' '.join(values)}' ;;"
    yield "        *)"
    yield '            if [[ $word == -* ]]; then case "$command" in'
    for command in kb.walk():
        yield f"                \"{' '.join(command.path)}\") words='{' '.join(_option_names(command))}' ;;"
    yield '            esac; else case "$command" in'
    for command in kb.walk():
        if offered := [*(member.path[-1] for member in command.members), *_argument_values(command)]:
            yield f"                \"{' '.join(command.path)}\") words='{' '.join(offered)}' ;;"
    yield "            esac; fi ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _kb kb"


def zsh(kb: Command) -> Iterator[str]:
    yield "#compdef kb"
    yield f"# Completion of kb {__version__} for zsh, written by `kb completion zsh`."
    yield "_kb() {"
    yield '    local word="$words[CURRENT]" before="$words[CURRENT-1]" command="" part'
    yield "    local -a offered"
    yield '    if [[ $word == --*=* ]]; then before="${word%%=*}"; compset -P "*="; fi'
    yield '    for part in "${(@)words[2,CURRENT-1]}"; do'
    yield "        [[ $part == -* ]] && continue"
    yield f'        case "$command" in "") command="$part" ;; {"|".join(_groups(kb))}) command+=" $part" ;; *) break ;; esac'
    yield "    done"
    yield '    case "$command $before" in'
    for place, names, values in _valued(kb):
        patterns = "|".join(f'"{place} {name}"' for name in names)
        yield f"        {patterns}) offered=({' '.join(values)}); compadd -a offered; return ;;"
    yield "    esac"
    yield '    if [[ $word == -* ]]; then case "$command" in'
    for command in kb.walk():
        described = " ".join(
            _in_quotes(f"{name}:{first_sentence(option.help)}") for option in command.options for name in option.names
        )
        yield f'        "{" ".join(command.path)}") offered=({described}); _describe -o option offered; return ;;'
    yield '    esac; else case "$command" in'
    for command in kb.walk():
        members = [_in_quotes(f"{member.path[-1]}:{member.summary}") for member in command.members]
        if offered := [*members, *_argument_values(command)]:
            yield f'        "{" ".join(command.path)}") offered=({" ".join(offered)}); _describe command offered; return ;;'
    yield "    esac; fi"
    yield "    _files"
    yield "}"
    yield 'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _kb "$@"; else compdef _kb kb; fi'


def fish(kb: Command) -> Iterator[str]:
    yield f"# Completion of kb {__version__} for fish, written by `kb completion fish`."
    yield "function __kb_command"
    yield "    set -l words (commandline -opc)"
    yield "    set -l found"
    yield "    for word in $words[2..]"
    yield "        string match -q -- '-*' $word; and continue"
    yield "        set -a found $word"
    yield f'        contains -- "$found" {" ".join(_groups(kb))}; or break'
    yield "    end"
    yield '    echo "$found"'
    yield "end"
    for command in kb.walk():
        where = f"complete -c kb -n 'test (__kb_command) = \"{' '.join(command.path)}\"'"
        for member in command.members:
            yield f"{where} -f -a {member.path[-1]} -d {_in_fish_quotes(member.summary)}"
        for value in _argument_values(command):
            yield f"{where} -f -a {value}"
        for option in command.options:
            names = " ".join(_fish_name(name) for name in option.names)
            values = values_of(option.names[0], option.choices)
            takes = f" -x -a '{' '.join(values)}'" if values else " -r" if option.value else ""
            yield f"{where} {names}{takes} -d {_in_fish_quotes(first_sentence(option.help))}"


def pwsh(kb: Command) -> Iterator[str]:
    """Where it offers nothing, PowerShell itself offers files."""
    yield f"# Completion of kb {__version__} for PowerShell, written by `kb completion pwsh`."
    yield "Register-ArgumentCompleter -Native -CommandName kb -ScriptBlock {"
    yield "    param($word, $line, $cursor)"
    yield "    $before = ''; $command = ''; $start = ''; $offered = @(); $isNamed = $false"
    yield "    foreach ($element in @($line.CommandElements | Select-Object -Skip 1)) {"
    yield "        if ($element.Extent.EndOffset -ge $cursor) { break }"
    yield "        $before = $element.Extent.Text"
    yield "        if ($isNamed -or $before.StartsWith('-')) { continue }"
    yield '        $command = "$command $before".Trim()'
    yield f"        $isNamed = {_listed(_groups(kb))} -cnotcontains $command"
    yield "    }"
    yield "    if ($word -cmatch '^(--[a-z-]+)=') { $before = $Matches[1]; $start = $Matches[0]; $word = $word.Substring($start.Length) }"
    yield '    switch -CaseSensitive ("$command $before") {'
    for place, names, values in _valued(kb):
        for name in names:
            yield f"        '{place} {name}' {{ $offered = {_listed(values)} }}"
    yield "    }"
    yield "    if (-not $offered -and $word.StartsWith('-')) {"
    yield "        switch -CaseSensitive ($command) {"
    for command in kb.walk():
        yield f"            '{' '.join(command.path)}' {{ $offered = {_listed(_option_names(command))} }}"
    yield "        }"
    yield "    } elseif (-not $offered) {"
    yield "        switch -CaseSensitive ($command) {"
    for command in kb.walk():
        if offered := [*(member.path[-1] for member in command.members), *_argument_values(command)]:
            yield f"            '{' '.join(command.path)}' {{ $offered = {_listed(offered)} }}"
    yield "        }"
    yield "    }"
    yield '    $offered | Where-Object { $_.StartsWith($word, [StringComparison]::Ordinal) } | ForEach-Object { "$start$_" }'
    yield "}"


SCRIPTS: dict[str, Callable[[Command], Iterator[str]]] = {"bash": bash, "zsh": zsh, "fish": fish, "pwsh": pwsh}


def _groups(kb: Command) -> list[str]:
    return [member.path[0] for member in kb.members if member.members]


def _valued(kb: Command) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each command, the names of one of its options, and the values of that."""
    for command in kb.walk():
        for option in command.options:
            if values := values_of(option.names[0], option.choices):
                yield " ".join(command.path), option.names, values


def _option_names(command: Command) -> list[str]:
    return [name for option in command.options for name in option.names]


def _argument_values(command: Command) -> list[str]:
    return [value for argument in command.arguments for value in argument.choices]


def _listed(names: Sequence[str]) -> str:
    """As PowerShell writes a list of words; none of ours has a quote in it."""
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"@({quoted})"


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _in_fish_quotes(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_name(name: str) -> str:
    return f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
