"""What tests of several modules start from: a data folder, a small store, a tiny model, and `kb`."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

import no_network
import pytest
import running
import small_store
import tiny_model
from hypothesis import HealthCheck, settings

import hatch_build
from index import native
from kb import add, reading
from models.session import usable_cores

no_network.forbid()

# What was compiled is kept, whatever the environment says: else each of a thousand processes compiles kb anew, a second's work instead of 0.2.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts what runs in the background deaf to Ctrl-C, and so is all that is started from there.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of the tests. Each run tries the same examples; `pytest --hypothesis-profile exploring` looks for others.
settings.register_profile("same", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("exploring", settings.get_profile("same"), derandomize=False, max_examples=1000)
settings.load_profile("same")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Half as many again as there are cores: many tests wait, for a process, a disk or a clock."""
    return usable_cores() * 3 // 2


@pytest.fixture
def data_dir(tmp_path):
    """Where the store of this test is to be; nothing is there yet."""
    return tmp_path / "kb-data"


@pytest.fixture
def make_store(data_dir):
    """Fill a new store in `data_dir` with documents of `small_store.document`; returns their ids."""

    def make(*documents):
        return small_store.create(data_dir, *documents)

    return make


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A real ONNX model of a few hundred bytes, for KB_MODEL: it knows the words red, green and huge."""
    return tiny_model.write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def roomy_folder(tmp_path_factory):
    """The tiny model, but one that sees 256 tokens of a text, as the default model does."""
    return tiny_model.write_model(tmp_path_factory.mktemp("models") / "roomy", max_tokens=256)


@pytest.fixture
def in_this_process(monkeypatch):
    """What is light is read here, however many files there are: a process to read them takes longer to start than they take."""
    monkeypatch.setattr(reading, "FEW_FILES", 1_000_000)
    monkeypatch.setattr(reading, "LIGHT_TYPES", reading.LIGHT_TYPES | {"code", "data", "html", "notebook"})


@pytest.fixture(scope="module", params=["numpy", *native.KINDS[1:]])
def each_way(request, tmp_path_factory):
    """How many rows are looked at: by numpy and numkong, and as index/native.c is compiled for each kind of processor."""
    found = None
    if request.param != "numpy":
        path = tmp_path_factory.mktemp("native") / native.FILE
        at_best = f"-DKB_AT_BEST={native.KINDS.index(request.param)}"
        if not hatch_build.compile_native(Path(native.__file__).with_suffix(".c"), path, at_best):
            pytest.skip("no C compiler for Linux on x86-64 here")
        found = native.Native(path)
        if found.kind != request.param:
            pytest.skip(f"this processor has no {request.param}")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(native, "compiled", lambda: found)
        yield


@pytest.fixture
def put_back(monkeypatch):
    """What the parts of `scripts/hurt` change of their process, where that is this one."""
    monkeypatch.setattr(add, "BATCH_S", add.BATCH_S)
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def kb(data_dir, tmp_path):
    """Run `kb` with these arguments, through its door in this process and in the test's own folder; variables such as KB_MODEL go by keyword."""
    return partial(running.here, tmp_path, KB_DATA_DIR=data_dir)
