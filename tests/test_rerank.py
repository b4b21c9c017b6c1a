"""Reranking: what is blended and how, and that nothing that goes wrong with a reranker changes anything but `warnings`."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import perf_counter

import pytest
import running
from hypothesis import given
from hypothesis import strategies as st
from small_hub import small_hub
from tiny_model import write_json
from tiny_reranker import NUMBERS, score, write_reranker

from kb import __version__
from kb.daemon.answering import Request, reply
from kb.rerank import NotReranked, blend, read

FILES = {"a.txt": "red red stone", "b.txt": "red green", "c.txt": "red huge thing", "d.txt": "something else"}
LATER = 1e9


# The blend


def test_the_fused_score_weighs_less_further_down():
    weights = [hit.weight for hit in blend([(number, 1.0) for number in range(1, 13)], {}).values()]

    assert weights == [0.75] * 3 + [0.60] * 7 + [0.40] * 2


@given(
    st.lists(st.floats(0, 1), max_size=60).map(lambda scores: list(enumerate(sorted(scores, reverse=True)))),
    st.dictionaries(st.integers(0, 60), st.floats(0, 1)),
)
def test_a_blend_is_a_ranking_of_the_same_hits_by_the_sum_of_its_parts(ranked, scores):
    blended = blend(ranked, scores)

    assert blended.keys() == {item for item, _ in ranked}
    assert list(blended) == sorted(blended, key=lambda item: (-blended[item].score, item))
    for item, hit in blended.items():
        assert hit.fused == dict(ranked)[item]
        assert hit.score == hit.weight * hit.fused + (1 - hit.weight) * scores.get(item, 0.0)
        assert 0 <= hit.score <= 1


# What a reranker may say


class Given:
    def __init__(self, *scores):
        self.given = scores

    def scores(self, query, passages):
        yield from self.given


class Slow:
    def scores(self, query, passages):
        for place in range(len(passages)):
            time.sleep(0.02)
            yield place, 0.5


class Broken:
    def scores(self, query, passages):
        yield 0, 0.5
        raise ZeroDivisionError("of its own")


PASSAGES = {7: "red", 9: "green"}


def test_scores_are_by_id_in_whatever_order_they_come():
    assert read(Given((1, 0.25), (0, 1.0)), "q", PASSAGES, LATER) == {7: 1.0, 9: 0.25}


@pytest.mark.parametrize(
    ("reranker", "why"),
    [
        (Given((0, math.nan), (1, 0.5)), "the score nan"),
        (Given((0, 1.5), (1, 0.5)), "the score 1.5"),
        (Given((-1, 0.5), (1, 0.5)), "passage -1 of 2"),
        (Given((2, 0.5), (1, 0.5)), "passage 2 of 2"),
        (Given((1, 0.5)), "gave scores to 1 of 2"),
        (Given(), "gave scores to 0 of 2"),
        (Broken(), "ZeroDivisionError: of its own"),
    ],
)
def test_whatever_it_says_or_raises_is_a_reason_not_to_rerank(reranker, why):
    with pytest.raises(NotReranked, match=why):
        read(reranker, "q", PASSAGES, LATER)


def test_when_the_time_is_up_the_rest_is_not_waited_for():
    with pytest.raises(NotReranked, match="when the time was up") as caught:
        read(Slow(), "q", dict.fromkeys(range(1000), "red"), perf_counter() + 0.1)

    assert int(str(caught.value).split()[3]) < 100  # twenty seconds would be all


# As a user has it


@pytest.fixture(scope="module")
def library(tmp_path_factory, roomy_folder):
    folder = tmp_path_factory.mktemp("library")
    running.write(folder / "docs", FILES)
    assert running.here(folder, "add", "docs", "-r", KB_MODEL=roomy_folder).code == 0
    return folder


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return write_reranker(tmp_path_factory.mktemp("models") / "reranker")


@pytest.fixture
def kb(library, roomy_folder, reranker):
    """Run kb over the library; variables in capitals."""

    def run(*arguments, **variables):
        return running.here(library, *arguments, **{"KB_MODEL": roomy_folder, "KB_RERANK_MODEL": reranker, **variables})

    return run


@pytest.fixture
def ask(kb):
    def asked(*arguments, **variables):
        ran = kb("search", "-j", *arguments, "red", **variables)
        assert ran.code == 0, ran
        return ran.json

    return asked


def names(answer):
    return [Path(hit["source"]["path"]).name for hit in answer["results"]]


def told(answer):
    """All but the time, and the warnings apart."""
    return {name: value for name, value in answer.items() if name not in {"took_ms", "warnings"}}


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_the_reranker_decides_with_the_searches(ask, mode):
    plain, reranked = ask("--mode", mode), ask("--mode", mode, "--rerank")

    assert reranked["warnings"] == plain["warnings"]
    before = {hit["chunk_id"]: hit["score"] for hit in plain["results"]}
    words = {"a.txt": "red", "b.txt": "green", "c.txt": "huge", "d.txt": "[UNK]"}
    places = {hit["chunk_id"]: place for place, hit in enumerate(plain["results"], start=1)}
    for name, hit in zip(names(reranked), reranked["results"], strict=True):
        weight = 0.75 if places[hit["chunk_id"]] <= 3 else 0.60
        expected = weight * before[hit["chunk_id"]] + (1 - weight) * score(words[name])
        assert hit["score"] == pytest.approx(expected, abs=2e-6)
    scores = [hit["score"] for hit in reranked["results"]]
    assert scores == sorted(scores, reverse=True)


def test_only_the_candidates_are_read(ask):
    found = {
        hit["chunk_id"]: hit["explain"]["rerank"]
        for hit in ask("--rerank", "--explain", KB_RERANK_CANDIDATES=1)["results"]
    }

    assert sum(part["score"] is not None for part in found.values()) == 1
    assert all(part["contribution"] == 0 for part in found.values() if part["score"] is None)


def test_the_setting_reranks_unless_told_otherwise(ask):
    by_setting = ask(KB_RERANK="on")

    assert told(by_setting) == told(ask("--rerank"))
    assert told(ask("--no-rerank", KB_RERANK="on")) == told(ask())
    assert told(by_setting) != told(ask())


def test_what_is_not_here_is_said_and_changes_nothing(ask):
    answer = ask("--rerank", KB_RERANK_MODEL="bge-reranker-base", HF_HUB_CACHE="/nowhere")

    assert told(answer) == told(ask())
    [warning] = [warning for warning in answer["warnings"] if "rerank" in warning]
    assert warning.startswith("not reranked: The reranker BAAI/bge-reranker-base is not on this machine.")
    assert "kb init --rerank BAAI/bge-reranker-base" in warning


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"numbers": dict.fromkeys(NUMBERS, math.nan)}, "the score nan"),
        ({"labels": 2}, "tells 2 labels apart"),
        ({"outputs": ("one", "two")}, "unlike a cross-encoder"),
    ],
)
def test_a_model_that_cannot_serve_changes_nothing_but_the_warnings(ask, tmp_path, options, why):
    answer = ask("--rerank", KB_RERANK_MODEL=write_reranker(tmp_path / "other", **options))

    assert told(answer) == told(ask())
    assert why in answer["warnings"][-1]


def test_a_damaged_model_changes_nothing_but_the_warnings(ask, tmp_path):
    folder = write_reranker(tmp_path / "other")
    (folder / "onnx/model.onnx").write_bytes(b"\0" * 100)

    answer = ask("--rerank", KB_RERANK_MODEL=folder)

    assert told(answer) == told(ask())
    assert "cannot be loaded" in answer["warnings"][-1]


def test_too_little_time_changes_nothing_but_the_warnings(ask):
    answer = ask("--rerank", KB_RERANK_TIMEOUT_S=1e-9)

    assert told(answer) == told(ask())
    assert "when the time was up" in answer["warnings"][-1]


def test_an_answer_of_nothing_is_not_reranked(kb):
    answer = kb("search", "-j", "--rerank", "--tag", "unheard", "red").json

    assert (answer["results"], answer["warnings"]) == ([], ["no document passes the filters"])


def test_the_daemon_reranks_with_what_its_caller_says_where_the_caller_stands(library, roomy_folder, reranker):
    """A model named by a relative path, in a variable of the request."""
    arguments = ("search", "-j", "--rerank", "--explain", "red", "--also", "keyword:green")
    variables = {"KB_MODEL": roomy_folder, "KB_RERANK_MODEL": f"./{reranker.name}"}
    environ = {**{name: str(value) for name, value in variables.items()}, "HOME": os.environ["HOME"]}

    frames = reply(Request(__version__, "run", False, str(reranker.parent), arguments, environ), library / "store")

    answer = json.loads(frames[5 : 5 + int.from_bytes(frames[1:5], "little")])
    own = running.here(library, *arguments, **{**variables, "KB_RERANK_MODEL": reranker}).json
    assert answer["fused"] == own["fused"]
    assert [told(one) for one in answer["answers"]] == [told(one) for one in own["answers"]]
    assert answer["answers"][0]["results"][0]["explain"]["rerank"]["score"] is not None


def test_status_says_whether_there_is_one(kb, reranker):
    here = kb("status", "-j").json["rerank"]
    away = kb("status", "-j", KB_RERANK_MODEL="./nowhere", KB_RERANK="on").json["rerank"]

    assert here == {"enabled": False, "model": str(reranker), "url": "", "available": True, "reason": ""}
    assert (away["enabled"], away["available"]) == (True, False)
    assert "is not on this machine" in away["reason"]
    assert "available True" in kb("status").stdout


# A reranker on another machine


class Service(BaseHTTPRequestHandler):
    """Gives the length of a text over 100 as its score; what the test wants to see is in `seen`."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, self.headers["Authorization"], asked))
        results = [{"index": n, "relevance_score": len(text) / 100} for n, text in enumerate(asked["documents"])]
        self.server.answer(self, json.dumps({"model": asked["model"], "results": results[::-1]}).encode())

    def log_message(self, format, *args):  # noqa: A002  the base class's name
        pass


def plainly(handler, content, status=200):
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


class Server(ThreadingHTTPServer):
    daemon_threads, block_on_close = True, False

    def handle_error(self, request, client_address):
        """Callers that went away are what some tests are about."""


@contextmanager
def service(answer=plainly):
    with Server(("127.0.0.1", 0), Service) as server:
        server.answer, server.seen = answer, []
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_port}/v1/rerank"
        finally:
            server.shutdown()
            thread.join()


def test_a_service_is_asked_with_the_key_and_blended_alike(ask):
    with service() as (server, url):
        answer = ask("--rerank", "--explain", KB_RERANK_URL=url, KB_RERANK_KEY="secret", KB_RERANK_MODEL="jina-v2")

    [(path, authorization, asked)] = server.seen
    assert (path, authorization, asked["model"], asked["query"]) == ("/v1/rerank", "Bearer secret", "jina-v2", "red")
    assert sorted(asked["documents"]) == sorted(FILES.values())
    assert [hit["explain"]["rerank"]["score"] for hit in answer["results"]] == [
        len(hit["text"]) / 100 for hit in answer["results"]
    ]


def test_without_its_key_a_service_is_not_asked(ask, kb):
    with service() as (server, url):
        answer = ask("--rerank", KB_RERANK_URL=url)
        status = kb("status", "-j", KB_RERANK_URL=url).json["rerank"]

    assert server.seen == []
    assert told(answer) == told(ask())
    assert answer["warnings"][-1] == "not reranked: there is no key for 127.0.0.1: set KB_RERANK_KEY"
    assert (status["url"], status["available"]) == (url, False)


def test_a_service_is_not_asked_unless_somebody_wants_it_to_rerank(ask):
    with service() as (server, url):
        ask(KB_RERANK_URL=url, KB_RERANK_KEY="secret")

    assert server.seen == []


@pytest.mark.parametrize(
    "url", ["http://example.org/v1/rerank", "ftp://127.0.0.1/", "https://", "https://a:b/", "rerank"]
)
def test_a_key_goes_to_no_other_machine_in_the_clear(ask, url):
    answer = ask("--rerank", KB_RERANK_URL=url, KB_RERANK_KEY="secret")

    assert told(answer) == told(ask())
    assert "is none to rerank at" in answer["warnings"][-1]


def slowly(handler, content):
    handler.send_response(200)
    handler.end_headers()
    for at in range(len(content)):
        handler.wfile.write(content[at : at + 1])
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (partial(plainly, status=500), "status 500"),
        (partial(plainly, status=302), "status 302"),
        (lambda handler, _: plainly(handler, b"no json"), "did not rerank"),
        (lambda handler, _: plainly(handler, b'{"results": []}'), "gave scores to 0 of 4"),
        (lambda handler, _: plainly(handler, b'{"results": [{"index": 0, "relevance_score": 7}]}'), "the score 7"),
        (lambda handler, _: plainly(handler, b" " * 5_000_000), "too long"),
        (lambda handler, _: handler.connection.close(), "did not rerank"),
        (lambda *_: time.sleep(1), "timed out"),
        (slowly, "takes too long"),
    ],
)  # fmt: skip
def test_whatever_a_service_answers_changes_nothing_but_the_warnings(ask, answer, why):
    with service(answer) as (_, url):
        given = ask("--rerank", KB_RERANK_URL=url, KB_RERANK_KEY="secret", KB_RERANK_TIMEOUT_S=0.5)

    assert told(given) == told(ask())
    assert why in given["warnings"][-1]
    assert "secret" not in json.dumps(given)


def test_a_service_that_is_not_there_changes_nothing_but_the_warnings(ask):
    with service() as (_, url):
        pass

    given = ask("--rerank", KB_RERANK_URL=url, KB_RERANK_KEY="secret")

    assert told(given) == told(ask())
    assert "did not rerank" in given["warnings"][-1]


def test_the_key_is_no_setting_and_is_printed_nowhere(kb):
    ran = kb("config", "-j", KB_RERANK_KEY="secret")

    assert "secret" not in ran.stdout + ran.stderr
    assert not any("KB_RERANK_KEY" in warning for warning in ran.json["warnings"])


# Fetching


def init(home, hub, *arguments):
    """`kb init` in a process of its own, so that the hub's library reads where the hub is."""
    variables = {"HF_HOME": home / "hf", "HF_ENDPOINT": hub.url, "HOME": home, "HF_HUB_DISABLE_XET": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-m", "kb", "init", "-j", *arguments],
        env={**kept, **running.environment(home / "store", **variables)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_init_fetches_a_reranker_which_a_search_then_finds(tmp_path):
    with small_hub("org/reads", write_reranker(tmp_path / "repository")) as hub:
        code, answer = init(tmp_path, hub, "--rerank", "org/reads")
        again, _ = init(tmp_path, hub, "--rerank", "org/reads")

    assert (code, again) == (0, 0)
    assert answer["reranker"] == "org/reads"
    assert Path(answer["reranker_path"]).is_file()
    assert sorted(hub.asked_for) == ["config.json", "onnx/model.onnx", "tokenizer.json"]
    assert "search.rerank_model (KB_RERANK_MODEL) is org/reads" in answer["warnings"][0]
    status = running.here(tmp_path, "status", "-j", KB_RERANK_MODEL="org/reads", HF_HUB_CACHE=tmp_path / "hf/hub")
    assert status.json["rerank"]["available"]


def test_init_fetches_no_weights_of_what_is_no_reranker(tmp_path):
    repository = write_reranker(tmp_path / "repository", labels=2)
    write_json(repository / "modules.json", [])
    with small_hub("org/sorts", repository) as hub:
        code, answer = init(tmp_path, hub, "--rerank", "org/sorts")

    assert (code, answer["error"]["code"]) == (6, "ModelUnusable")
    assert "onnx/model.onnx" not in hub.asked_for


def test_init_without_rerank_takes_no_name(tmp_path):
    ran = running.here(tmp_path, "init", "org/reads")

    assert ran.code == 2
    assert "--rerank org/reads" in ran.stderr


def test_init_says_of_no_reranker_unless_asked(tmp_path):
    answer = running.here(tmp_path, "init", "-j").json

    assert (answer["reranker"], answer["reranker_path"]) == (None, None)
