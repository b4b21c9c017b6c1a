"""Models fetched from a hub: a small one on 127.0.0.1, asked by the real library in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from small_hub import small_hub
from tiny_model import write_json, write_model

from models.embedder import Embedder
from models.known import DEFAULT_MODEL
from models.locate import locate

ROOT = Path(__file__).parents[1]
FETCH = """
import json, sys
sys.path.insert(0, sys.argv[1])
from models.errors import ModelError
from models.fetch import fetch
calls = []
try:
    files = fetch(sys.argv[2], lambda done, total: calls.append([done, total]))
    print(json.dumps({"onnx": str(files.onnx), "source": files.source, "calls": calls}))
except ModelError as error:
    print(json.dumps({"error": type(error).__name__, "message": error.message, "hint": error.hint}))
"""


def fetch(name: str, home: Path, **settings: str) -> dict:
    """What a fetch gave, its cache below `home`. No setting of this machine's reaches it."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf"), **settings}
    done = subprocess.run(
        [sys.executable, "-I", "-c", FETCH, str(ROOT), name],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "%|" not in done.stdout + done.stderr, "a bar was drawn without a terminal"
    return json.loads(done.stdout)


@pytest.fixture
def repository(tmp_path):
    """A repository with what is needed, and what is not."""
    folder = write_model(tmp_path / "repository")
    for name in ("model.safetensors", "README.md", "onnx/model_O4.onnx", "onnx/tokenizer.json"):
        (folder / name).write_text("not needed")
    return folder


def test_what_is_needed_is_fetched_and_nothing_else(repository, tmp_path, monkeypatch):
    """It is then found without the hub, and runs."""
    with small_hub("someone/tiny", repository) as hub:
        got = fetch("someone/tiny", tmp_path, HF_ENDPOINT=hub.url)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hf" / "hub"))

    assert got["source"] == "hub-cache"
    assert sorted(hub.asked_for) == [
        "1_Pooling/config.json",
        "config.json",
        "modules.json",
        "onnx/model.onnx",
        "sentence_bert_config.json",
        "tokenizer.json",
    ]
    assert str(locate("someone/tiny").onnx) == got["onnx"]
    assert Embedder.load(locate("someone/tiny")).embed_query("red").shape == (4,)


def test_progress_counts_bytes_up_to_all_of_them(repository, tmp_path):
    with small_hub("someone/tiny", repository) as hub:
        calls = fetch("someone/tiny", tmp_path, HF_ENDPOINT=hub.url)["calls"]
    done = [done for done, _ in calls]
    totals = {total for _, total in calls}
    fetched = sum((repository / name).stat().st_size for name in hub.asked_for)

    assert totals == {fetched}
    assert done == sorted(done)
    assert len(done) > 2
    assert done[-2:] == [fetched, fetched], "all was counted before the end was announced"


def test_what_is_here_is_not_fetched_again(repository, tmp_path):
    with small_hub("someone/tiny", repository) as hub:
        first = fetch("someone/tiny", tmp_path, HF_ENDPOINT=hub.url)
        hub.asked_for.clear()
        second = fetch("someone/tiny", tmp_path, HF_ENDPOINT=hub.url)

    assert (second["onnx"], hub.asked_for) == (first["onnx"], [])


def test_the_real_default_models_file_comes_through_the_hub_as_it_is(tmp_path):
    """23 MB in the hub's layout under the name of a well-known model."""
    package = locate(DEFAULT_MODEL)
    folder = shutil.copytree(package.tokenizer.parent, tmp_path / "repository")
    (folder / "onnx").mkdir()
    (folder / "onnx/model.onnx").symlink_to(package.onnx)
    with small_hub("thenlper/gte-small", folder) as hub:
        got = fetch("gte-small", tmp_path, HF_ENDPOINT=hub.url)

    assert Path(got["onnx"]).read_bytes() == package.onnx.read_bytes()


def test_weights_beside_the_graph_come_along(repository, tmp_path):
    """Graphs over 2 GB keep their weights in a second file."""
    (repository / "onnx/model.onnx_data").write_text("weights")
    with small_hub("someone/tiny", repository) as hub:
        fetch("someone/tiny", tmp_path, HF_ENDPOINT=hub.url)

    assert "onnx/model.onnx_data" in hub.asked_for


def test_a_repository_without_an_onnx_file_is_unusable(tmp_path):
    write_json(tmp_path / "repository" / "config.json", {})
    with small_hub("someone/torch", tmp_path / "repository") as hub:
        got = fetch("someone/torch", tmp_path, HF_ENDPOINT=hub.url)

    assert got["error"] == "ModelUnusable"
    assert got["message"] == "The repository someone/torch has no ONNX file that could be chosen."
    assert "optimum-cli export onnx" in got["hint"]


def test_a_model_that_cannot_be_run_is_refused_before_its_weights_are_fetched(repository, tmp_path):
    write_json(repository / "1_Pooling/config.json", {"pooling_mode_lasttoken": True})
    with small_hub("someone/last", repository) as hub:
        got = fetch("someone/last", tmp_path, HF_ENDPOINT=hub.url)

    assert got["error"] == "ModelUnusable"
    assert "onnx/model.onnx" not in hub.asked_for


@pytest.mark.parametrize("name", ["someone/else", "no such/name"])
def test_a_repository_that_is_not_there_is_missing(repository, tmp_path, name):
    with small_hub("someone/tiny", repository) as hub:
        got = fetch(name, tmp_path, HF_ENDPOINT=hub.url)

    assert (got["error"], got["message"]) == ("ModelMissing", f"The hub has no model {name}.")


def test_no_network_is_one_clear_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # closed again, so that nobody listens there
    got = fetch("someone/tiny", tmp_path, HF_ENDPOINT=f"http://127.0.0.1:{port}")

    assert got["error"] == "HubUnreachable"
    assert got["message"].startswith("The model someone/tiny could not be fetched: ")
    assert "\n" not in got["message"] + got["hint"]


def test_offline_by_wish_is_said_to_be_so(tmp_path):
    got = fetch("someone/tiny", tmp_path, HF_HUB_OFFLINE="1")

    assert (got["error"], got["message"]) == ("HubUnreachable", "The hub was not asked: HF_HUB_OFFLINE is set.")


def test_the_default_model_and_folders_need_no_hub(tmp_path):
    offline = {"HF_HUB_OFFLINE": "1"}

    assert fetch(DEFAULT_MODEL, tmp_path, **offline)["source"] == "package"
    assert fetch(str(write_model(tmp_path / "mine")), tmp_path, **offline)["source"] == "folder"
