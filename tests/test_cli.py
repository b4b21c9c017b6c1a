"""The command line: output, errors and exit codes; as a process, what pipes, terminals and signals make of it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import running
import small_store

from kb import __version__
from kb.cli import output
from kb.cli.safe import one_line, printable
from kb.errors import Exit

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\x9b5n \u202etxt\u2066 \x07\x08\r"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COLOR = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;(?:file:///[\w/%.~-]+)?\x1b\\")
"""What kb itself writes: styles, and links to files."""


@pytest.fixture(scope="module")
def library(tmp_path_factory, roomy_folder):
    """A folder with a store of 300 notes and one document full of escape sequences, which no test changes."""
    folder = tmp_path_factory.mktemp("library")
    texts = {f"{number}.txt": f"note number {number} on red lamps" for number in range(300)}
    title = json.dumps(f"evil {ESCAPES}")
    harmless = "much text around it, so that nobody takes it for a program\n" * 20
    texts["evil.md"] = (
        f"---\ntitle: {title}\ntags: [{title}]\n---\n# Evil {ESCAPES} heading\n\nevil {ESCAPES} words\n\n{harmless}"
    )
    texts[f"name {ESCAPES.replace('/', '')}.txt"] = "an evil name\n"
    running.write(folder / "docs", texts)
    assert running.process(folder, "add", "docs", "-r", KB_MODEL=roomy_folder).code == 0
    return folder


@pytest.fixture
def kb(library, roomy_folder):
    """A reading command, its streams no terminals."""
    return partial(running.here, library, KB_MODEL=roomy_folder)


@pytest.fixture
def on_terminal(library, roomy_folder):
    """A command whose streams are a terminal; what the terminal would have to show."""

    def run(*arguments: object, folder: Path = library, **variables: object) -> str:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "kb", *map(str, arguments)],
            env=running.environment(folder / "store", **{"KB_MODEL": roomy_folder, "TERM": "xterm", **variables}),
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        while block := read_terminal(ours):
            shown += block
        os.close(ours)
        process.wait(timeout=60)
        return shown.decode().replace("\r\n", "\n")

    return run


def read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that the other side has closed
        return b""


# Errors and exit codes


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (["search", "-j", "--nonsense", "x"], 2, "NoSuchOption"),
        (["list", "--json", "--limit", "3"], 2, "NoSuchOption"),
        (["get", "-j"], 2, "MissingParameter"),
        (["frobnicate", "-j"], 2, "UsageError"),
        (["search", "-j", "--top", "many", "x"], 2, "BadParameter"),
        (["search", "--format", "json", "--since", "never", "x"], 2, "BadRequest"),
        (["add", "-rj", "gone"], 3, "NotFound"),
        (["add", "-j", "x" * 300], 1, "OSError"),
        (["get", "-j", "999"], 3, "NotFound"),
        (["add", "-j", "--type", "nonsense", "docs/1.txt"], 4, "UnsupportedType"),
    ],
)
def test_an_error_is_one_json_object_on_stdout_and_an_exit_code(kb, arguments, code, name):
    ran = kb(*arguments)

    assert (ran.code, ran.json["error"]["code"]) == (code, name)
    assert ran.json["error"].keys() == {"code", "message", "hint", "exit_code"}
    assert ran.json["error"]["exit_code"] == code
    assert ran.stderr == ""


@pytest.mark.parametrize("run", [running.here, running.process], ids=["here", "process"])
def test_an_error_for_a_person_is_one_line_on_stderr(library, run):
    ran = run(library, "get", "999")

    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr == "kb: no document 999 (kb list shows ids and paths)\n"


def test_an_option_after_the_query_says_how_to_search_for_it(kb):
    assert "after -- all is query: kb search -- apple -banana" in kb("search", "red", "-lamps").stderr


def test_every_exit_code_is_in_the_help(kb):
    shown = " ".join(kb("--help").stdout.split())

    assert all(f"{code.value} {code.name.lower().replace('_', ' ')}" in shown for code in Exit)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["search", "--help"], ["tag", "-h"], ["--version"]])
def test_help_and_version_are_on_stdout_and_a_success(kb, arguments):
    ran = kb(*arguments)

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout


def test_without_arguments_the_help_is_shown(kb):
    assert (kb().code, kb().stdout) == (2, kb("--help").stdout)


def test_an_invalid_configuration_names_line_and_key(tmp_path, roomy_folder):
    running.write(tmp_path / "store", {"config.yaml": "search:\n  default_top: many\n"})

    ran = running.here(tmp_path, "list")

    assert ran.code == 2
    assert ran.stderr == (
        f"kb: {tmp_path}/store/config.yaml, line 2: search.default_top: Expected `int`, got `str`"
        " (correct it, or take it out)\n"
    )


def test_a_data_folder_that_cannot_be_made_is_one_line(tmp_path, roomy_folder):
    (tmp_path / "file").write_text("")

    ran = running.here(tmp_path, "add", "--note", "x", KB_DATA_DIR=tmp_path / "file" / "store", KB_MODEL=roomy_folder)

    assert ran.code == 1
    assert ran.stderr.count("\n") == 1
    assert "Not a directory" in ran.stderr


# Output


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "lamps"], ["search", "--mode", "keyword", "unheardof"], ["list"], ["show", "1"], ["get", "1"],
        ["tag", "list"], ["status"], ["config"], ["doctor"], ["search", "a", "--also", "b"],
    ],
)  # fmt: skip
def test_every_reading_command_answers_one_json_object(kb, arguments):
    ran = kb(*arguments, "-j")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.count("\n") == 1
    assert {"took_ms", "warnings"} <= ran.json.keys()
    assert ran.json["took_ms"] > 0


def test_every_changing_command_answers_one_json_object(tmp_path, roomy_folder):
    running.write(tmp_path, {"a.md": "red"})
    kb = partial(running.here, tmp_path, KB_MODEL=roomy_folder)

    for arguments in (
        ["init"], ["add", "a.md"], ["add", "--note", "x"], ["add", "-"], ["tag", "add", "1", "x"], ["tag", "describe", "x", "y"],
        ["tag-describe", "x", "z"], ["tag", "remove", "1", "x"], ["remove", "1"], ["reindex"], ["compact"],
    ):  # fmt: skip
        ran = kb(*arguments, "-j", stdin=b"text")
        assert (ran.code, ran.stderr, ran.stdout.count("\n")) == (0, "", 1)
        assert {"took_ms", "warnings"} <= ran.json.keys()


@pytest.mark.parametrize(
    "arguments", [["list", "--all"], ["list", "--all", "-j"], ["search", "--format", "human", "-n", "300", "lamps"]]
)
def test_a_closed_pipe_is_a_success_without_a_trace(library, roomy_folder, arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "kb", *arguments],
        env=running.environment(library / "store", KB_MODEL=roomy_folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()

    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0


def test_output_in_an_encoding_that_lacks_a_character_is_no_error():
    done = subprocess.run(
        [sys.executable, "-m", "kb", "add", "--note", "日本語 …", "--dry-run"],
        env=running.environment(Path("/nowhere"), PYTHONIOENCODING="ascii"),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"Would add: ??? ?\n")


def test_human_search_has_rank_score_title_place_type_tags_and_a_snippet(tmp_path, roomy_folder):
    running.write(
        tmp_path, {"a.md": f"# Top\n\n## Lamps\n\n{'many words ' * 60} the red lamp is on {'more words ' * 30}"}
    )
    kb = partial(running.here, tmp_path, KB_MODEL=roomy_folder)
    kb("add", "a.md", "--tag", "x")

    first, second, *snippet = kb("search", "--format", "human", "--mode", "keyword", "red lamp").stdout.splitlines()

    assert re.fullmatch(r"1\. Top  0\.\d\d  markdown  lines 1-5  Top > Lamps  #x", first)
    assert re.fullmatch(rf"   {tmp_path}/a\.md  chunk \d+", second)
    assert "the red lamp is on" in " ".join(line.strip() for line in snippet)
    assert all(line.startswith("   ") or not line for line in snippet)


# Terminals


def test_on_a_terminal_search_is_for_people_with_the_matches_marked(on_terminal):
    shown = on_terminal("search", "--mode", "keyword", "-n", "1", "lamps")

    assert "\x1b[1;33mlamps\x1b[0m" in shown
    assert COLOR.sub("", shown).startswith("1. ")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_color_means_no_escape_at_all(on_terminal, variables):
    assert "\x1b" not in on_terminal("search", "--mode", "keyword", "-n", "1", "lamps", **variables)


def test_json_on_a_terminal_is_json(on_terminal):
    assert json.loads(on_terminal("search", "-j", "--mode", "keyword", "lamps"))["returned"] == 10


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "--mode", "keyword", "evil"], ["list", "--all"], ["show", "{id}"], ["get", "{id}"], ["tag", "list"],
        ["search", "--mode", "keyword", f"unheardof{ESCAPES}"], ["get", f"gone{ESCAPES}"], [f"--no{ESCAPES}"],
        ["remove", f"gone{ESCAPES}"],
    ],
)  # fmt: skip
def test_no_escape_of_a_document_or_an_argument_reaches_the_terminal(kb, on_terminal, arguments):
    evil = kb("list", "-j", "--type", "markdown").json["documents"][0]["document_id"]

    shown = on_terminal(*[argument.format(id=evil) for argument in arguments])

    assert shown
    assert CONTROL.findall(COLOR.sub("", shown)) == []
    assert "\x1b[31m" not in shown


def test_adding_evil_files_on_a_terminal_is_safe(on_terminal, library, tmp_path):
    """The progress bar's own sequences are meant; theirs are not."""
    shown = on_terminal("add", library / "docs" / "evil.md", library / "docs" / f"name {ESCAPES}.txt", folder=tmp_path)
    shown += on_terminal("add", f"gone{ESCAPES}", folder=tmp_path)

    assert "Added: evil.md" in shown
    assert "owned" not in shown
    assert not set(shown) & {"\x07", "\x08", "\x9b", "\u202e", "\u2066"}


def test_get_in_a_pipe_is_the_text_as_it_is(kb):
    evil = kb("list", "-j", "--type", "markdown").json["documents"][0]["document_id"]

    assert "evil \x1b]0;owned\x07\x1b[2J\x1b[31mred" in kb("get", evil).stdout


def test_text_made_printable_keeps_all_but_what_a_terminal_obeys():
    assert printable(f"a\tb\n{ESCAPES}c") == "a\tb\nred5n txt c"
    assert one_line("a\n b\x1b[2J\tc") == "a b c"
    assert printable("日本語 é 🦀 \ud800") == "日本語 é 🦀 ?"


def test_progress_is_for_terminals_only(on_terminal, kb, tmp_path, roomy_folder):
    running.write(tmp_path / "docs", {f"{number}.md": f"# {number}" for number in range(3)})

    assert "documents" in on_terminal("add", "docs", "-r", folder=tmp_path).replace("Added 3 documents", "")
    assert running.process(tmp_path, "add", "docs", "-r", KB_MODEL=roomy_folder).stderr == ""


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_all_processes_is_told_one_line_and_no_file_is_taken_for_a_bad_one(tmp_path, roomy_folder, which):
    """A terminal sends SIGINT to the workers as well, `timeout` SIGTERM."""
    running.write(
        tmp_path / "docs", {f"{number}.md": f"# {number}\n\n" + "red words. " * 3000 for number in range(400)}
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "kb", "add", "docs", "-r", "-j"],
        env=running.environment(tmp_path / "store", KB_MODEL=roomy_folder),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not (tmp_path / "store/kb.db").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(1)
    os.killpg(process.pid, which)
    stdout, stderr = process.communicate(timeout=60)

    assert process.returncode == Exit.INTERRUPTED
    assert json.loads(stdout)["error"]["code"] == "Interrupted"
    assert stderr == b""
    assert running.process(tmp_path, "list", "--failed", "-j").json["total"] == 0


def test_ctrl_c_once_the_answer_is_printed_adds_no_second_one(kb):
    """An agent reads one JSON value, whatever happens."""

    def interrupted(frame, event, function):
        if event == "c_return" and frame.f_code is output.emit.__code__ and function.__name__ == "write":
            raise KeyboardInterrupt

    sys.setprofile(interrupted)
    ran = kb("list", "-j")

    assert ran.code == Exit.INTERRUPTED
    assert ran.json["documents"]
    assert ran.stderr == "kb: interrupted (what was committed is kept; the same command goes on)\n"


WHEN_RUN_HAS_RETURNED = """
def step(frame, event, _):
    if event == "call" and frame.f_code.co_name == "_be_deaf": raise KeyboardInterrupt
sys.setprofile(step)
"""


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [WHEN_RUN_HAS_RETURNED, "atexit.register(interrupt)", "sys.last = Last()"])
def test_a_signal_when_all_is_said_changes_nothing(tmp_path, moment, which):
    """Before Python ends, while it does, and at its very last, when its own handler is gone already."""
    program = f"""
import atexit, os, signal, sys
def interrupt(kill=os.kill, own=os.getpid(), number={which:d}): kill(own, number)
class Last:
    def __del__(self, interrupt=interrupt): interrupt()
{moment}
sys.argv = ["kb", "--version"]
from kb.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n".encode(), b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is /dev/full, which this system does not have")
@pytest.mark.parametrize("arguments", [("list",), ("list", "-j"), ("get", "99", "-j")])
def test_standard_output_that_takes_no_more_is_one_line_and_exit_code_1(make_store, data_dir, arguments):
    make_store(small_store.document("a", "text"))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kb", *arguments],
            env=running.environment(data_dir),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    line = b"kb: [Errno 28] No space left on device (check the path, its permissions and the free space)\n"
    assert (done.returncode, done.stderr) == (1, line)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(make_store, data_dir, closed):
    make_store(small_store.document("a", "text"))
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m kb list {closed}'],
        env=running.environment(data_dir),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
