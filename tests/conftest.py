"""What tests of several modules start from: a data folder, a small store, a tiny model, and `kb` as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import no_network
import pytest
import small_store
import tiny_model
from hypothesis import HealthCheck, settings

no_network.forbid()

# A busy machine is no fault of the tests.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


class Ran(NamedTuple):
    """How a `kb` process ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self):
        """What it printed on standard output, which must be one JSON value and nothing else."""
        return json.loads(self.stdout)


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
def kb(data_dir, tmp_path):
    """Run `kb` with these arguments, in the test's own folder; variables such as KB_MODEL go by keyword."""

    def run(*arguments: object, stdin: str = "", cwd: Path = tmp_path, **variables: object) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "kb", *map(str, arguments)],
            input=stdin,
            env=environment(data_dir, **variables),
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


def environment(data_dir: Path, **variables: object) -> dict[str, str]:
    """This process's environment without the user's own KB_* settings, and no daemon unless the test is about it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    return {
        **kept,
        "KB_DATA_DIR": str(data_dir),
        "KB_DAEMON": "off",
        **{name: str(value) for name, value in variables.items()},
    }
