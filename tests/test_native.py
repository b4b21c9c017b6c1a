"""What is compiled for a search: where it is not to be had, all goes on without it. What it gives is seen in test_quantized and test_leading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hatch_build
from index import native
from index.native import Native
from index.near import contenders
from index.quantized import Coded, quantize, scores

SOURCE = Path(native.__file__).with_suffix(".c")


@pytest.fixture
def looked_for(monkeypatch, tmp_path):
    """Where the library is looked for, in this test."""
    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    native.compiled.cache_clear()
    yield tmp_path / native.FILE
    native.compiled.cache_clear()


def search():
    vectors = np.eye(700, 8, dtype=np.float32)
    codes, bounds = quantize(vectors)
    kept = contenders(Coded(codes, bounds), np.arange(700), vectors[3], 1)
    return kept.tolist(), scores(vectors, 1.0, kept, vectors[3]).tolist()


def test_the_file_that_is_built_is_the_one_that_is_looked_for():
    assert native.FILE == hatch_build.NATIVE


@pytest.mark.parametrize("content", [None, b"", b"of another system", b"\x7fELF" + bytes(60)])
def test_without_a_library_for_this_system_it_is_done_by_numpy(looked_for, content):
    if content is not None:
        looked_for.write_bytes(content)
    assert native.compiled() is None
    assert search() == ([3], [1.0])


def test_a_library_of_something_else_is_left_alone(looked_for, tmp_path):
    other = tmp_path / "other.c"
    other.write_text("int other(void) { return 1; }")
    if not hatch_build.compile_native(other, looked_for):
        pytest.skip("no C compiler for Linux on x86-64 here")
    assert native.compiled() is None


def test_a_library_for_other_processors_is_left_alone(looked_for, monkeypatch):
    if not hatch_build.compile_native(SOURCE, looked_for):
        pytest.skip("no C compiler for Linux on x86-64 here")
    loaded = Native.__init__

    def elsewhere(self, path):
        loaded(self, path)
        self.kind = None

    monkeypatch.setattr(Native, "__init__", elsewhere)
    assert native.compiled() is None


def test_a_library_that_runs_here_is_used(looked_for):
    if not hatch_build.compile_native(SOURCE, looked_for):
        pytest.skip("no C compiler for Linux on x86-64 here")
    if not Native(looked_for).kind:
        pytest.skip("this processor has no AVX2")
    assert isinstance(native.compiled(), Native)
    assert search() == ([3], [1.0])
    with pytest.raises(ValueError, match="a limit of at least 1, got 0"):
        native.compiled().near(native.Question(), None, native.Portions(np.arange(1)), 0)


def test_what_does_not_compile_leaves_no_library_of_another_time(tmp_path, monkeypatch):
    library = tmp_path / hatch_build.NATIVE
    library.write_bytes(b"of another time")
    monkeypatch.setenv("CC", "false")
    assert not hatch_build.compile_native(SOURCE, library)
    assert not library.exists()
