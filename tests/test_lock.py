"""One writer at a time, between real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from index.errors import StoreLocked
from index.lock import writer_lock

HOLD = """
import sys
from pathlib import Path
from index.lock import writer_lock
with writer_lock(Path(sys.argv[1]), 0):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "write.lock"


@pytest.fixture
def holder(path):
    """Another process that has the lock until its standard input ends."""
    command = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_message_names_the_process_that_holds_the_lock(path, holder):
    with pytest.raises(StoreLocked, match=f"written by process {holder.pid}$") as caught, writer_lock(path, 0):
        pass
    assert "lock_timeout_s" in caught.value.hint


def test_a_writer_waits_for_another_and_goes_on(path, holder):
    """The other one is told to finish only when the wait has begun."""
    threading.Timer(0.2, holder.stdin.close).start()
    with writer_lock(path, 60):
        assert path.read_text() == str(os.getpid())


def test_the_lock_dies_with_its_process(path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with writer_lock(path, 0):
        pass


def test_the_lock_is_free_after_an_error(path):
    with pytest.raises(RuntimeError), writer_lock(path, 0):
        raise RuntimeError
    with writer_lock(path, 0):
        pass


def test_processes_that_a_writer_starts_do_not_keep_its_lock(path):
    """An OCR worker that outlives its parent must not lock the store for ever."""
    with writer_lock(path, 0):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    with writer_lock(path, 60):
        assert child.poll() is None
    child.communicate(b"\n")


def test_a_command_says_who_holds_the_lock_and_ends_with_code_5(make_store, data_dir, kb):
    make_store()
    with writer_lock(data_dir / "write.lock", 0):
        ran = kb("compact", "-j", KB_LOCK_TIMEOUT_S=0.1)
    assert (ran.code, ran.json["error"]["code"]) == (5, "StoreLocked")
    assert str(os.getpid()) in ran.json["error"]["message"]
