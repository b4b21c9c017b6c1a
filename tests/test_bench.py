"""`kb bench`: what is measured, what is kept, and what is named when two runs are compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tiny_reranker import write_reranker

QMD = Path(__file__).parents[2] / "shared" / "data" / "ir" / "qmd_eval"


@pytest.fixture
def library(kb, tmp_path, tiny_folder):
    """A store of three notes and a fixture: the first question is easy, the second is answered by two notes."""
    for name, text in {
        "apples.md": "# Apples\n\nred apples",
        "leaves.md": "# Leaves\n\ngreen leaves",
        "x.md": "huge",
    }.items():
        (tmp_path / name).write_text(text)
    assert kb("add", *sorted(tmp_path.glob("*.md")), KB_MODEL=tiny_folder).code == 0
    return write_fixture(
        tmp_path / "fixture.json",
        {"id": "one", "query": "apples", "type": "easy", "relevant": ["apples.md"], "k": 1},
        {"id": "two", "query": "leaves", "type": "hard", "relevant": ["Leaves", {"document": "x.md", "grade": 2}]},
    )


def write_fixture(path, *queries):
    path.write_text(json.dumps({"queries": queries}))
    return path


@pytest.fixture
def bench(kb, library, tiny_folder):
    return lambda *arguments: kb("bench", library, *arguments, KB_MODEL=tiny_folder)


def test_each_backend_is_measured_over_all_queries_and_each_type(bench):
    run = bench("-j").json

    assert [(row["backend"], row["type"], row["queries"]) for row in run["summary"]] == [
        (backend, kind, count)
        for backend in ("keyword", "semantic", "hybrid")
        for kind, count in ((None, 2), ("easy", 1), ("hard", 1))
    ]
    assert all(row["latency_ms"] > 0 for row in run["summary"])


def test_measures_of_a_query_are_those_of_its_ranking(bench):
    """`leaves` finds one of its two documents by words: 1 of 5 places, 1 of 2 documents, its grade 1 against 2 and 1."""
    run = bench("-j", "--backend", "keyword").json
    [easy, hard] = (query["outcomes"]["keyword"] for query in run["queries"])

    assert (easy["precision_at_k"], easy["recall_at_k"], easy["reciprocal_rank"], easy["ndcg_at_10"]) == (1, 1, 1, 1)
    assert (hard["precision_at_k"], hard["recall_at_k"], hard["reciprocal_rank"]) == (0.2, 0.5, 1)
    assert hard["ndcg_at_10"] == pytest.approx(1 / (2 + 1 / 1.58496), 1e-5)
    assert (hard["ranks"], hard["missed"]) == ({"Leaves": 1}, ["x.md"])
    assert run["summary"][0]["ndcg_at_10"] == pytest.approx((1 + hard["ndcg_at_10"]) / 2, 1e-5)


def test_only_the_backends_that_were_named_run(bench):
    assert bench("-j", "--backend", "semantic", "--backend", "keyword").json["backends"] == ["semantic", "keyword"]
    assert bench("--backend", "nonsense").code == 2


def test_k_is_the_query_s_own_or_the_one_given(bench):
    run = bench("-j", "--k", 2, "--backend", "keyword").json

    assert [query["k"] for query in run["queries"]] == [1, 2]
    assert run["queries"][1]["outcomes"]["keyword"]["precision_at_k"] == 0.5


def test_a_run_compared_with_itself_has_not_changed(bench, tmp_path):
    assert bench("--save", tmp_path / "run.json").code == 0
    done = bench("-j", "--compare", tmp_path / "run.json")

    assert (done.json["comparison"]["better"], done.json["comparison"]["worse"]) == ([], [])


def test_what_became_better_and_worse_is_named(bench, kb, tmp_path, tiny_folder):
    """The green note is removed: the hard question loses its document, the easy one keeps its own."""
    bench("--backend", "keyword", "--save", tmp_path / "run.json")
    kb("remove", tmp_path / "leaves.md", KB_MODEL=tiny_folder)

    done = bench("-j", "--backend", "keyword", "--compare", tmp_path / "run.json")

    [worse] = done.json["comparison"]["worse"]
    assert (worse["id"], worse["backend"], worse["after"]) == ("two", "keyword", 0)
    assert worse["before"] > 0
    assert done.json["comparison"]["better"] == []
    assert any("Leaves" in warning for warning in done.json["warnings"])


def test_better_is_told_from_worse_and_shown_to_a_person(bench, kb, tmp_path, tiny_folder):
    kb("remove", tmp_path / "leaves.md", KB_MODEL=tiny_folder)
    bench("--backend", "keyword", "--save", tmp_path / "run.json")
    kb("add", tmp_path / "leaves.md", KB_MODEL=tiny_folder)

    lines = bench("--backend", "keyword", "--compare", tmp_path / "run.json").stdout.splitlines()

    assert [line for line in lines if "two: leaves" in line and line.startswith("better")]
    assert not [line for line in lines if line.startswith("worse")]


def test_a_run_may_take_the_place_of_the_one_it_is_compared_with(bench, tmp_path):
    bench("--save", tmp_path / "run.json", "--backend", "keyword")

    done = bench("-j", "--compare", tmp_path / "run.json", "--save", tmp_path / "run.json")

    assert list(done.json["comparison"]["ndcg_at_10"]) == ["keyword"]
    assert json.loads((tmp_path / "run.json").read_text())["backends"] == ["keyword", "semantic", "hybrid"]


def test_runs_with_nothing_in_common_are_not_compared(bench, kb, tmp_path, tiny_folder):
    bench("--save", tmp_path / "run.json", "--backend", "keyword")
    other = write_fixture(tmp_path / "other.json", {"query": "huge", "relevant": ["x.md"]})

    assert kb("bench", other, "--compare", tmp_path / "run.json", KB_MODEL=tiny_folder).code == 2


def test_without_a_model_hybrid_says_that_it_searched_by_words(kb, tmp_path, tiny_folder):
    """And semantic, which cannot, is an error."""
    model = shutil.copytree(tiny_folder, tmp_path / "model")
    (tmp_path / "apples.md").write_text("red apples")
    kb("add", "apples.md", KB_MODEL=model)
    fixture = write_fixture(tmp_path / "fixture.json", {"query": "apples", "relevant": ["apples.md"]})
    shutil.rmtree(model)

    hybrid = kb("bench", fixture, "-j", "--backend", "hybrid", KB_MODEL=model)
    semantic = kb("bench", fixture, "-j", "--backend", "semantic", KB_MODEL=model)

    assert hybrid.code == 0
    assert any("hybrid was run as keyword" in warning for warning in hybrid.json["warnings"])
    assert semantic.code == 6


@pytest.fixture
def reranker(tmp_path):
    """One that finds what is green better than what is red."""
    (tmp_path / "models").mkdir()
    return write_reranker(tmp_path / "models")


@pytest.fixture
def fruit(kb, tmp_path, roomy_folder):
    """Notes of which words find the red one first, and a question that the green one answers."""
    for name, text in {"red.txt": "red red stone", "green.txt": "red green"}.items():
        (tmp_path / name).write_text(text)
    assert kb("add", tmp_path / "red.txt", tmp_path / "green.txt", KB_MODEL=roomy_folder).code == 0
    return write_fixture(tmp_path / "fixture.json", {"query": "red", "relevant": ["green.txt"]})


def test_a_reranker_is_a_backend_beside_the_others(kb, fruit, reranker, roomy_folder):
    """Hybrid stays without it, whatever the settings say."""
    run = kb("bench", fruit, "-j", KB_MODEL=roomy_folder, KB_RERANK_MODEL=reranker, KB_RERANK="on").json

    assert run["backends"] == ["keyword", "semantic", "hybrid", "rerank"]
    [query] = run["queries"]
    ranks = {backend: outcome["ranks"]["green.txt"] for backend, outcome in query["outcomes"].items()}
    assert (ranks["hybrid"], ranks["rerank"]) == (2, 1)
    assert run["warnings"] == []


def test_without_a_reranker_the_others_are_asked(kb, fruit, roomy_folder, tmp_path):
    run = kb("bench", fruit, "-j", KB_MODEL=roomy_folder, KB_RERANK_MODEL=tmp_path / "none").json

    assert run["backends"] == ["keyword", "semantic", "hybrid"]


def test_a_bench_says_how_often_the_reranker_failed(kb, fruit, roomy_folder, tmp_path):
    """The figures are hybrid's then."""
    asked = kb("bench", fruit, "-j", "--backend", "rerank", KB_MODEL=roomy_folder, KB_RERANK_MODEL=tmp_path / "none")

    [warning] = asked.json["warnings"]
    assert warning.startswith("1 of 1 queries were not reranked: ")
    assert asked.json["queries"][0]["outcomes"]["rerank"]["ranks"] == {"green.txt": 2}


def test_files_that_cannot_be_used_are_errors(bench, tmp_path):
    (tmp_path / "no-run.json").write_text("{}")

    assert bench("--compare", tmp_path / "no-run.json", "--backend", "keyword").code == 2
    assert bench("--compare", tmp_path / "missing.json", "--backend", "keyword").code == 3
    assert bench("--save", tmp_path / "no folder" / "run.json", "--backend", "keyword").code == 2


@pytest.mark.data
@pytest.mark.skipif(not QMD.is_dir(), reason="the collections are not at ../shared/data/ir")
def test_qmd_s_own_fixture_is_read_as_it_is(kb):
    """Its ten queries over its six notes; with the words alone the right note is first each time."""
    assert kb("add", QMD / "docs", "-r").code == 0
    run = kb("bench", QMD / "bench_fixture.json", "-j", "--backend", "keyword").json

    assert (run["summary"][0]["queries"], run["summary"][0]["mrr"], run["warnings"]) == (10, 1, [])
    assert {row["type"] for row in run["summary"]} == {None, "exact", "semantic", "topical", "cross-domain", "alias"}
