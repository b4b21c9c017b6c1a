"""Settings: KB_* variables over config.yaml over defaults, each with its origin; faults name line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb import preferences, settings
from kb.errors import BadConfig
from kb.preferences import data_dir, load, table, variables
from kb.switch import set_in_file


@pytest.fixture
def configure(tmp_path):
    """Write config.yaml and load it, with these variables."""

    def loaded(text: str, **environ: str):
        (tmp_path / "config.yaml").write_text(text)
        return load(tmp_path, environ)

    return loaded


def test_without_a_file_every_setting_has_the_default_of_the_documentation(tmp_path):
    found = {setting.key: setting.value for setting in table(load(tmp_path, {}))}

    assert found == found | {
        "embedding.model": None, "embedding.query_prefix": None, "embedding.passage_prefix": None,
        "search.default_top": 10, "search.default_format": "auto", "search.rrf_k": 60,
        "search.fusion": "weighted", "search.semantic_weight": 0.4, "search.regularization": 0.5,
        "chunking.defaults.max_tokens": 512, "chunking.defaults.overlap_tokens": 50,
        "chunking.pdf.strategy": "hierarchy", "chunking.pdf.max_tokens": 1024,
        "chunking.markdown.strategy": "header", "chunking.markdown.min_tokens": 50, "chunking.markdown.max_tokens": 1024,
        "chunking.code.strategy": "ast", "chunking.code.include_context": True, "chunking.code.max_tokens": 1024,
        "chunking.note.strategy": "whole",
        "ingestion.workers": 4, "ingestion.batch_size": 50, "ingestion.enable_ocr": "auto",
    }  # fmt: skip
    assert {"embedding.batch_size", "embedding.threads"} <= found.keys()


def test_a_variable_outweighs_the_file_and_the_file_the_default(configure):
    found = configure("search:\n  default_top: 3\n  rrf_k: 10\n", KB_DEFAULT_TOP="7")

    origins = {setting.key: (setting.value, setting.origin) for setting in table(found)}
    assert origins["search.default_top"] == (7, "KB_DEFAULT_TOP")
    assert origins["search.rrf_k"] == (10, "config.yaml")
    assert origins["chunking.pdf.max_tokens"] == (1024, "default")


def test_every_setting_has_a_variable_of_its_own():
    names = [name for row in variables().values() for name in row]

    assert len(names) == len(set(names))
    assert variables()["embedding.model"] == ("KB_MODEL", "KB_EMBEDDING_MODEL")
    assert variables()["chunking.pdf.max_tokens"] == ("KB_CHUNKING_PDF_MAX_TOKENS",)


@pytest.mark.parametrize("key", preferences.keys())
def test_every_variable_is_read(tmp_path, key):
    values = {
        "search.default_format": "json", "search.daemon": "false", "search.fresh": "true", "search.rerank": "true", "search.fusion": "rrf", "search.semantic_weight": "0.25", "search.regularization": "0.75", "ingestion.enable_ocr": "never", "ingestion.pdf_engine": "pymupdf",
        "embedding.provider": "ollama", "embedding.device": "cpu", "ingestion.keep_original": "true", "scrub.enabled": "false", "scrub.emails": "true",
        "embedding.spinning": "false", "chunking.code.include_context": "true", "chunking.note.strategy": "whole",
        "chunking.pdf.strategy": "fixed", "chunking.markdown.strategy": "fixed", "chunking.code.strategy": "fixed",
    }  # fmt: skip
    value = values.get(key, "17")
    name = variables()[key][0]

    [setting] = [setting for setting in table(load(tmp_path, {name: value})) if setting.key == key]

    assert setting.origin == name
    assert str(setting.value).lower().removesuffix(".0") == value


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("search:\n  default_top: many\n", 2, "search.default_top: Expected `int`, got `str`"),
        ("search:\n  rrf_k: 60\n  default_topp: 3\n", 3, "no such setting; did you mean search.default_top?"),
        ("\nserach:\n  rrf_k: 60\n", 2, "serach: no such setting"),
        ("search:\n  default_top: 0\n", 2, "search.default_top: Expected `int` >= 1"),
        ("chunking:\n  pdf:\n    max_tokens: 3\n", 3, "chunking.pdf.max_tokens: Expected `int` >= 16"),
        ("ingestion:\n  enable_ocr: yes\n", 2, "ingestion.enable_ocr"),
        ("search: 5\n", 1, "search: Expected `object`, got `int`"),
        ("search:\n  rrf_k: [1\n", 3, "expected ',' or ']'"),
        ("- a\n- b\n", 1, "expected sections such as 'search:', got list"),
        ("\tsearch: 1\n", 1, "cannot start any token"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line_and_key(configure, text, line, said):
    with pytest.raises(BadConfig) as refused:
        configure(text)

    assert f"config.yaml, line {line}: " in refused.value.message
    assert said in refused.value.message
    assert "\n" not in refused.value.message
    assert refused.value.hint


def test_a_variable_that_cannot_be_used_is_refused_by_its_name(tmp_path):
    with pytest.raises(BadConfig, match=r"^KB_DEFAULT_TOP: search.default_top: Expected `int`, got `str`"):
        load(tmp_path, {"KB_DEFAULT_TOP": "many"})


@pytest.mark.parametrize("text", ["", "# nothing\n", "search:\n", "search:\n  rrf_k:\n", "chunking:\n  pdf:\n"])
def test_a_section_with_nothing_in_it_is_as_if_it_were_not_there(configure, text):
    assert configure(text).settings == settings.Settings()
    assert configure(text, KB_DEFAULT_TOP="7", KB_RRF_K="5").settings.search == settings.Search(7, rrf_k=5)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "config.yaml").write_bytes(b"\xff\xfe\x00\x01")

    with pytest.raises(BadConfig, match=r"config\.yaml"):
        load(tmp_path, {})


def test_the_data_folder_is_kb_data_dir_else_dot_kb_at_home():
    assert data_dir({}) == Path.home() / ".kb"
    assert data_dir({"KB_DATA_DIR": ""}) == Path.home() / ".kb"
    assert data_dir({"KB_DATA_DIR": "/a/b/../c"}) == Path("/a/c")
    assert data_dir({"KB_DATA_DIR": "~/x"}) == Path.home() / "x"
    assert data_dir({"KB_DATA_DIR": "x"}) == Path.cwd() / "x"


def test_one_value_can_be_replaced_without_touching_the_rest_of_the_file(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("# mine\nembedding:\n  model: old  # the old one\nsearch: {rrf_k: 5}\n")

    assert set_in_file(path, "embedding.model", "new/one") is True
    assert set_in_file(path, "embedding.threads", "3") is False

    assert path.read_text() == '# mine\nembedding:\n  model: "new/one"  # the old one\nsearch: {rrf_k: 5}\n'
