"""The quick reading of a command line gives what typer's own gives: the same values, or the same words of refusal."""

from __future__ import annotations

import pytest
import typer

from kb.cli.app import COMMANDS, CONTEXT, at, in_a_store, one_command
from kb.cli.door import USAGE

LINES = [
    "search words", "search -j words", "search words -j", "search -jn 5 words", "search -n5 -t a -tb words", "search -n 5 two words",
    "search --top 5 --tag a --tag b w", "search --top=5 w", "search -- -j", "search -j -- -n 5", "search --no-rerank w", "search --rerank w",
    "search --mode keyword w", "search --mode odd w", "search --top 0 w", "search -n five w", "search", "search -j", "search --tp 5 w",
    "search -x w", "search -n", "search --also a --also keyword:b w", "search --store a --store b w", "search --help", "search -h", "search --json=1 w",
    "get 1", "get 1 2", "get 1 --page 2 -j", "get", "list", "list -j --all", "list extra", "show a -j", "show",
]  # fmt: skip


def plain(verb):
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(verb, context_settings=CONTEXT)(in_a_store(at(COMMANDS[verb])))
    return typer.main.get_command(app)


def read(command, words, capsys):
    try:
        return command.make_context("kb", list(words)).params
    except USAGE as refusal:
        said = refusal.format_message() if hasattr(refusal, "format_message") else capsys.readouterr().out
        return type(refusal), said


@pytest.mark.parametrize("line", LINES)
def test_it_reads_as_the_library_does(line, capsys):
    verb, *words = line.split()
    quick = typer.main.get_command(one_command(verb))
    for _ in range(2):  # what was not said comes from the first reading
        assert read(quick, words, capsys) == read(plain(verb), words, capsys)
