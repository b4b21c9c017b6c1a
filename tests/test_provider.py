"""`embedding.provider`: what is sent where, to what a store's vectors are bound, and that a service costs vectors, never documents."""

from __future__ import annotations

import json
import shutil
import struct

import pytest
import running
import tiny_model
from small_embedding_service import DIM, HTML, embedding_service, hanging_up, plainly, saying, silent, status

from index import builtwith, store, unembedded, vectors

FILES = {"docs/a.txt": "red stone", "docs/b.txt": "green leaf", "docs/c.txt": "blue sea"}


class Kb:
    """`kb` in a folder with three documents, asking the service unless a variable says otherwise."""

    def __init__(self, folder, service, provider="openai"):
        self.folder = running.write(folder, FILES)
        self.service = service
        self.variables = {
            "KB_PROVIDER": provider, "KB_MODEL": "small", "KB_EMBEDDING_URL": service.url, "KB_RETRIES": 0,
            "KB_EMBEDDING_TIMEOUT_S": 5,
        }  # fmt: skip

    def __call__(self, *arguments, **variables):
        return running.here(self.folder, *arguments, **{**self.variables, **variables})

    def json(self, *arguments, code=0, **variables):
        ran = self(*arguments, "-j", **variables)
        assert ran.code == code, ran
        return ran.json

    def add(self, **variables):
        return self.json("add", "docs", "-r", **variables)

    def nearest(self, query, **variables):
        answer = self.json("search", query, "--mode", "semantic", **variables)
        return [hit["text"] for hit in answer["results"]]

    def is_sound(self, **variables):
        checks = self.json("doctor", **variables)["checks"]
        return [check for check in checks if not check["ok"]] == []

    def built(self):
        with store.reading(self.folder / "store") as reader:
            return builtwith.built_with(reader.connection)


@pytest.fixture
def service():
    with embedding_service() as server:
        yield server


@pytest.fixture
def kb(tmp_path, service):
    return Kb(tmp_path, service)


# What is sent, and to whom


def test_nothing_is_sent_unless_a_provider_is_set(tmp_path, service, roomy_folder):
    """Not even where an address and a key are."""
    kb = Kb(tmp_path, service)
    quiet = {"KB_PROVIDER": "", "KB_MODEL": roomy_folder, "KB_EMBEDDING_KEY": "secret"}
    kb.add(**quiet)
    kb("search", "red", **quiet)
    kb("reindex", **quiet)
    state = kb.json("status", **quiet)["embedding"]

    assert service.seen == []
    assert state == {"provider": "onnx", "url": "", "available": True, "reason": ""}


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_documents_are_found_by_what_the_service_makes_of_them(tmp_path, service, provider):
    """In processes of their own, as a user has it."""
    kb = Kb(tmp_path, service, provider)
    added = running.process(tmp_path, "add", "docs", "-r", "-j", **kb.variables)
    found = running.process(tmp_path, "search", "sea blue", "-j", **kb.variables)

    assert (added.code, found.code) == (0, 0), (added, found)
    assert (added.json["added"], added.json["embedded"], added.json["warnings"]) == (3, 3, [])
    assert (found.json["mode"], found.json["results"][0]["text"]) == ("hybrid", "blue sea")
    assert found.json["results"][0]["score_breakdown"]["vector"] == pytest.approx(1, abs=1e-5)
    assert sorted(service.texts) == sorted([*FILES.values(), "sea blue"])
    assert kb.is_sound()


def test_a_text_is_sent_once(kb, service):
    kb.add()
    shutil.copy(kb.folder / "docs/a.txt", kb.folder / "docs/again.txt")
    (kb.folder / "docs/again.txt").write_text("red stone\n")
    kb.add()
    kb("reindex")

    assert sorted(service.texts) == sorted(FILES.values())


def test_a_search_by_words_sends_nothing(kb, service):
    kb.add()
    sent = len(service.seen)

    assert kb.json("search", "red", "--mode", "keyword")["returned"] == 1
    assert len(service.seen) == sent


def test_config_and_status_say_where_texts_are_sent_and_no_password(kb, service):
    kb.add()
    config = kb.json("config", KB_EMBEDDING_KEY="s3cr3t")
    rows = {row["key"]: row for row in config["settings"]}
    state = kb.json("status")["embedding"]

    endpoint = f"{service.url}/v1/embeddings"
    assert rows["embedding.provider"]["note"] == f"all texts and queries are sent to {endpoint}"
    assert state == {"provider": "openai", "url": endpoint, "available": True, "reason": ""}
    assert config["warnings"] == []
    ran = kb("config", "-j", KB_EMBEDDING_URL="http://me:s3cr3t@127.0.0.1:1/?key=s3cr3t", KB_EMBEDDING_KEY="s3cr3t")
    assert "s3cr3t" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"KB_EMBEDDING_URL": ""}, "There is no key for api.openai.com. Set KB_EMBEDDING_KEY."),
        ({"KB_EMBEDDING_URL": "http://example.org", "KB_EMBEDDING_KEY": "k"}, "A key is not sent unencrypted to example.org"),
        ({"KB_EMBEDDING_URL": "http://me:hunter2@example.org"}, "The address 'http://example.org/v1/embeddings' is none"),
        ({"KB_EMBEDDING_URL": "example.org"}, "is none to embed at"),
        ({"KB_EMBEDDING_KEY": "two\nlines"}, "KB_EMBEDDING_KEY is no key"),
    ],
)  # fmt: skip
def test_where_nobody_can_be_asked_documents_go_in_without_vectors_and_say_why(kb, service, variables, why):
    added = kb.add(**variables)
    state = kb.json("status", **variables)["embedding"]
    found = kb.json("search", "red", **variables)

    assert (added["added"], added["embedded"], service.seen) == (3, 0, [])
    assert why in added["warnings"][0]
    assert "hunter2" not in json.dumps([added, state, found])
    assert (state["available"], why in state["reason"]) == (False, True)
    assert (found["mode"], found["returned"]) == ("keyword", 1)
    assert kb.json("reindex", code=6, **variables)["error"]["code"] == "ModelMissing"


def test_a_daemon_that_starts_sends_nothing(kb, service):
    """It answers a search of its own first, so that what it needs is loaded."""
    kb.add()
    sent = len(service.seen)
    try:
        assert running.process(kb.folder, "daemon", "start", **{**kb.variables, "KB_DAEMON": "on"}).code == 0
        assert len(service.seen) == sent
    finally:
        running.process(kb.folder, "daemon", "stop", **{**kb.variables, "KB_DAEMON": "on"})


# A service that fails


FAILURES = {
    "down": hanging_up,
    "busy": status(503),
    "slow": silent,
    "page": saying(HTML),
    "wrong": saying(b'{"data": []}'),
    "long": saying(b" " * 2_000_000),
    "refusing": status(401),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_service_that_fails_costs_vectors_and_no_document(kb, service, failure):
    """And as soon as it is well again, `kb reindex` makes them."""
    service.answer = FAILURES[failure]
    impatient = {"KB_EMBEDDING_TIMEOUT_S": 0.3, "KB_QUERY_TIMEOUT_S": 0.3}
    added = kb.add(**impatient)
    found = kb.json("search", "sea", **impatient)
    refused = kb.json("reindex", code=6, **impatient)["error"]

    assert (added["added"], added["embedded"], added["failed"]) == (3, 0, 0)
    assert added["warnings"][0].startswith("added without vectors, found by words only: 127.0.0.1 ")
    assert added["warnings"][0].endswith("Then: kb reindex")
    assert (found["mode"], [hit["text"] for hit in found["results"]]) == ("keyword", ["blue sea"])
    assert any(warning.startswith("searched by words only: ") for warning in found["warnings"])
    assert (refused["code"], "127.0.0.1" in refused["message"]) == ("EmbedderFailed", True)
    assert kb.json("search", "sea", "--mode", "semantic", code=6, **impatient)["error"]["exit_code"] == 6

    service.answer = plainly
    assert kb.json("reindex")["embedded"] == 3
    assert kb.nearest("blue sea")[0] == "blue sea"
    assert kb.is_sound()


def test_a_failing_service_is_asked_once_in_a_run(kb, service):
    """Not for each batch of documents again."""
    service.answer = status(503)
    kb.add(KB_INGESTION_BATCH_SIZE=1)

    assert len(service.seen) == 1


def test_what_the_service_made_before_it_failed_is_kept(kb, service):
    """Also by `kb reindex`, which goes on from there."""
    service.answers, service.answer = [plainly], status(503)
    one_by_one = {"KB_EMBEDDING_BATCH_SIZE": 1}

    assert kb.add(**one_by_one)["embedded"] == 1
    service.answers = [plainly]
    assert kb.json("reindex", code=6, **one_by_one)["error"]["code"] == "EmbedderFailed"
    service.answer = plainly
    assert kb.json("reindex", **one_by_one)["embedded"] == 1
    assert kb.is_sound()


def test_a_search_falls_back_to_words_while_the_service_is_down(kb, service):
    """In hybrid mode; who asks for meaning alone is told."""
    kb.add()
    service.answer = status(503)
    hybrid = kb.json("search", "sea", "--also", "stone")

    assert [answer["mode"] for answer in hybrid["answers"]] == ["keyword", "keyword"]
    assert [hit["text"] for hit in hybrid["answers"][0]["results"]] == ["blue sea"]
    assert "answers 503" in hybrid["warnings"][0]
    assert kb.json("search", "sea", "--mode", "semantic", code=6)["error"]["code"] == "EmbedderFailed"


def test_another_size_under_the_same_name_is_said_and_changes_nothing(kb, service):
    """Somebody put another model in the place of the first."""
    kb.add()
    service.dim = 8
    (kb.folder / "docs/d.txt").write_text("white snow")

    added, found = kb.add(), kb.json("search", "sea")

    assert (added["added"], added["embedded"]) == (1, 0)
    assert f"gave a vector of 8 numbers, not {DIM}" in added["warnings"][0]
    assert (found["mode"], found["returned"]) == ("keyword", 1)
    service.dim = DIM
    assert kb.is_sound()
    assert kb.json("reindex")["embedded"] == 1


# What a store is bound to


def test_the_first_vectors_say_of_which_size_they_are(kb, service):
    service.answer = status(503)
    kb.add()
    assert (kb.built().model_key, kb.built().embedding_dim) == ("openai:small", builtwith.UNKNOWN_DIM)
    service.answer = plainly
    kb.json("reindex")

    assert (kb.built().embedding_dim, kb.built().model_max_tokens) == (DIM, 512)
    assert kb.json("status")["rows"] == 3


def test_another_model_or_provider_is_a_mismatch_and_reindex_mends_it(kb, service, roomy_folder):
    """There and back, by what the settings say; what was embedded before is not sent again."""
    kb.add()
    others = (
        ({"KB_MODEL": "large"}, "openai:large"),
        ({"KB_PROVIDER": "ollama"}, "ollama:small"),
        ({"KB_PROVIDER": "onnx", "KB_MODEL": roomy_folder}, str(roomy_folder)),
    )
    for variables, name in others:
        refused = kb.json("search", "sea", code=5, **variables)["error"]
        assert refused["code"] == "ModelMismatch"
        assert f"kb reindex --model {name}" in refused["hint"]
        assert kb.json("reindex", "--model", name, **variables)["model"] == name
        assert kb.nearest("blue sea", **variables)[0] == "blue sea" or name == str(roomy_folder)
        assert kb.is_sound(**variables)
        assert kb.json("reindex")["reused"] == 3


def test_without_its_provider_the_store_of_a_service_is_a_mismatch(kb, service):
    """Its model alone is no reason to send anything. `kb reindex` goes back to a model on this machine."""
    kb.add()
    sent = len(service.seen)
    alone = {"KB_PROVIDER": "", "KB_MODEL": ""}
    refused = kb.json("search", "sea", code=5, **alone)["error"]

    assert "built with openai:small, the configuration says all-MiniLM-L6-v2" in refused["message"]
    assert "let embedding.provider and embedding.model name openai:small again" in refused["hint"]
    asked = kb.json("search", "sea", code=6, KB_PROVIDER="", KB_MODEL="openai:small")["error"]
    assert asked["message"] == "openai:small is the model of a service, and embedding.provider is onnx."
    assert len(service.seen) == sent
    assert kb.json("reindex", **alone)["model"] == "all-MiniLM-L6-v2"
    assert kb.is_sound(**alone)


def test_a_service_needs_the_name_of_a_model_once(kb, service):
    """Then the store knows it."""
    assert "no model is named" in kb.json("add", "docs", "-r", code=6, KB_MODEL="")["error"]["message"]
    kb.add()
    assert "of another service" in kb.json("reindex", "--model", "ollama:x", code=6)["error"]["message"]

    assert kb.nearest("blue sea", KB_MODEL="")[0] == "blue sea"
    assert kb.json("status", KB_MODEL="")["embedding"]["available"] is True


def test_the_address_is_not_part_of_what_a_store_is_bound_to(kb, service):
    """The same model may be served elsewhere."""
    kb.add()
    with embedding_service() as other:
        assert kb.nearest("blue sea", KB_EMBEDDING_URL=other.url)[0] == "blue sea"
        assert other.texts == ["blue sea"]


def test_the_configuration_keeps_the_name_that_the_service_knows(kb, service):
    kb.add()
    config = kb.folder / "store/config.yaml"
    text = "embedding:\n  provider: openai\n  model: {}\n"
    config.write_text(text.format("small"))
    quiet = {"KB_PROVIDER": "", "KB_MODEL": ""}

    assert kb.json("reindex", **quiet)["warnings"] == []
    assert config.read_text() == text.format("small")
    assert kb.json("reindex", "--model", "large", **quiet)["warnings"] == ["config.yaml: embedding.model is now large"]
    assert config.read_text() == text.format('"large"')
    assert kb.nearest("blue sea", **quiet)[0] == "blue sea"


def test_init_makes_the_store_and_fetches_nothing(kb, service):
    made = kb.json("init")

    assert (made["model"], made["model_path"], made["created"]) == (
        "openai:small",
        f"{service.url}/v1/embeddings",
        True,
    )
    assert service.seen == []
    assert kb.add()["embedded"] == 3


def test_an_interrupted_switch_goes_on_with_the_size_it_has_seen(kb, service):
    kb.add()
    service.answers, service.answer = [plainly], status(503)
    kb.json("reindex", "--model", "large", code=6, KB_MODEL="", KB_EMBEDDING_BATCH_SIZE=1)
    service.answer = plainly
    service.dim = 8

    refused = kb.json("reindex", "--model", "large", code=6, KB_MODEL="")["error"]["message"]
    assert f"gave a vector of 8 numbers, not {DIM}" in refused
    service.dim = DIM
    assert kb.json("reindex", "--model", "large", KB_MODEL="")["embedded"] == 2
    assert kb.is_sound(KB_MODEL="large")


# Texts that cannot be embedded


def marks(kb, key="openai:small"):
    with store.reading(kb.folder / "store") as reader:
        return unembedded.marked(reader.connection, key)


def test_a_text_that_cannot_be_embedded_is_marked_skipped_counted_and_tried_again_on_request(kb, service):
    service.poison = {"leaf": 400}
    added = kb.add()

    assert (added["added"], added["embedded"]) == (3, 2)
    said = "1 text cannot be embedded, and is found by words only: kb reindex --retry tries again"
    assert added["warnings"] == [said]
    assert marks(kb) == {vectors.text_hash("green leaf")}
    sent = len(service.seen)
    (kb.folder / "docs/again.txt").write_text("green leaf\n")
    assert kb.add()["added"] == 1
    assert kb.json("reindex")["unembedded"] == 1
    assert len(service.seen) == sent  # skipped from then on
    state = kb.json("status")
    assert (state["unembedded"], state["waiting"], said in state["warnings"]) == (1, 0, True)
    assert kb.json("search", "leaf")["returned"] >= 1  # by its words
    assert kb.is_sound()

    again = kb.json("reindex", "--retry")
    assert (again["embedded"], again["unembedded"], again["warnings"]) == (0, 1, [said])
    service.poison = {}
    mended = kb.json("reindex", "--retry")
    assert (mended["embedded"], mended["unembedded"], mended["warnings"]) == (1, 0, [])
    assert (marks(kb), kb.json("status")["unembedded"]) == (set(), 0)
    assert kb.nearest("green leaf")[0] == "green leaf"


def test_a_retry_with_the_service_down_leaves_the_text_waiting(kb, service):
    service.poison = {"leaf": 400}
    kb.add()
    service.answer = status(503)
    service.poison = {}

    assert kb.json("reindex", "--retry", code=6)["error"]["code"] == "EmbedderFailed"
    assert kb.json("status")["waiting"] == 1
    service.answer = plainly
    assert kb.json("reindex")["embedded"] == 1


def test_a_text_that_one_model_cannot_embed_does_not_hold_up_a_switch_to_another(kb, service):
    service.poison = {"leaf": 400}
    kb.add()
    switched = kb.json("reindex", "--model", "large", KB_MODEL="")

    assert (switched["embedded"], switched["unembedded"]) == (2, 1)
    assert marks(kb, "openai:large") == marks(kb) == {vectors.text_hash("green leaf")}
    kb.json("compact", KB_MODEL="")
    assert (marks(kb, "openai:large"), marks(kb)) == ({vectors.text_hash("green leaf")}, set())


def test_a_mark_goes_with_the_text_that_it_is_of(kb, service):
    service.poison = {"leaf": 400}
    kb.add()
    kb.json("remove", "docs/b.txt")
    assert kb.json("status")["unembedded"] == 0
    kb.json("compact")

    assert marks(kb) == set()


def test_a_model_on_this_machine_is_treated_alike(tmp_path, service):
    """Its graph gives no finite number for the word `huge`."""
    model = tiny_model.write_model(tmp_path / "model")
    graph = model / "onnx/model.onnx"
    graph.write_bytes(graph.read_bytes().replace(struct.pack("<f", 400.0), struct.pack("<f", float("nan"))))
    kb = Kb(tmp_path, service)
    here = {"KB_PROVIDER": "", "KB_MODEL": model}
    (kb.folder / "docs/d.txt").write_text("huge thing")

    added = kb.add(**here)

    assert (added["added"], added["embedded"], kb.json("status", **here)["unembedded"]) == (4, 3, 1)
    assert added["warnings"] == [
        "1 text cannot be embedded, and is found by words only: kb reindex --retry tries again"
    ]
    assert kb.json("reindex", "--retry", **here)["unembedded"] == 1
    assert kb.is_sound(**here)


def test_a_model_on_this_machine_that_gives_nothing_at_all_is_no_text_s_fault(tmp_path, service):
    model = tiny_model.write_model(tmp_path / "model")
    graph = model / "onnx/model.onnx"
    graph.write_bytes(graph.read_bytes().replace(struct.pack("<f", 1.0), struct.pack("<f", float("nan"))))
    refused = Kb(tmp_path, service).json("add", "docs", "-r", code=6, KB_PROVIDER="", KB_MODEL=model)["error"]

    assert refused["code"] == "ModelUnusable"
