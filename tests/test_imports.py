"""Start-up is a feature: what a command does not use it does not load. And what is loaded keeps to itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import small_store
from running import environment

ROOT = Path(__file__).parents[1]
HEAVY = {
    *("onnxruntime", "tokenizers", "huggingface_hub", "torch", "transformers"),
    *("pymupdf", "docling", "docling_core", "rapidocr", "cv2", "PIL", "pandas", "scipy", "lxml", "docx", "bs4"),
    *("tree_sitter", "pebble", "numkong", "rich", "pygments", "pydantic", "charset_normalizer", "markdown_it", "yaml"),
    *("mcp", "anyio", "asyncio", "starlette", "uvicorn"),
}

PROBE = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from kb.cli.door import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def loaded_by(data_dir):
    """The modules that a `kb` command has loaded when it ends well."""

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-c", PROBE, *arguments],
            env=environment(data_dir),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return set(json.loads(done.stderr.splitlines()[-1]))

    return run


@pytest.mark.parametrize("arguments", [("--help",), ("search", "--help"), ("--version",)], ids=" ".join)
def test_help_loads_nothing_that_is_slow_to_load(arguments, loaded_by):
    assert loaded_by(*arguments) & {*HEAVY, "numpy", "tantivy"} == set()


@pytest.mark.parametrize("flag", ["-j", "--format=human"])
def test_a_search_by_words_loads_no_model_and_no_reader(flag, loaded_by, make_store):
    make_store(small_store.document("fruit", "apples and pears"))

    loaded = loaded_by("search", "--mode", "keyword", "apples", flag)

    assert "tantivy" in loaded  # it did search
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(
    "arguments", [("list", "-j"), ("status", "-j"), ("get", "1"), ("show", "1"), ("view", "1")], ids=" ".join
)
def test_looking_things_up_loads_no_model_and_no_reader(arguments, loaded_by, make_store):
    make_store(small_store.document("fruit", "apples and pears"))

    assert loaded_by(*arguments) & HEAVY == set()


def test_a_command_of_a_group_loads_the_commands_of_no_other(loaded_by, make_store):
    make_store(small_store.document("fruit", "apples and pears"))

    ours = {name for name in loaded_by("tag", "list", "-j") if name.startswith("kb.cli.")}

    assert "kb.cli.curating" in ours
    assert ours & {"kb.cli.adding", "kb.cli.syncing", "kb.cli.queueing", "kb.cli.moving", "kb.cli.standing"} == set()


@pytest.mark.parametrize("program", ["import kb, onnxruntime", "import models, onnxruntime"])
def test_onnxruntime_does_not_report_its_use(program, tmp_path):
    """Where it does, it keeps its reports in the cache folder until it can send them."""
    clean = {
        name: value for name, value in os.environ.items() if name not in {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    }

    subprocess.run([sys.executable, "-c", program], env={**clean, "HOME": str(tmp_path)}, cwd=ROOT, check=True)

    assert list(tmp_path.rglob("*")) == []
