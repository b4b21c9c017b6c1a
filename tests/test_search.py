"""`kb search`: what is found, by which way, what an answer says of itself, and that no input is an error."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import pytest
import running
import small_store
import tiny_model

from index import store
from kb.model import choose
from kb.search import Request, search
from kb.settings import Embedding, Settings

DOCUMENTS = {
    "thermal.md": "---\ntags: [physics]\ndate: 2024-05-01\n---\n# Heat\n\nred heat flows from the warm body to the cold body",
    "lamp.txt": "the green lamp of the huge door is green",
    "code.md": (
        "# Names\n\nCall max_tokens or maxTokens in src/utils/io_helpers.py, write to foo@bar.com, use 3.14.1,"
        " C++ and C#, and never rm -rf"
    ),
    "sub/river.md": "# River\n\nthe river flows over the red stone\n\nthe cold stone",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory, roomy_folder):
    """A folder with `DOCUMENTS` and a store of them, which no test changes."""
    folder = tmp_path_factory.mktemp("library")
    running.write(folder / "docs", DOCUMENTS)
    os.utime(folder / "docs/lamp.txt", (1_600_000_000, 1_600_000_000))
    assert running.here(folder, "add", "docs", "-r", KB_MODEL=roomy_folder).code == 0
    running.here(folder, "add", "--note", "a note on red things", KB_MODEL=roomy_folder)
    return folder


@pytest.fixture(scope="module")
def ask(library, roomy_folder):
    """Search the library; the answer."""

    def asked(*arguments: object):
        ran = running.here(library, "search", "-j", *arguments, KB_MODEL=roomy_folder)
        assert ran.code == 0, ran
        return ran.json

    return asked


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


def names(answer) -> list[str]:
    return [Path(hit["source"]["path"] or "note").name for hit in answer["results"]]


# The answer


def test_the_answer_has_every_field_of_the_contract(ask, library):
    answer = ask("--mode", "hybrid", "heat")

    fields = {"query", "mode", "results", "total_matches", "returned", "confidence", "took_ms", "warnings"}
    assert answer.keys() == fields
    hit = answer["results"][0]
    assert [hit[key] for key in ("tag_contexts", "source_context", "store", "explain")] == [[], None, None, None]
    more = {"chunk_id", "score", "score_breakdown", "text", "source"}
    assert hit.keys() == {"tag_contexts", "source_context", "store", "explain", *more}
    assert hit["score_breakdown"].keys() == {"fts", "vector"}
    assert hit["text"] == "# Heat\n\nred heat flows from the warm body to the cold body"
    document_id = hit["source"].pop("document_id")
    assert isinstance(document_id, int)
    assert hit["source"] == {
        "title": "Heat", "path": f"{library}/docs/thermal.md", "type": "markdown", "page": None, "pages": None, "lines": [5, 7],
        "heading": "Heat", "chunk_index": 0, "total_chunks": 1, "tags": ["physics"], "stale": False, "meta": {},
    }  # fmt: skip
    assert answer["returned"] == len(answer["results"])
    assert answer["total_matches"] >= answer["returned"]
    assert answer["took_ms"] > 0


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_scores_are_in_0_1_and_best_first(ask, mode):
    scores = [hit["score"] for hit in ask("--mode", mode, "red heat flows")["results"]]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_the_breakdown_says_which_way_a_hit_was_found(ask):
    [keyword, *_] = ask("--mode", "keyword", "lamp")["results"]
    [semantic, *_] = ask("--mode", "semantic", "green")["results"]

    assert keyword["score"] == keyword["score_breakdown"]["fts"]
    assert keyword["score_breakdown"]["vector"] is None
    assert semantic["score"] == semantic["score_breakdown"]["vector"]
    assert semantic["score_breakdown"]["fts"] is None


def test_hybrid_scores_the_mean_of_words_and_meaning_with_every_cosine_known(ask):
    """`green` is in no chunk but one; the others' cosines count as well, and words that are not there count as 0."""
    results = ask("--mode", "hybrid", "--explain", "green")["results"]

    assert len(results) == 5
    for hit in results:
        parts = hit["score_breakdown"]
        mean = 0.6 * (parts["fts"] or 0) + 0.4 * parts["vector"]
        assert hit["score"] == pytest.approx(mean + hit["explain"]["alike"], abs=2e-6)


def test_the_weight_of_the_meaning_is_a_setting(library, roomy_folder):
    [first, *_] = running.here(
        library, "search", "-j", "green", KB_MODEL=roomy_folder, KB_SEARCH_SEMANTIC_WEIGHT="0"
    ).json["results"]

    assert first["score"] == first["score_breakdown"]["fts"]


def test_another_fusion_can_be_configured(library, roomy_folder):
    """By reciprocal ranks, first in both searches is 1."""
    [first, *_] = running.here(
        library, "search", "-j", DOCUMENTS["lamp.txt"], KB_MODEL=roomy_folder, KB_SEARCH_FUSION="rrf"
    ).json["results"]

    assert (first["source"]["title"], first["score"]) == ("lamp", 1.0)


def test_top_and_the_setting_bound_the_results_and_not_the_total(library, ask, roomy_folder):
    limited = ask("--mode", "keyword", "-n", 1, "red")
    set_by_variable = running.here(library, "search", "-j", "red", KB_MODEL=roomy_folder, KB_DEFAULT_TOP=1).json

    assert (limited["returned"], limited["total_matches"]) == (1, 3)
    assert set_by_variable["returned"] == 1


def test_semantic_counts_every_live_chunk(ask):
    assert ask("--mode", "semantic", "anything")["total_matches"] == 5


# Words, phrases, exclusions, identifiers


def test_words_are_alternatives(ask):
    assert set(names(ask("--mode", "keyword", "lamp river unheard"))) == {"lamp.txt", "river.md"}


def test_a_question_in_plain_words_finds_its_answer(ask):
    assert names(ask("--mode", "keyword", "how does heat get from the warm body to a cold one?"))[0] == "thermal.md"


def test_quotes_are_a_phrase(ask):
    assert names(ask("--mode", "keyword", '"red stone"')) == ["river.md"]
    assert names(ask("--mode", "keyword", '"stone red"')) == []


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_an_excluded_word_is_in_no_hit(ask, mode):
    """Also where a vector would find it."""
    answer = ask("--mode", mode, "red -river")

    assert answer["results"]
    assert "river.md" not in names(answer)


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_an_excluded_phrase_is_in_no_hit(ask, mode):
    found = names(ask("--mode", mode, 'red -"cold body"'))

    assert "thermal.md" not in found
    assert "river.md" in found


def test_an_exclusion_holds_with_a_filter(ask):
    assert names(ask("--type", "markdown", "red -river -names")) == ["thermal.md"]


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_query_of_exclusions_only_finds_nothing_and_says_so(ask, mode):
    answer = ask("--mode", mode, "--", "-red")

    assert answer["results"] == []
    assert answer["warnings"] == ["the query only excludes: say what to look for as well"]


@pytest.mark.parametrize(
    "query",
    [
        "max_tokens", "maxTokens", "max tokens", "io_helpers", "io_helpers.py", "src/utils/io_helpers.py", "helpers",
        "foo@bar.com", "3.14.1", "C++", "C#", "rm -rf", "MAX_TOKENS",
    ],
)  # fmt: skip
def test_identifiers_are_found_whole_and_in_parts(ask, query):
    assert names(ask("--mode", "keyword", query))[0] == "code.md"


def test_a_version_is_not_another_version(ask):
    assert ask("--mode", "keyword", '"3.14.2"')["results"] == []


def test_a_typing_error_finds_the_word_and_says_so(ask):
    answer = ask("--mode", "keyword", "rivver stonne")

    assert names(answer) == ["river.md"]
    assert any('no document has "rivver", "stonne"' in warning for warning in answer["warnings"])


# No input is an error


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(
    "query",
    [
        "the of and", "🦀🔥", "!!!", '"', '"unbalanced', "(a AND", "title:x", "a:b^2~", "[1 TO 2}", "*", "\\", "a\x00b",
        "\t\n red", "--", "- -", '+-&&||!(){}[]^"~*?:\\/', "日本語の検索", "مرحبا", "x" * 5000, "/regex.*/", "caf\udce9",
    ],
)  # fmt: skip
def test_no_query_is_a_syntax_error(ask, query, mode):
    answer = ask("--mode", mode, "--", query)

    assert answer["returned"] == len(answer["results"])


@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_an_empty_query_is_refused(library, roomy_folder, query):
    ran = running.here(library, "search", "-j", query, KB_MODEL=roomy_folder)

    assert ran.code == 2
    assert ran.json["error"]["message"] == "the query is empty"


def test_a_query_without_a_letter_says_that_there_is_nothing_to_look_for(ask):
    assert ask("--mode", "keyword", "?!")["warnings"] == ["the query holds no letter or digit to look for"]


def test_a_query_of_stop_words_is_searched_all_the_same(ask):
    assert ask("--mode", "keyword", "the of")["total_matches"] > 0


def test_a_pasted_page_is_searched_and_the_cut_is_said(ask):
    answer = ask("--mode", "keyword", "lamp " + " ".join(f"word{number}" for number in range(10_000)))

    assert names(answer)[0] == "lamp.txt"
    assert any(
        warning.startswith("only the first 256 words of the query were searched") for warning in answer["warnings"]
    )


# Filters


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--tag", "physics"], {"thermal.md"}),
        (["--tag", "physics", "--tag", "other"], set()),
        (["--type", "text"], {"lamp.txt"}),
        (["--type", "text", "--type", "note"], {"lamp.txt", "note"}),
        (["--path", "docs/sub"], {"river.md"}),
        (["--path", "./docs/sub/"], {"river.md"}),
        (["--path", "./docs/*.txt"], {"lamp.txt"}),
        (["--path", "sub/*.md"], {"river.md"}),
        (["--path", "*.txt"], {"lamp.txt"}),
        (["--path", "docs/lamp.txt"], {"lamp.txt"}),
        (["--path", "iver"], {"river.md"}),
        (["--before", "2021"], {"lamp.txt"}),
        (["--since", "2024-05-01", "--before", "2024-05-02"], {"thermal.md"}),
        (["--since", "2024-05-02"], {"river.md", "code.md", "note"}),
        (["--tag", "physics", "--type", "text"], set()),
    ],
)
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_filters_hold_together(ask, filters, found, mode):
    """Without a word of the query in them: the filter alone decides which documents a vector may find."""
    assert set(names(ask("--mode", mode, *filters, "zebra"))) == found


def test_a_filter_that_nothing_passes_is_said(ask):
    answer = ask("--tag", "unheard", "red")

    assert (answer["results"], answer["warnings"]) == ([], ["no document passes the filters"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--type", "nonsense"],
        ["--since", "yesterday"],
        ["--before", "2024-13-01"],
        ["--min-score", "2"],
        ["-n", "0"],
        ["--mode", "both"],
    ],
)
def test_a_filter_that_cannot_be_is_refused(library, roomy_folder, arguments):
    assert running.here(library, "search", *arguments, "red", KB_MODEL=roomy_folder).code == 2


def test_a_folder_with_a_bracket_in_its_name_can_be_named(kb, tmp_path):
    running.write(tmp_path / "[draft]", {"a.md": "red"})
    kb("add", tmp_path / "[draft]", "-r")

    assert names(kb("search", "-j", "--path", "[draft]", "red").json) == ["a.md"]


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_filter_never_empties_a_result_that_exists(tmp_path, roomy_folder, mode):
    """The one document of its tag ranks last of 3,000 without the filter."""
    words = [f"red red red {number}" for number in range(3000)]
    built = choose(Embedding(model=str(roomy_folder)), None).built_with
    store.create(tmp_path / "store", built)
    best, worst = (tiny_model.TABLE[word] for word in ("red", "green"))
    with store.writing(tmp_path / "store") as writer:
        documents = [
            small_store.document("many", *words),
            small_store.document("one", "green " * 50 + "red", tags=("rare",)),
        ]
        for document, vector in zip(documents, (best, worst), strict=True):
            with writer.transaction() as seq:
                rows = {chunk.text_hash: unit(vector) for chunk in document.chunks}
                writer.insert(document, rows, built.model_key, seq=seq)

    kb = partial(running.here, tmp_path, "search", "-j", "--mode", mode, KB_MODEL=roomy_folder)

    assert "one" not in names(kb("-n", 1000, "red").json)
    assert names(kb("--tag", "rare", "red").json) == ["one"]
    assert names(kb("--group", "-n", 2, "red").json) == ["many", "one"]


def unit(row):
    import numpy as np

    vector = np.array(row, np.float32)
    return vector / np.linalg.norm(vector)


# Options


def test_group_gives_a_document_once(kb, tmp_path):
    running.write(tmp_path / "docs", {"a.md": "\n\n".join(f"# {n}\n\n{'red ' * 60}" for n in range(4)), "b.md": "red"})
    kb("add", "docs", "-r")

    assert len(kb("search", "-j", "red").json["results"]) == 5
    assert sorted(names(kb("search", "-j", "--group", "red").json)) == ["a.md", "b.md"]


def test_min_score_leaves_out_what_scores_less(ask):
    scores = [hit["score"] for hit in ask("--mode", "keyword", "red stone")["results"]]
    limit = scores[1]

    answer = ask("--mode", "keyword", "--min-score", limit, "red stone")

    assert [hit["score"] for hit in answer["results"]] == [score for score in scores if score >= limit]


def test_several_queries_are_answered_in_their_order(ask):
    answer = ask("--also", "lamp", "--also", "unheardof", "--mode", "keyword", "river")

    assert [one["query"] for one in answer["answers"]] == ["river", "lamp", "unheardof"]
    assert names(answer["answers"][1]) == ["lamp.txt"]
    assert any("unheardof" in warning for warning in answer["warnings"])
    assert answer["confidence"] == max(one["confidence"] for one in answer["answers"])  # as words: strong, weak, none


def test_several_queries_are_one_list_by_the_best_score_and_a_part_of_the_others(ask):
    answer = ask("--also", "green lamp", "--also", "unheardof", "red stone")

    singles = [{hit["chunk_id"]: hit for hit in one["results"]} for one in answer["answers"]]
    assert {hit["chunk_id"] for hit in answer["fused"]} == set().union(*singles)
    scores = [hit["score"] for hit in answer["fused"]]
    assert scores == sorted(scores, reverse=True)
    for hit in answer["fused"]:
        found = [single[hit["chunk_id"]] for single in singles if hit["chunk_id"] in single]
        best, *others = sorted((one["score"] for one in found), reverse=True)
        assert hit["score"] == pytest.approx(0.7 * best + 0.3 * sum(others) / 2, abs=2e-6)
        assert hit["score"] == pytest.approx(sum(part["contribution"] for part in hit["found_by"]), abs=1e-6)
        assert hit["source"] == found[0]["source"]
        for name in ("fts", "vector"):
            said = [one["score_breakdown"][name] for one in found if one["score_breakdown"][name] is not None]
            assert hit["score_breakdown"][name] == max(said, default=None)
        for part in hit["found_by"]:
            ranked = list(singles[part["query"]])
            assert ranked[part["rank"] - 1] == hit["chunk_id"]


def test_the_fused_list_is_filtered_and_bounded_as_the_answers_are(ask):
    answer = ask("-n", 1, "--also", "lamp", "--min-score", 0.2, "--mode", "keyword", "river")

    assert len(answer["fused"]) == 1
    assert ask("--also", "lamp", "--min-score", 0.99, "--mode", "keyword", "river")["fused"] == []


def test_a_query_may_say_how_it_is_asked(ask):
    answer = ask("--also", "keyword: lamp", "--also", "semantic:lamp", "--also", "note: lamp", "river")

    told = [(one["query"], one["mode"]) for one in answer["answers"]]
    assert told == [("river", "hybrid"), ("lamp", "keyword"), ("lamp", "semantic"), ("note: lamp", "hybrid")]


def test_a_person_sees_the_hits_of_several_queries_as_one_list(library, roomy_folder):
    arguments = ("--format", "human", "--mode", "keyword", "river", "--also", "unheardof", "--also", "lamp")

    ran = running.here(library, "search", *arguments, KB_MODEL=roomy_folder)

    assert ran.stdout.startswith("== river + unheardof + lamp ==\n1. ")
    assert {"River", "lamp"} == {line.split()[1] for line in ran.stdout.splitlines() if line[:2] in {"1.", "2."}}
    assert ran.stdout.endswith("Nothing found for: unheardof\n")
    assert 'no document has "unheardof"' in ran.stderr


def test_a_query_may_come_in_several_arguments(ask):
    assert ask("red", "heat")["query"] == "red heat"


def test_the_format_is_json_unless_told_otherwise_or_on_a_terminal(library, roomy_folder):
    run = partial(running.here, library, "search", "river", KB_MODEL=roomy_folder)

    assert run().stdout.startswith("{")
    assert run("--format", "human").stdout.startswith("1. ")
    assert run(KB_DEFAULT_FORMAT="human").stdout.startswith("1. ")
    assert run("-j", "--format", "human").stdout.startswith("{")


# Stale documents


def test_an_edited_and_a_deleted_file_are_stale(kb, tmp_path):
    folder = running.write(tmp_path / "docs", {"a.md": "red one", "b.md": "red two", "c.md": "red three"})
    kb("add", folder, "-r")
    (folder / "a.md").write_text("changed")
    (folder / "b.md").unlink()

    hits = kb("search", "-j", "red").json["results"]

    assert {hit["source"]["title"]: hit["source"]["stale"] for hit in hits} == {"a": True, "b": True, "c": False}


def test_a_removed_document_is_found_no_more(kb, tmp_path):
    folder = running.write(tmp_path / "docs", {"a.md": "red one", "b.md": "red two"})
    kb("add", folder, "-r")

    kb("remove", folder / "a.md")

    for mode in ("keyword", "semantic", "hybrid"):
        assert names(kb("search", "-j", "--mode", mode, "red").json) == ["b.md"]


# Models


@pytest.fixture
def gone(tmp_path):
    """A store built with a model whose folder was removed since; `gone()` gives the folder back."""
    folder = tiny_model.write_model(tmp_path / "model")
    running.write(tmp_path / "docs", {"a.md": "red"})
    running.here(tmp_path, "add", "docs", "-r", KB_MODEL=folder)
    shutil.move(folder, tmp_path / "away")
    return lambda: shutil.move(tmp_path / "away", folder)


@pytest.mark.parametrize("named", ["./model", "", None])
def test_without_its_model_hybrid_falls_back_to_words_and_says_so(gone, tmp_path, named):
    answer = running.here(tmp_path, "search", "-j", "red", KB_MODEL=named or "").json

    assert (answer["mode"], names(answer)) == ("keyword", ["a.md"])
    assert answer["warnings"][0].startswith("searched by words only: There is no model folder")


def test_without_its_model_semantic_is_an_error_of_the_model(gone, tmp_path):
    ran = running.here(tmp_path, "search", "-j", "--mode", "semantic", "red")

    assert ran.code == 6
    assert ran.json["error"]["code"] == "ModelMissing"


def test_a_well_known_model_that_is_not_here_names_the_command_that_fetches_it(tmp_path):
    cache = {"KB_MODEL": "bge-small-en-v1.5", "HF_HUB_CACHE": tmp_path / "empty"}
    running.write(tmp_path / "docs", {"a.md": "red"})

    added = running.here(tmp_path, "add", "docs", "-r", **cache)
    ran = running.here(tmp_path, "search", "-j", "--mode", "semantic", "red", **cache)

    assert added.code == 0
    assert "added without vectors, found by words only" in added.stderr
    assert ran.code == 6
    assert "kb init --model BAAI/bge-small-en-v1.5" in ran.json["error"]["hint"]


def test_documents_added_without_the_model_wait_until_reindex(gone, tmp_path):
    running.write(tmp_path / "docs", {"b.md": "green"})
    kb = partial(running.here, tmp_path)
    added = kb("add", "docs", "-r", "-j")
    assert added.json["warnings"][0].startswith("added without vectors")
    assert kb("status", "-j").json["waiting"] == 1
    assert kb("reindex").code == 6

    gone()

    assert kb("reindex", "-j").json["embedded"] == 1
    assert kb("status", "-j").json["waiting"] == 0
    assert names(kb("search", "-j", "--mode", "semantic", "green").json)[0] == "b.md"


def test_another_model_than_the_stores_is_refused_with_the_command_that_switches(library, tiny_folder, roomy_folder):
    for arguments in (["search", "-j", "red"], ["add", "-j", "docs", "-r"]):
        ran = running.here(library, *arguments, KB_MODEL=tiny_folder)

        assert (ran.code, ran.json["error"]["code"]) == (5, "ModelMismatch")
        assert str(tiny_folder) in ran.json["error"]["message"]
        assert str(roomy_folder) in ran.json["error"]["message"]
        assert f"kb reindex --model {tiny_folder}" in ran.json["error"]["hint"]


def test_words_can_be_searched_whatever_model_is_configured(library, tiny_folder):
    assert running.here(library, "search", "-j", "--mode", "keyword", "red", KB_MODEL=tiny_folder).code == 0


def test_requests_share_one_view_of_the_store(library, roomy_folder):
    requests = [Request(query=query, top=3, mode="keyword") for query in ("red", "lamp")]

    assert [answer.query for answer in search(library / "store", Settings(), requests)] == ["red", "lamp"]
