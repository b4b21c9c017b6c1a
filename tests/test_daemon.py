"""The daemon: left behind by a search, it answers the next ones as `kb` itself would, or not at all."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from running import Ran, environment, here, process, write

from hatch_build import compile_c
from kb import __version__, protocol, standby
from kb.standby import Place

TOOK = re.compile(rb'"(took_ms|created_at|idle_s)":[^,}]*|<took_ms>[^<]*')
"""What differs from one answer to the next, whoever gives it."""


SCRIPT = (sys.executable, "-m", "kb.launch")
"""The launcher where no compiler made one."""


class Daemon:
    """The store in `folder/store` and its daemon; `kb` here is the launcher, which asks it."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.folder = folder
        self.model = model
        self.data_dir = folder / "store"
        self.place = Place.of(self.data_dir)

    def kb(self, *arguments: object, program: Sequence[object] = SCRIPT, **variables: object) -> Ran:
        done = subprocess.run(
            [*program, *map(os.fsencode, map(str, arguments))],
            env=environment(self.data_dir, **{"KB_MODEL": self.model, "KB_DAEMON": "", **variables}),
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def direct(self, *arguments: object, **variables: object) -> Ran:
        """The answer of a process that asks no daemon, without the cost of one."""
        done = here(self.folder, *arguments, KB_MODEL=self.model, **variables)
        return Ran(done.code, done.stdout.encode(), done.stderr.encode())

    def add(self, *arguments: object) -> None:
        assert here(self.folder, "add", *arguments, KB_MODEL=self.model).code == 0

    def status(self) -> dict:
        return here(self.folder, "daemon", "status", "-j", KB_MODEL=self.model, KB_DAEMON="").json

    def start(self) -> None:
        assert here(self.folder, "daemon", "start", KB_MODEL=self.model, KB_DAEMON="").code == 0

    def asked(self) -> int:
        """How many requests it has answered before this one."""
        return self.status()["requests"] - 1

    def pid(self) -> int:
        return int(self.place.lock.read_text())


@pytest.fixture
def daemon(tmp_path, roomy_folder):
    made = Daemon(tmp_path, roomy_folder)
    write(tmp_path, {"red.md": "# Red\n\nThe red house.", "green.md": "# Green\n\nThe green tree."})
    made.add("red.md", "green.md")
    yield made
    standby.stop(made.data_dir)


@pytest.fixture
def running(daemon):
    daemon.start()
    return daemon


def plain(done: Ran) -> Ran:
    return Ran(done.code, TOOK.sub(b"", done.stdout), done.stderr)


def until(true) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Its life


def test_the_first_search_leaves_one_behind_that_answers_the_next(daemon):
    assert not daemon.status()["running"]
    assert daemon.kb("search", "-j", "house").code == 0
    until(lambda: daemon.status()["running"])
    before = daemon.asked()
    assert b"The red house" in daemon.kb("search", "-j", "house").stdout
    assert daemon.asked() == before + 2  # that search, and the status before it


@pytest.mark.parametrize("off", [{"KB_DAEMON": "off"}, {"KB_DAEMON": "False"}])
def test_none_is_left_where_the_environment_says_so(daemon, off):
    assert daemon.kb("search", "-j", "house", **off).code == 0
    assert not daemon.place.lock.exists()


def test_none_is_left_where_the_configuration_says_so_and_a_running_one_ends(running):
    (running.data_dir / "config.yaml").write_text("search:\n  daemon: off\n")
    until(lambda: not running.place.is_held())
    assert running.kb("search", "-j", "house").code == 0
    assert not running.place.is_held()
    refused = running.kb("daemon", "start")
    assert (refused.code, refused.stderr) == (
        2,
        b"kb: the daemon is turned off (set search.daemon (KB_DAEMON) to true)\n",
    )


def test_only_one_serves_a_data_directory(running):
    pid = running.pid()
    second = subprocess.run(
        [sys.executable, "-m", "kb.daemon"], env=environment(running.data_dir), timeout=30, check=False
    )
    assert second.returncode == 0
    assert running.pid() == pid == running.status()["pid"]


def test_it_can_be_stopped_and_says_when_there_is_none(running):
    assert running.kb("daemon", "stop").code == 0
    assert not running.place.socket.exists()
    again = running.kb("daemon", "stop", "-j")
    assert json.loads(again.stdout)["warnings"] == ["no daemon was running"]


def test_one_that_waits_to_take_its_place_is_stopped_with_it(running):
    """Two searches at once start two; this one waits for longer than they do, and is not yet listening."""
    wait = "import sys; from pathlib import Path; from index.lock import writer_lock\n"
    wait += "with writer_lock(Path(sys.argv[1]), 30): print('holds', flush=True); sys.stdin.read()"
    asks = [sys.executable, "-c", wait, running.place.lock]
    with subprocess.Popen(asks, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiting:
        until(lambda: has_open(waiting.pid, running.place.lock))
        assert standby.stop(running.data_dir)
        assert not running.place.is_held()
        assert waiting.wait(20) == -signal.SIGKILL


def has_open(pid: int, file: Path) -> bool:
    return any(link.exists() and link.samefile(file) for link in Path(f"/proc/{pid}/fd").iterdir())


def test_it_says_how_much_memory_it_takes(running):
    status = running.status()
    assert status["resident_bytes"] > status["shared_bytes"] > 0


def test_it_ends_when_nobody_asks(daemon):
    assert daemon.kb("daemon", "start", KB_DAEMON_IDLE_S=1).code == 0
    until(lambda: not daemon.place.is_held())
    assert not daemon.place.socket.exists()


def test_it_ends_when_its_store_is_gone(running):
    (running.data_dir / "kb.db").rename(running.folder / "elsewhere.db")
    until(lambda: not running.place.is_held())


def test_a_kb_of_another_version_gets_no_answer_and_ends_it(running):
    request = protocol.encode_request("0.0.1", "run", ["search", "-j", "house"])
    assert protocol.ask(str(running.place.folder), request) is None
    until(lambda: not running.place.is_held())


def test_its_folder_and_files_are_the_users_own(running):
    assert running.place.folder.stat().st_mode & 0o777 == 0o700
    for path in (running.place.socket, running.place.lock, running.place.log):
        assert path.stat().st_mode & 0o077 == 0, path


def test_it_holds_nothing_of_whoever_searched_first(daemon):
    """A pipe that stays open would hang its reader."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    subprocess.run(
        [sys.executable, "-m", "kb", "search", "-j", "house"],
        env=environment(daemon.data_dir, KB_MODEL=daemon.model, KB_DAEMON=""),
        pass_fds=[writer], stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    os.close(writer)
    until(lambda: daemon.status()["running"])
    assert os.read(reader, 1) == b""
    os.close(reader)


# When it fails


def test_killed_the_next_search_answers_and_leaves_a_new_one(running):
    pid = running.pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not running.place.is_held())
    assert running.place.socket.exists()  # stale
    assert b"The red house" in running.kb("search", "-j", "house").stdout
    until(lambda: running.status()["running"])
    assert running.pid() != pid


def test_killed_at_random_moments_every_search_is_answered(running):
    expected = plain(running.direct("search", "-j", "house"))
    for number in range(5):
        kill = threading.Timer(0.025 * number, lambda: os.kill(running.pid(), signal.SIGKILL))
        kill.start()
        assert plain(running.kb("search", "-j", "house")) == expected
        kill.join()
        running.start()


def test_hung_it_costs_one_slow_search_and_is_replaced(running):
    pid = running.pid()
    os.utime(running.place.lock, (0, 0))  # it has been running for long
    os.kill(pid, signal.SIGSTOP)
    assert b"The red house" in running.kb("search", "-j", "house").stdout
    until(lambda: running.place.lock.read_text() not in {"", str(pid)} and running.status()["running"])


def test_where_it_cannot_live_searches_go_on_without_it(daemon):
    """A file where its folder should be."""
    daemon.place.folder.write_text("")
    assert plain(daemon.kb("search", "-j", "house")) == plain(daemon.direct("search", "-j", "house"))
    failed = daemon.kb("daemon", "start")
    assert failed.code == 1
    assert b"Traceback" not in failed.stderr
    daemon.place.folder.unlink()


# New data


def ids(done: Ran) -> list[str]:
    return [hit["source"]["title"] for hit in json.loads(done.stdout)["results"]]


def test_it_sees_what_was_added_and_removed_at_once(running):
    assert ids(running.kb("search", "-j", "--mode", "keyword", "huge")) == []
    write(running.folder, {"huge.md": "# Huge\n\nA huge mountain."})
    running.add("huge.md")
    for mode in ("keyword", "semantic", "hybrid"):
        assert ids(running.kb("search", "-j", "--mode", mode, "huge"))[0] == "Huge"
    assert here(running.folder, "remove", "huge.md").code == 0
    for mode in ("keyword", "semantic", "hybrid"):
        assert "Huge" not in ids(running.kb("search", "-j", "--mode", mode, "huge"))


def test_it_survives_a_compaction_and_a_switch_of_models(running, tiny_folder):
    assert here(running.folder, "remove", "green.md").code == 0
    assert here(running.folder, "compact").code == 0
    assert ids(running.kb("search", "-j", "red")) == ["Red"]
    assert here(running.folder, "reindex", "--model", tiny_folder, KB_MODEL=tiny_folder).code == 0
    assert ids(running.kb("search", "-j", "red", KB_MODEL=tiny_folder)) == ["Red"]
    assert json.loads(running.kb("search", "-j", "red").stdout)["error"]["code"] == "ModelMismatch"


def test_it_sees_a_store_that_took_the_place_of_its_own(running):
    for name in ("kb.db", "kb.db-wal", "kb.db-shm"):
        (running.data_dir / name).unlink(missing_ok=True)
    write(running.folder, {"huge.md": "# Huge\n\nA huge mountain."})
    running.add("huge.md")
    assert ids(running.kb("search", "-j", "red")) == ["Huge"]


def test_no_answer_mixes_two_states(running):
    """One document of two chunks is replaced again and again; both chunks of an answer are of the same generation."""
    text = "# One\n\n{0} red house. {1}\n\n# Two\n\n{0} red tree. {1}\n"
    generations = [text.format(f"generation{number}", "red " * 60) for number in range(12)]
    write(running.folder, {"red.md": generations[0]})
    running.add("--replace", "red.md")
    problems, stop = [], threading.Event()

    def ask() -> None:
        while not stop.is_set():
            for mode in ("keyword", "hybrid"):
                answer = json.loads(running.kb("search", "-j", "--mode", mode, "--path", "red.md", "red").stdout)
                found = [re.findall("generation[0-9]+|$", hit["text"])[0] for hit in answer["results"]]
                if len(set(found)) > 1 or (len(found) != 2 and not answer["warnings"]):
                    problems.append((mode, found, answer))

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for text in generations[1:]:
        write(running.folder, {"red.md": text})
        running.add("--replace", "red.md")
    before = running.asked()
    until(lambda: running.asked() > before + 5 or problems)
    stop.set()
    for asker in askers:
        asker.join()
    assert problems == []


# What it does not do


@pytest.mark.parametrize("arguments", [("remove", "red.md"), ("add", "green.md"), ("compact",), ("status",), ()])
def test_it_runs_reading_commands_only(running, arguments):
    request = protocol.encode_request(protocol_version(), "run", arguments)
    assert protocol.ask(str(running.place.folder), request) is None
    assert ids(running.direct("search", "-j", "red"))[0] == "Red"


@pytest.mark.parametrize("body", [b"", b"\0" * 10, b"\xff" * 100, b"0.1.0\0run\0" + b"000\0" + b"0\0/\0x\0"])
def test_nonsense_is_not_answered_and_does_no_harm(running, body):
    request = protocol.LENGTH.pack(len(body)) + body
    assert protocol.ask(str(running.place.folder), request) is None
    assert ids(running.kb("search", "-j", "red"))[0] == "Red"
    assert running.status()["running"]


def protocol_version() -> str:
    from kb import __version__

    return __version__


def test_what_goes_wrong_in_it_is_logged_without_a_word_of_the_documents(running):
    (running.data_dir / "matrix" / "header.json").write_text("{}")
    assert ids(running.kb("search", "-j", "red"))[0] == "Red"  # mended, as without a daemon
    assert b"house" not in running.place.log.read_bytes()


# The same bytes


QUERIES = [
    "red", "green tree", "huge", '"red house"', "red -house", "-red", "nothing of that", "r\u00e9d", "\u7ea2\u8272", "a" * 300,
    "red " * 2000, "'\"", "--", "\\", "red\nhouse", "\t", "AND OR NOT", "title:red", "red^3", "red~2", "[a TO z]", "*", "?",
]  # fmt: skip
OPTIONS = [
    (), ("-j",), ("--format", "human"), ("-j", "--mode", "keyword"), ("-j", "--mode", "semantic"), ("-j", "-n", "1"), ("-j", "--group"),
    ("-j", "--path", "red.md"), ("-j", "--path", "~/nothing"), ("-j", "--min-score", "0.6"),
]  # fmt: skip
OTHERS = [
    ("search",), ("search", ""), ("search", "-j", ""), ("search", "--no-such", "x"), ("search", "-j", "--mode", "odd", "x"), ("search", "--help"),
    ("search", "-j", "--since", "soon", "x"), ("search", "-j", "--type", "odd", "x"), ("search", "-j", "--since", "2020", "red"),
    ("search", "-j", "red", "--also", "green"), ("search", "red", "--also", "green", "-j", "-n", "1"),
    ("get", "red.md"), ("get", "-j", "1"), ("get", "99"), ("get", "-j", "99"), ("get", "red.md", "--lines", "1:2"), ("get", "1", "--page", "1"),
    ("get", "1", "--around", "1"), ("list",), ("list", "-j"), ("list", "-j", "--tag", "x"), ("show", "red.md"), ("show", "-j", "2"), ("show", "x"),
    *((*verb, "--format", name) for verb in (("search", "red"), ("get", "1"), ("list",))
      for name in ("json", "jsonl", "human", "markdown", "csv", "xml", "paths", "paths0", "odd")),
    ("search", "red", "--also", "green", "--format", "csv"), ("get", "99", "--format", "xml"), ("list", "-j", "--format", "csv"),
    ("search", "-j", "\udcff\udcfe caf\udce9"), ("search", b"\xff".decode("utf-8", "surrogateescape")),
]  # fmt: skip


def test_the_daemon_answers_200_calls_with_the_bytes_of_a_process_without_one(running):
    calls = [("search", *options, "--", query) for query in QUERIES for options in OPTIONS]
    before = running.asked()
    for call in [*calls, *OTHERS]:
        request = protocol.encode_request(protocol_version(), "run", [*call])
        frames = protocol.ask(str(running.place.folder), with_variables(request, running))
        if frames is None:  # declined: then a process without a daemon answers
            continue
        streams = [b"".join(content for kind, content in frames if kind == wanted) for wanted in (1, 2)]
        assert plain(Ran(frames[-1][1][0], *streams)) == plain(running.direct(*call)), call
    assert running.asked() - before >= 200


@pytest.mark.heavy
def test_the_compiled_launcher_and_the_script_say_the_same_in_all_of_these_calls(running, tmp_path):
    """Whole processes, each a quarter of a thousand times, with arguments of 100 kB and of no encoding."""
    compiled = tmp_path / "bin" / "kb"
    compiled.parent.mkdir()
    if not compile_c(Path(__file__).parents[1] / "kb/launcher.c", compiled, f'-DKB_VERSION="{__version__}"'):
        pytest.skip("no C compiler here")
    python = compiled.with_name("python3")  # what it becomes where the daemon declines
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    calls = [("search", *options, "--", query) for query in QUERIES for options in OPTIONS]
    before = running.asked()
    for call in [*calls, *OTHERS, ("search", "-j", "red " * 25_000)]:
        wanted = plain(running.direct(*call))
        assert plain(running.kb(*call)) == wanted, call
        assert plain(running.kb(*call, program=[compiled])) == wanted, call
    assert running.asked() - before >= 400


def with_variables(request: bytes, daemon: Daemon) -> bytes:
    """The request as it would come from the test's folder, with the store's model."""
    version, what, _terminals, columns, _, *rest = request[4:].split(b"\0")
    variables = [f"KB_MODEL={daemon.model}".encode(), b"HOME=" + os.environb[b"HOME"]]
    count = int(rest[0])
    body = b"\0".join([version, what, b"000", columns, os.fsencode(daemon.folder), *rest[: count + 1], *variables, b""])
    return protocol.LENGTH.pack(len(body)) + body


def test_a_whole_process_says_the_same_with_and_without_it(running):
    for call in (
        ("search", "-j", "a" * 100_000),
        ("search", "red"),
        ("get", "99"),
        ("search", "--no-such", "x"),
        OTHERS[-1],
    ):
        without = process(running.folder, *call, KB_MODEL=running.model)
        done = plain(running.kb(*call))
        assert done == plain(Ran(without.code, without.stdout.encode(), without.stderr.encode())), call
