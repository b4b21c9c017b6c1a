"""The default model's file is compared with its sha256, a folder's files become part of its key; both read once a state."""

from __future__ import annotations

import os
import shutil

import msgspec
import pytest
from tiny_model import write_json, write_model

from models import checksum
from models.checksum import identified, verify
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


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path / "model")


def content(folder, memo=None):
    return identified(locate(str(folder)), memo).spec.content


def test_a_folder_s_content_is_part_of_its_key_and_the_same_in_a_copy(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")

    assert identified(locate(str(folder)), None).spec.key == f"{folder}@{content(folder)}"
    assert content(folder) == content(copy)


@pytest.mark.parametrize("name", ["onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx.data", "tokenizer.json"])
def test_other_weights_or_another_tokenizer_are_other_content(folder, name):
    before = content(folder)
    with (folder / name).open("ab") as file:
        file.write(b" ")

    assert content(folder) != before


def test_another_pooling_length_or_prefix_is_other_content(folder):
    found = [content(folder)]
    write_json(folder / "1_Pooling/config.json", {"word_embedding_dimension": 4, "pooling_mode_cls_token": True})
    found.append(content(folder))
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 10})
    found.append(content(folder))
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"passage": "p: "}})
    found.append(content(folder))

    assert len(set(found)) == 4


def test_the_default_model_and_those_of_the_hub_are_known_by_their_names(tmp_path):
    files = locate(DEFAULT_MODEL)

    assert identified(files, tmp_path / "memo.json") == files
    assert not (tmp_path / "memo.json").exists()


def test_a_folder_is_read_once_and_again_when_a_file_is_replaced_by_one_of_the_same_size_and_time(folder, tmp_path):
    """The memo's sum, altered, is believed until then: by the next process."""
    memo = tmp_path / "run" / "memo.json"
    first = content(folder, memo)
    memo.write_bytes(memo.read_bytes().replace(b'"digest":"', b'"digest":"0'))
    assert content(folder, memo) == first
    checksum._with_content.cache_clear()  # as in a process that has just begun
    assert content(folder, memo) != first

    onnx = folder / "onnx" / "model.onnx"
    status = onnx.stat()
    shutil.copy2(onnx, tmp_path / "other.onnx")
    (tmp_path / "other.onnx").replace(onnx)
    assert (onnx.stat().st_size, onnx.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert content(folder, memo) == first


def test_where_nothing_can_be_remembered_the_folder_is_read_each_time(folder, tmp_path):
    assert content(folder, tmp_path / "no" / "folder" / "memo.json") == content(folder)
    assert not (tmp_path / "no").exists()
