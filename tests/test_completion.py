"""Completion as the shells themselves do it, and the man page as `man` reads it."""

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import man_page
import pytest
import write_docs
from running import environment, here

from kb.cli.grammar import grammar

ROOT = Path(__file__).parents[1]
NOWHERE = {"PATH": "/nowhere", "HOME": "/nowhere", "LANG": "C.UTF-8"}
"""There is no `kb` to be asked, and no store."""


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"there is no {program} here")


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The file with the completion script of a shell."""

    def of(shell):
        folder = tmp_path_factory.mktemp(shell)
        ran = here(folder, "completion", shell)
        assert (ran.code, ran.stderr) == (0, "")
        (folder / "script").write_text(ran.stdout)
        return folder / "script"

    return of


def by_bash(script, line):
    """What bash offers for the last word of the line."""
    words = " ".join(f"'{word}'" for word in re.split(r"(=)| ", line) if word is not None)
    ask = f'source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _kb; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run([shutil.which("bash"), "-c", ask], env=NOWHERE, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def by_fish(script, line):
    ask = f"source {script}; complete -C '{line}'"
    done = subprocess.run(
        [shutil.which("fish"), "--no-config", "-c", ask], capture_output=True, text=True, check=True,
        env={**NOWHERE, "HOME": str(script.parent), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stderr == ""
    return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]


OFFERS = [
    ("kb sea", ["search"]),
    ("kb ta", ["tag", "tag-describe"]),
    ("kb tag ", ["add", "describe", "list", "remove"]),
    ("kb tag add --js", ["--json"]),
    ("kb search --mode ", ["hybrid", "keyword", "semantic"]),
    ("kb search apples --mode k", ["keyword"]),
    ("kb list --type ma", ["markdown"]),
    ("kb search --no", ["--no-fresh", "--no-rerank"]),
    ("kb completion z", ["zsh"]),
    ("kb --vers", ["--version"]),
    ("kb skill install --g", ["--global"]),
]


@needs("bash")
@pytest.mark.parametrize(("line", "offered"), OFFERS)
def test_bash_offers_commands_options_and_values(line, offered, script):
    assert sorted(by_bash(script("bash"), line)) == offered


@needs("bash")
def test_bash_offers_values_after_an_equals_sign_which_it_makes_a_word(script):
    assert by_bash(script("bash"), "kb search --mode=") == ["hybrid", "keyword", "semantic"]
    assert by_bash(script("bash"), "kb search --mode=k") == ["keyword"]


@needs("bash")
def test_bash_offers_every_option_of_every_command(script):
    file = script("bash")
    commands = [command for command in grammar().walk() if not command.members]

    for command in commands:
        offered = by_bash(file, f"kb {' '.join(command.path)} -")
        assert sorted(offered) == sorted(name for option in command.options for name in option.names)


@needs("fish")
@pytest.mark.parametrize(("line", "offered"), OFFERS)
def test_fish_offers_commands_options_and_values(line, offered, script):
    assert sorted(by_fish(script("fish"), line)) == offered


@needs("zsh")
def test_zsh_completes_commands_options_and_values(script):
    """In a terminal, since it completes nowhere else: each line is typed with a tab and run, and what ran is read."""
    typed = ["kb sear\t", "kb tag des\t", "kb search --mod\tk\t", "kb list --format=mark\t", "kb skill install --glo\t"]
    start = f"PROMPT= ; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -D; source {script('zsh')}\n"
    start += 'kb() { print -r -- "RAN:$*" }\n'

    out = in_terminal([shutil.which("zsh"), "-f", "-i"], start, typed)

    assert re.findall(r"RAN:(.*?)\s*\r?\n", out) == [
        *("search", "tag describe", "search --mode keyword", "list --format=markdown", "skill install --global")
    ]


def by_powershell(script, line):
    ask = f"Get-Content -Raw {script} | Invoke-Expression; (TabExpansion2 '{line}' {len(line)}).CompletionMatches.CompletionText"
    command = [shutil.which("pwsh"), "-NoProfile", "-NonInteractive", "-Command", ask]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@needs("pwsh")
@pytest.mark.parametrize(("line", "offered"), [*OFFERS, ("kb search --mode=k", ["--mode=keyword"])])
def test_powershell_offers_commands_options_and_values(line, offered, script):
    assert sorted(by_powershell(script("pwsh"), line)) == offered


def test_the_script_for_powershell_holds_every_command_option_and_value(script):
    """What it does was not seen here, where there is no PowerShell: that it is whole, was."""
    text = script("pwsh").read_text()
    options, _, members = text.partition("elseif")

    assert "Register-ArgumentCompleter -Native -CommandName kb " in text
    assert all(text.count(opening) == text.count(closing) for opening, closing in ("{}", "()"))
    assert all(line.count(quote) % 2 == 0 for line in text.splitlines()[1:] for quote in "'\"")
    for command in grammar().walk():
        place = " ".join(command.path)
        offered = ", ".join(f"'{name}'" for option in command.options for name in option.names)
        assert f"'{place}' {{ $offered = @({offered}) }}" in options
        assert all(f"'{member.path[-1]}'" in members for member in command.members)
    assert "'search --mode' { $offered = @('hybrid', 'keyword', 'semantic') }" in text


def in_terminal(command, start, typed):
    """What a shell writes when the lines are typed, each after the one before was answered."""
    child, terminal = pty.fork()
    if not child:
        os.execvpe(command[0], command, {**os.environ, "TERM": "dumb"})
    out = b""

    def until(said, times):
        nonlocal out
        while len(re.findall(said, out)) < times:
            out += os.read(terminal, 4096)

    os.write(terminal, f"{start}kb ready\n".encode())
    until(rb"RAN:ready", 1)
    for count, line in enumerate(typed, start=2):
        os.write(terminal, f"{line}\n".encode())
        until(rb"RAN:\w[^\n]*\n", count)
    os.write(terminal, b"exit\n")
    os.waitpid(child, 0)
    os.close(terminal)
    return out.decode().partition("RAN:ready")[2]


def test_completion_needs_no_store_and_takes_none(tmp_path):
    ran = here(tmp_path, "completion", "bash", "--store", "x")

    assert (ran.code, "--store" in ran.stderr) == (2, True)
    assert not (tmp_path / "store").exists()


def test_a_shell_that_is_not_known_is_refused(tmp_path):
    assert here(tmp_path, "completion", "tcsh").code == 2


# The man page


@needs("man")
def test_man_reads_the_page_without_a_warning():
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", ROOT / "docs/kb.1"],
        env={**os.environ, "MANWIDTH": "80", "MANPAGER": "cat"}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stderr == ""
    text = re.sub(r".\x08", "", done.stdout)
    assert "kb search [OPTIONS] QUERY" in text
    assert "--per-document N" in text
    assert "'" in text


@needs("mandoc")
def test_mandoc_finds_nothing_wrong_with_it():
    """But for the date, which would be another one at every build."""
    command = ["mandoc", "-T", "lint", "-W", "warning", ROOT / "docs/kb.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


def test_every_command_and_option_is_in_the_man_page():
    page = (ROOT / "docs/kb.1").read_text()

    for command in grammar().walk():
        if command.path and not command.members:
            part = page.partition(f".SS kb {' '.join(command.path)}\n".replace("-", "\\-"))[2].partition(".SS ")[0]
            names = [name for option in command.options for name in option.names if "--help" not in option.names]
            assert [name for name in names if f"\\fB{name}\\fR".replace("-", "\\-") not in part] == [], command.path
    assert all(f"\\fB{code}\\fR" in page for code in write_docs.exit_codes())


@needs("man")
def test_signs_that_roff_obeys_are_printed(tmp_path):
    awkward = "'quote' .dot \\back `tick` ~ ^ -dash café …"
    command = grammar()
    page = man_page.man_page(type(command)(command.path, "", f".start\n\n'x\n\n{awkward}", (), (), ()), {})
    (tmp_path / "x.1").write_text(page)

    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", tmp_path / "x.1"],
        env={**os.environ, "MANWIDTH": "120", "MANPAGER": "cat"}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stderr == ""
    assert [line in re.sub(r".\x08", "", done.stdout) for line in (".start", "'x", awkward)] == [True] * 3


def test_what_is_printed_can_be_piped_away(data_dir):
    """Half of a script is no error."""
    with subprocess.Popen(
        [sys.executable, "-m", "kb", "completion", "bash"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(data_dir),
    ) as process:  # fmt: skip
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
