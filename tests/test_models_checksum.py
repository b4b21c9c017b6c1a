"""The default model's file is compared with its sha256 once, and again when it changed."""

from __future__ import annotations

import os

import msgspec
import pytest
from tiny_model import write_model

from models.checksum import verify
from models.errors import ModelDamaged
from models.known import DEFAULT_MODEL
from models.locate import locate


@pytest.fixture
def damaged(tmp_path):
    """The default model with a file that is not it."""
    onnx = tmp_path / "model.onnx"
    onnx.write_bytes(b"not a model")
    return msgspec.structs.replace(locate(DEFAULT_MODEL), onnx=onnx)


def test_the_installed_default_model_is_the_one_that_was_tested(tmp_path):
    verify(locate(DEFAULT_MODEL), tmp_path / "new" / "verified.json")

    assert (tmp_path / "new" / "verified.json").is_file()


def test_another_file_in_its_place_is_damage(damaged, tmp_path):
    with pytest.raises(ModelDamaged, match="sha256") as caught:
        verify(damaged, tmp_path / "verified.json")

    assert "pip install --force-reinstall" in caught.value.hint
    assert not (tmp_path / "verified.json").exists()


def test_a_file_once_found_whole_is_not_read_again_until_it_changes(damaged, tmp_path):
    """The memo of the real file, rewritten for the damaged one, is believed; a new time stamp ends that."""
    memo = tmp_path / "verified.json"
    stat = damaged.onnx.stat()
    verify(locate(DEFAULT_MODEL), memo)
    state = {"path": str(damaged.onnx), "size_bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    assert msgspec.json.decode(memo.read_bytes()).keys() == state.keys()
    memo.write_bytes(msgspec.json.encode(state))

    verify(damaged, memo)
    os.utime(damaged.onnx, ns=(0, stat.st_mtime_ns + 1))
    with pytest.raises(ModelDamaged):
        verify(damaged, memo)


def test_an_unreadable_memo_is_as_good_as_none(damaged, tmp_path):
    memo = tmp_path / "verified.json"
    memo.write_text("{")

    with pytest.raises(ModelDamaged):
        verify(damaged, memo)
    verify(locate(DEFAULT_MODEL), memo)


def test_a_memo_that_cannot_be_written_stops_nobody(tmp_path):
    (tmp_path / "file").write_text("")

    verify(locate(DEFAULT_MODEL), tmp_path / "file" / "verified.json")


def test_other_models_have_no_sum(tmp_path):
    files = locate(str(write_model(tmp_path / "model")))
    verify(files, tmp_path / "verified.json")

    assert not (tmp_path / "verified.json").exists()
