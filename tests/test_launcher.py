"""The program `kb`: compiled, either way, and the script in its place, run as real processes against a small daemon.

Every test that takes `program` runs for all. What their Python answers is asked of `python -m kb` too and must be the same.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import pytest
from running import environment
from small_daemon import DECLINED, end, err, listening, out, says, small_daemon

from hatch_build import WITHOUT_LIBC
from kb import __version__

SOURCES = Path(__file__).parents[1] / "kb"
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
HELP = ("list", "--help")
"""A command that Python answers without a store."""
FULL = Path("/dev/full")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="through /proc, which only Linux has")


class Done(NamedTuple):
    code: int
    stdout: bytes
    stderr: bytes


class Program(NamedTuple):
    """A `kb` in a folder of its own, with a python3 beside it that notes how it was called."""

    path: Path
    data_dir: Path
    module: str
    """What it has Python run."""

    def __call__(self, *arguments, **options) -> Done:
        return finish(self.start(*arguments, **options))

    def start(self, *arguments, **options) -> subprocess.Popen:
        return start([self.path, *arguments], self.data_dir, **options)

    def python_calls(self) -> list[list[bytes]]:
        notes = self.path.with_name("calls")
        calls = notes.read_bytes().split(b"\n") if notes.exists() else []
        return [call.split(b"\0")[:-1] for call in calls[:-1]]


def start(command, data_dir, *, variables=(), **options) -> subprocess.Popen:
    """Variables over those of this process; one that is None is unset."""
    wanted = {**environment(data_dir), "KB_DAEMON": "on", **dict(variables)}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=wanted, **{**streams, "cwd": data_dir.parent, **options})


def finish(process) -> Done:
    stdout, stderr = process.communicate(timeout=60)
    return Done(process.returncode, stdout, stderr)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Through libc, as everywhere but on Linux."""
    return compile_with(tmp_path_factory.mktemp("compiled") / "kb")


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """Without libc, as on Linux."""
    if sys.platform != "linux":
        pytest.skip("begins before libc on Linux only")
    return compile_with(tmp_path_factory.mktemp("bare") / "kb", *WITHOUT_LIBC.split())


def compile_with(program, *options):
    if COMPILER is None:
        pytest.skip("no C compiler here")
    always = ["-std=gnu99", "-Wall", "-Wextra", "-O2", f'-DKB_VERSION="{__version__}"']
    command = [COMPILER, *always, *options, "-o", program, SOURCES / "launcher.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")  # no warnings
    return program


@pytest.fixture(params=["bare", "compiled", "script"])
def program(request, tmp_path, data_dir):
    kb = tmp_path / "bin" / "kb"
    kb.parent.mkdir()
    shutil.copy(SOURCES / "launcher.sh" if request.param == "script" else request.getfixturevalue(request.param), kb)
    executable(kb.with_name("python3"), f'{NOTE}exec "{sys.executable}" "$@"')
    return Program(kb, data_dir, module="kb.launch" if request.param == "script" else "kb")


NOTE = """printf '%s\\0' "$@" >> "${0%/*}/calls"; echo >> "${0%/*}/calls"\n"""


def executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def by_python(data_dir, *arguments, **options) -> Done:
    """The answer without any launcher or daemon."""
    return finish(start([sys.executable, "-m", "kb", *arguments], data_dir, **options))


@pytest.fixture(scope="session")
def help_text(tmp_path_factory):
    done = by_python(tmp_path_factory.mktemp("help") / "data", *HELP)
    assert done.stdout.startswith(b"Usage: kb list")
    return done


# What is asked


def test_a_request_tells_version_folder_and_arguments(program, tmp_path):
    with small_daemon(program.data_dir, says(end())) as requests:
        assert program("search", "-j", "two words", "") == (0, b"", b"")
    (request,) = requests
    assert (request.version, request.what) == (__version__, "run")
    assert request.folder == str(tmp_path)
    assert request.arguments == [b"search", b"-j", b"two words", b""]


def test_arguments_are_bytes_of_any_kind_and_size(program):
    """100 kB is more than a socket takes at once."""
    arguments = [b"search", b"\xff\xfe caf\xe9", "é".encode(), b"a" * 100_000, b"b c\n" * 25_000, b"d" * 100_000]

    def echo(connection, request):
        connection.sendall(out(b"\0".join(request.arguments)) + end())

    with small_daemon(program.data_dir, echo) as requests:
        assert program(*arguments).stdout == b"\0".join(arguments)
    assert requests[0].arguments == arguments


def test_only_these_variables_are_told(program, tmp_path):
    told = {
        b"KB_MODEL": b"some model",
        b"KB_ODD": b"\xff=\xfe",
        b"KB_DATA_DIR": os.fsencode(program.data_dir),
        b"KB_DAEMON": b"on",
        b"HOME": os.fsencode(tmp_path),
        **dict.fromkeys((b"LANG", b"LC_ALL", b"LC_CTYPE"), b"C.UTF-8"),
        **dict.fromkeys((b"TERM", b"COLUMNS", b"LINES", b"NO_COLOR", b"FORCE_COLOR"), b"1"),
        b"TZ": b"",
    }
    others = {b"PATH": os.environb[b"PATH"], b"SECRET": b"1", b"kb_small": b"1", b"HOMES": b"1", b"XKB_A": b"1"}
    with small_daemon(program.data_dir, says(end())) as requests:
        subprocess.run([program.path, "list"], env=told | others, check=True)
    assert requests[0].variables == told


@pytest.mark.parametrize("shown", [(), ("stdin",), ("stdout",), ("stderr",), ("stdin", "stdout", "stderr")], ids=str)
def test_a_request_tells_which_streams_are_terminals_and_how_wide_the_output_is(program, shown):
    main, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 132, 0, 0))
    with small_daemon(program.data_dir, says(end())) as requests:
        program("list", **dict.fromkeys(shown, terminal))
    os.close(main)
    os.close(terminal)
    assert requests[0].terminals == "".join("01"[name in shown] for name in ("stdin", "stdout", "stderr"))
    assert requests[0].columns == ("132" if "stdout" in shown else "0")


@pytest.mark.parametrize(
    ("value", "place"),
    [(None, "home/.kb"), ("", "home/.kb"), ("~", "home"), ("~/a b", "home/a b"), ("data", "data"), ("./~", "~")],
)
def test_the_data_directory_is_found_as_python_finds_it(program, tmp_path, value, place):
    variables = {"HOME": str(tmp_path / "home"), "KB_DATA_DIR": value}
    with small_daemon(tmp_path / place, says(end(9))):
        assert program("list", variables=variables).code == 9


@pytest.mark.parametrize(("folder", "place"), [("a", "a/.kb"), ("a/b/c", "a/.kb"), ("d", "home/.kb")])
def test_a_store_above_the_working_directory_is_found(program, tmp_path, folder, place):
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a/.kb").mkdir(parents=True, exist_ok=True)
    variables = {"HOME": str(tmp_path / "home"), "KB_DATA_DIR": None}
    with small_daemon(tmp_path / place, says(end(9))):
        assert program("list", variables=variables, cwd=tmp_path / folder).code == 9


def test_an_empty_home_is_the_root_folder(program, tmp_path):
    """As for Python."""
    with small_daemon(tmp_path / "data", says(end(9))):
        assert program("list", variables={"HOME": "", "KB_DATA_DIR": f"~{tmp_path}/data"}).code == 9


@pytest.mark.parametrize("variables", [{"HOME": None, "KB_DATA_DIR": None}, {"KB_DATA_DIR": "~root/nothing"}], ids=str)
def test_a_data_directory_that_takes_more_than_home_to_find_is_left_to_python(program, tmp_path, help_text, variables):
    """`~root` is neither a folder of that name nor the rest of a home's."""
    home = {"HOME": str(tmp_path / "home")}
    with (
        small_daemon(tmp_path / "~root/nothing", says(end(9))),
        small_daemon(tmp_path / "homeroot/nothing", says(end(9))),
    ):
        assert program(*HELP, variables={**home, **variables}) == help_text


@LINUX
def test_a_path_that_is_too_long_for_a_socket_does(program):
    far = program._replace(data_dir=program.data_dir / ("d" * 200))
    with small_daemon(far.data_dir, says(out(b"here"), end())):
        assert far("list", cwd="/") == (0, b"here", b"")


# What is answered


@pytest.mark.parametrize("code", [0, 3, 130, 255])
def test_the_exit_code_is_the_daemons(program, code):
    with small_daemon(program.data_dir, says(end(code))):
        assert program("get", "1") == (code, b"", b"")
    assert len(program.python_calls()) == (1 if program.module == "kb.launch" else 0)


def test_frames_are_printed_in_order_each_to_its_stream(program):
    frames = out(b"a"), err(b"b"), out(b""), out(b"\0\xff"), err(b"c\n"), end()
    with small_daemon(program.data_dir, says(*frames)):
        assert program("show", "1") == (0, b"a\0\xff", b"bc\n")
        assert program("show", "1", stderr=subprocess.STDOUT).stdout == b"ab\0\xffc\n"


def test_an_answer_of_megabytes_arrives_whole(program):
    large = os.urandom(1 << 20) * 8
    with small_daemon(program.data_dir, says(out(large), out(large), end())):
        assert program("list").stdout == large * 2


def test_an_answer_may_come_in_small_pieces(program):
    def respond(connection, _):
        for byte in out(b"slowly") + err(b"!") + end(3):
            connection.sendall(bytes([byte]))

    with small_daemon(program.data_dir, respond):
        assert program("list") == (3, b"slowly", b"!")


def test_an_output_that_does_not_block_is_waited_for(program):
    """As a terminal is that another program left so."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    large = os.urandom(1 << 20)
    with small_daemon(program.data_dir, says(out(large), end())):
        process = program.start("list", stdout=writing)
        os.close(writing)
        time.sleep(0.2)
        with os.fdopen(reading, "rb") as pipe:
            assert pipe.read() == large
        assert finish(process)[::2] == (0, b"")


def test_a_reader_that_has_seen_enough_is_no_error(program):
    reading, writing = os.pipe()
    os.close(reading)
    with small_daemon(program.data_dir, says(out(b"much"), err(b"more"), end(3))):
        done = program("list", stdout=writing)
    os.close(writing)
    assert done == (0, None, b"")


def test_a_closed_standard_error_loses_nothing_else(program):
    reading, writing = os.pipe()
    os.close(reading)
    with small_daemon(program.data_dir, says(err(b"warning"), out(b"answer"), end(3))):
        done = program("list", stderr=writing)
    os.close(writing)
    assert done == (3, b"answer", None)


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_disk_is_said_as_python_says_it(program, make_store):
    make_store()
    with FULL.open("wb") as full:
        expected = by_python(program.data_dir, "list", stdout=full)
        with small_daemon(program.data_dir, says(out(b"answer"), end())):
            assert program("list", stdout=full) == expected
    assert expected == (
        1,
        None,
        b"kb: [Errno 28] No space left on device (check the path, its permissions and the free space)\n",
    )


def test_ctrl_c_while_waiting_ends_it_as_it_ends_any_tool(program):
    asked, over = threading.Event(), threading.Event()

    def respond(_, __):
        asked.set()
        over.wait(60)

    with small_daemon(program.data_dir, respond):
        # In a background job of a shell it would be ignored from the start.
        process = program.start("list", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        done = finish(process)
        over.set()
    assert done == (-signal.SIGINT, b"", b"")


# When Python answers


@pytest.fixture(scope="session")
def said_by_python(tmp_path_factory):
    """What it answers where it says nothing of the store."""
    return cache(partial(by_python, tmp_path_factory.mktemp("nowhere") / "data"))


@pytest.mark.parametrize("arguments", [(), ("config", "-h"), ("SEARCH", "x"), ("-j", "list"), ("lis",), ("",)], ids=str)
def test_only_reading_verbs_in_first_place_are_forwarded(program, said_by_python, arguments):
    with small_daemon(program.data_dir, says(end(9))) as requests:
        assert program(*arguments) == said_by_python(*arguments)
    assert requests == []


@pytest.mark.parametrize("value", ["off", "OFF", "false", "0", "No"])
def test_the_daemon_is_not_asked_where_it_is_turned_off(program, help_text, value):
    with small_daemon(program.data_dir, says(end(9))) as requests:
        assert program(*HELP, variables={"KB_DAEMON": value}) == help_text
    assert requests == []


@pytest.mark.parametrize("value", [None, "", "on", "offline"])
def test_the_daemon_is_asked_unless_it_is_turned_off(program, value):
    with small_daemon(program.data_dir, says(end(9))):
        assert program(*HELP, variables={"KB_DAEMON": value}).code == 9


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(DECLINED, id="declined"),
        pytest.param(out(b"partial") + DECLINED, id="declined late"),
        pytest.param(b"", id="closed"),
        pytest.param(out(b"partial") + err(b"partial"), id="closed between frames"),
        pytest.param(out(b"partial")[:-2], id="closed in a frame"),
        pytest.param(end()[:-1], id="closed before the code"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n", id="garbage"),
        pytest.param(struct.pack("<BI", 3, 2) + b"ab", id="two codes"),
        pytest.param(struct.pack("<BI", 1, 2**32 - 1), id="4 GB promised"),
    ],
)
def test_without_a_whole_answer_python_answers_and_nothing_is_printed_twice(program, help_text, reply):
    with small_daemon(program.data_dir, says(reply)) as requests:
        assert program(*HELP) == help_text
    assert len(requests) == 1


def test_a_daemon_that_goes_away_unheard_costs_nothing(program, help_text):
    """It closes while a request larger than the socket's buffer is being sent."""
    with listening(program.data_dir) as door:

        def turn_away():
            door.accept()[0].close()

        server = threading.Thread(target=turn_away)
        server.start()
        assert program(*HELP, "x" * 100_000, *["y" * 100_000] * 3) == help_text
        server.join()


def test_no_socket_or_one_that_nobody_serves_costs_nothing(program, help_text):
    assert program(*HELP) == help_text
    run = program.data_dir / "run"
    with listening(program.data_dir):
        pass
    assert (run / "daemon.sock").is_socket()
    assert program(*HELP) == help_text
    (run / "daemon.sock").unlink()
    (run / "daemon.sock").write_text("a file")
    assert program(*HELP) == help_text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can listen as another user")
def test_another_users_socket_is_not_talked_to(program, help_text):
    with listening(program.data_dir) as door:
        os.seteuid(65534)
        door.listen()  # whose socket it is, is decided here
        os.seteuid(0)
        heard = []

        def hear():
            connection, _ = door.accept()
            with connection:
                heard.append(connection.recv(1))

        server = threading.Thread(target=hear)
        server.start()
        assert program(*HELP) == help_text
        server.join()
    assert heard == [b""]


def test_a_deleted_working_directory_is_left_to_python(program, tmp_path):
    gone = tmp_path / "gone"
    with small_daemon(program.data_dir, says(end(9))) as requests:
        for run in (program, lambda *words, **options: by_python(program.data_dir, *words, **options)):
            gone.mkdir()
            done = run("list", "-j", cwd=gone, preexec_fn=gone.rmdir)
            assert (done.code, b"StoreMissing" in done.stdout) == (3, True)
    assert requests == []


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_standard_stream_never_becomes_the_connection(program, stream):
    """The first socket would get its number, and the answer would be sent to the daemon."""
    command = ["sh", "-c", f'exec "$@" {stream}>&-', "sh", program.path, *HELP]
    with small_daemon(program.data_dir, says(out(b"answer"), end(9))) as requests:
        assert finish(start(command, program.data_dir)).code != 9
    assert requests == []


def test_a_hung_daemon_costs_five_seconds_and_a_slow_one_none(program, help_text, tmp_path):
    """One that never accepts, one that never answers, and one that says a byte a second: all at once."""
    over = threading.Event()

    def silent(_, __):
        over.wait()

    def slow(connection, _):
        for byte in out(b"a")[:6] + end(9):
            time.sleep(0.6)
            connection.sendall(bytes([byte]))

    deaf, hung, busy = (program._replace(data_dir=tmp_path / name) for name in ("deaf", "hung", "busy"))
    with ExitStack() as stack:
        stack.enter_context(listening(deaf.data_dir, backlog=0))
        waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
        waiting.connect(str(deaf.data_dir / "run/daemon.sock"))
        stack.enter_context(small_daemon(hung.data_dir, silent))
        stack.enter_context(small_daemon(busy.data_dir, slow))
        stack.callback(over.set)
        started = time.monotonic()
        processes = [each.start(*HELP) for each in (deaf, hung, busy)]
        answers = [finish(process) for process in processes]
    assert answers == [help_text, help_text, (9, b"a", b"")]
    assert time.monotonic() - started > 5


# Which Python


def test_python_gets_the_arguments_as_they_are(program, tmp_path):
    executable(program.path.with_name("python3"), f"{NOTE}exit 7")
    arguments = [b"add", b"", b"two words", b"\xff", b"$HOME", b"*", b"a\\n"]
    assert program(*arguments).code == 7
    (call,) = program.python_calls()
    assert call == [b"-I", b"-m", program.module.encode(), *arguments]


def test_the_python_beside_the_program_is_found_through_links(program, tmp_path):
    link, middle = tmp_path / "elsewhere/kb", tmp_path / "middle/other name"
    for each, target in ((middle, "../bin/kb"), (link, middle)):
        each.parent.mkdir()
        each.symlink_to(target)
    for command, cwd in (([link], "/"), ([Path("elsewhere/kb")], tmp_path), (["kb"], "/")):
        path = f"{link.parent}:{os.environ['PATH']}"
        done = finish(
            start(
                ["sh", "-c", '"$@"', "sh", *command, "--version"], program.data_dir, cwd=cwd, variables={"PATH": path}
            )
        )
        assert done == (0, f"{__version__}\n".encode(), b"")


def test_python_may_be_called_python(program):
    program.path.with_name("python3").rename(program.path.with_name("python"))
    assert program("--version").stdout == f"{__version__}\n".encode()


def test_without_a_python_beside_it_the_one_on_path_looks_into_the_users_site_too(program, tmp_path):
    """As after pip install --user: -I would leave that out."""
    (tmp_path / "path").mkdir()
    executable(tmp_path / "path/python3", f"{NOTE}exit 7")
    program.path.with_name("python3").unlink()
    path = f"{tmp_path / 'path'}:{os.environ['PATH']}"
    assert program("add", "a b", variables={"PATH": path}).code == 7
    there = program._replace(path=tmp_path / "path/kb")
    assert there.python_calls() == [[b"-EP", b"-m", program.module.encode(), b"add", b"a b"]]


def test_no_python_at_all_is_said_in_one_line(program, tmp_path):
    program.path.with_name("python3").unlink()
    done = program("list", variables={"PATH": str(tmp_path)})
    assert (done.code, done.stdout) == (127, b"")
    assert done.stderr.startswith(b"kb: no python3 beside this program or on PATH")
    assert done.stderr.count(b"\n") == 1


@LINUX
def test_python_does_not_inherit_that_closed_pipes_are_ignored(program):
    """What reads from kb in a pipeline and stops must be able to end it."""
    executable(program.path.with_name("python3"), "grep SigIgn /proc/$$/status")
    ignored = int(program("list").stdout.split()[1], 16)
    assert not ignored >> (signal.SIGPIPE - 1) & 1
