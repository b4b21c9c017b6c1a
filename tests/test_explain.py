"""--explain: how a hit came by its score. The parts add up, whatever ran."""

from __future__ import annotations

import pytest
import running
from tiny_reranker import write_reranker

from kb.fuse import METHODS

FILES = {
    "first.md": "# Heat\n\nred heat flows from the warm body to the cold body\n\n## Cold\n\nthe `maxTokens` of red bodies",
    "lamp.txt": "the green lamp of the huge door is green",
    "red/river.md": "# River\n\nthe river flows over the stone\n\nthe cold stone",
    "more.txt": "red red red things and others",
    "long.txt": " ".join(f"w{number}" for number in range(140)),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory, roomy_folder):
    folder = tmp_path_factory.mktemp("library")
    running.write(folder / "docs", FILES)
    assert running.here(folder, "add", "docs", "-r", KB_MODEL=roomy_folder).code == 0
    write_reranker(folder / "reranker")
    return folder


@pytest.fixture(scope="module")
def kb(library, roomy_folder):
    def run(*arguments, **variables):
        variables = {"KB_MODEL": roomy_folder, "KB_RERANK_MODEL": library / "reranker", **variables}
        return running.here(library, "search", "--explain", *arguments, **variables)

    return run


@pytest.mark.parametrize("rerank", ["--rerank", "--no-rerank"])
@pytest.mark.parametrize(
    ("mode", "fusion"), [*(("hybrid", method) for method in METHODS), ("keyword", "rrf"), ("semantic", "rrf")]
)
@pytest.mark.parametrize("query", ["red heat flows", "lamp", "unheard"])
def test_the_parts_add_up_to_the_score(kb, query, mode, fusion, rerank):
    hits = kb("-j", "--mode", mode, rerank, query, KB_FUSION=fusion).json["results"]

    for hit in hits:
        why = hit["explain"]
        parts = [why[name]["contribution"] for name in ("keyword", "semantic") if why[name]]
        assert sum(parts) + why["bonus"] + why["alike"] == pytest.approx(why["fused"], abs=1e-8)
        score = why["fused"]
        if rerank == "--rerank":
            score = why["rerank"]["fused_weight"] * why["fused"] + why["rerank"]["contribution"]
            read = (1 - why["rerank"]["fused_weight"]) * why["rerank"]["score"]
            assert why["rerank"]["contribution"] == pytest.approx(read, abs=1e-8)
        else:
            assert why["rerank"] is None
        assert hit["score"] == pytest.approx(score, abs=1e-6)
        assert why["fusion"] == (fusion if mode == "hybrid" else mode)


def test_scores_and_ranks_are_those_of_each_search(kb):
    """As each search alone gives them."""
    hits = kb("-j", "red heat").json["results"]
    alone = {mode: kb("-j", "--mode", mode, "red heat").json["results"] for mode in ("keyword", "semantic")}

    for mode, field in (("keyword", "fts"), ("semantic", "vector")):
        ranks = {hit["chunk_id"]: rank for rank, hit in enumerate(alone[mode], start=1)}
        assert {hit["chunk_id"]: hit["explain"][mode]["rank"] for hit in hits if hit["explain"][mode]} == ranks
        for hit in hits:
            assert (hit["explain"][mode] is None) == (hit["score_breakdown"][field] is None)
    assert [hit["explain"]["fused_rank"] for hit in hits] == list(range(1, len(hits) + 1))
    bm25 = [hit["explain"]["keyword"]["score"] for hit in alone["keyword"]]
    assert bm25 == sorted(bm25, reverse=True)
    assert bm25[0] > 0


def test_the_rank_before_the_rerank_is_told(kb):
    plain = [hit["chunk_id"] for hit in kb("-j", "--mode", "keyword", "red").json["results"]]

    for hit in kb("-j", "--mode", "keyword", "--rerank", "red").json["results"]:
        assert plain[hit["explain"]["fused_rank"] - 1] == hit["chunk_id"]


@pytest.mark.parametrize(
    ("query", "title", "places"),
    [
        ("Heat", "Heat", ["title", "heading", "body"]),
        ("flowing", "Heat", ["body"]),  # as the index stems it
        ("river", "River", ["title", "heading", "body", "path"]),
        ("max_tokens", "Heat", ["body"]),  # found in its other spelling
        ('"warm body"', "Heat", ["body"]),
        ('"body warm"', "Heat", []),
        (f'"{" ".join(f"w{number}" for number in range(150))}"', "long", ["body"]),  # its beginning is what is searched
        ("unheard", "Heat", []),
    ],
)
def test_it_is_told_which_words_are_where(kb, query, title, places):
    hits = kb("-j", "-n", 20, query, "red").json["results"]

    terms = [term for hit in hits if hit["source"]["title"] == title for term in hit["explain"]["terms"]]
    found = [term["fields"] for term in terms if term["term"] == query.strip('"')]
    assert [*dict.fromkeys(name for fields in found for name in fields)] == places


def test_words_that_are_not_searched_are_not_told_of(kb):
    terms = kb("-j", "the red -green heat").json["results"][0]["explain"]["terms"]

    assert [term["term"] for term in terms] == ["red", "heat"]


def test_a_person_reads_the_same(kb):
    shown = kb("--format", "human", "--rerank", "red heat").stdout
    [hit] = [hit for hit in kb("-j", "--rerank", "red heat").json["results"] if hit["source"]["title"] == "Heat"]

    why = hit["explain"]
    assert f"chunk {hit['chunk_id']}: {why['fused']:.4f}, rank {why['fused_rank']} by weighted = keyword " in shown
    assert f"reranker gives {why['rerank']['score']:.4f}: {hit['score']:.4f} = 0.75 x {why['fused']:.4f} + " in shown
    assert "terms: red in body; heat in title, heading, body" in shown


def test_nothing_is_explained_unasked(library, roomy_folder):
    ran = running.here(library, "search", "--format", "human", "red", KB_MODEL=roomy_folder)

    assert "terms:" not in ran.stdout
