"""Vectors from a service, against a real HTTP server: what is asked, what is accepted, what is tried again, what is given up."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest
from small_embedding_service import (
    DIM,
    HTML,
    cut_short,
    dripping,
    embedding_service,
    hanging_up,
    plainly,
    redirecting,
    saying,
    silent,
    status,
    unit,
)

from models.embedding_service import MOST_WAIT_S, EmbeddingService, pause_s
from models.errors import EmbedderFailed
from models.providers import PROVIDERS
from models.remote_embedder import HARMLESS, RemoteEmbedder
from models.service import address, is_private, shown
from models.spec import UNKNOWN_DIM, ModelSpec

TEXTS = ["red stone", "green leaf", "blue sea", "white snow", "black night"]


@pytest.fixture
def service():
    with embedding_service() as server:
        yield server


def embedder(service, provider="openai", *, dim=UNKNOWN_DIM, key="", retries=2, timeout_s=5.0, spec=None, **others):
    asked = EmbeddingService(
        provider=PROVIDERS[provider], url=address(PROVIDERS[provider].endpoint(service.url)), model="m",
        timeout_s=timeout_s, retries=retries, query_timeout_s=timeout_s, **{"first_wait_s": 0.01, **others},
    )  # fmt: skip
    spec = spec or ModelSpec(name=f"{provider}:m", dim=dim, max_tokens=512, pooling="mean")
    return RemoteEmbedder(spec, asked, key)


def expected(texts=TEXTS):
    return np.array([unit(text) for text in texts], np.float32)


# What is asked, and what is made of the answer


@pytest.mark.parametrize(
    ("provider", "path", "body"),
    [
        ("ollama", "/api/embed", {"model": "m", "input": TEXTS}),
        ("openai", "/v1/embeddings", {"model": "m", "input": TEXTS, "encoding_format": "float"}),
    ],
)
def test_each_provider_is_asked_in_its_own_way_and_gives_unit_rows_in_the_order_of_the_texts(
    service, provider, path, body
):
    """The server numbers OpenAI's vectors, and sends the last one first."""
    rows = embedder(service, provider).embed_passages(TEXTS)

    assert [(asked.path, asked.authorization, asked.body) for asked in service.seen] == [(path, None, body)]
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected(), atol=1e-6)


def test_texts_are_sent_a_batch_at_a_time_with_prefixes_and_the_key(service):
    spec = ModelSpec(name="openai:m", dim=DIM, max_tokens=512, pooling="mean", query_prefix="q: ", passage_prefix="p: ")
    made = embedder(service, spec=spec, key="secret")
    made.embed_passages(TEXTS, 2)
    made.embed_query("red")

    assert [asked.texts for asked in service.seen] == [
        ["p: red stone", "p: green leaf"], ["p: blue sea", "p: white snow"], ["p: black night"], ["q: red"],
    ]  # fmt: skip
    assert {asked.authorization for asked in service.seen} == {"Bearer secret"}


def test_a_query_that_is_asked_again_is_not_sent_again(service):
    made = embedder(service)

    np.testing.assert_array_equal(made.embed_query("red"), made.embed_query("red"))
    np.testing.assert_allclose(made.embed_query("red"), unit("red"), atol=1e-6)
    assert service.texts == ["red"]


def test_no_text_is_no_request(service):
    assert embedder(service).embed_passages([]).shape[0] == 0
    assert service.seen == []


def test_what_is_no_unicode_is_sent_as_a_question_mark(service):
    embedder(service).embed_passages(["red \udcff"])

    assert service.texts == ["red ?"]


# What is tried again


@pytest.mark.parametrize(
    "trouble",
    [
        status(429), status(500), status(502), status(503), status(504), status(408),
        status(429, Retry_After="0"), hanging_up, cut_short, silent, dripping,
    ],
    ids=["429", "500", "502", "503", "504", "408", "retry-after", "hanging up", "cut short", "silent", "dripping"],
)  # fmt: skip
def test_a_service_that_fails_twice_is_asked_a_third_time(service, trouble):
    service.answers = [trouble, trouble]

    rows = embedder(service, timeout_s=0.3).embed_passages(TEXTS)

    np.testing.assert_allclose(rows, expected(), atol=1e-6)
    assert len(service.seen) == 3


def test_a_service_that_is_not_there_is_asked_as_often_and_no_more():
    with embedding_service() as server:
        pass

    with pytest.raises(EmbedderFailed, match=r"^127\.0\.0\.1 does not answer: .*refused, 3 times\.$"):
        embedder(server).embed_passages(TEXTS)


def test_a_service_that_stays_busy_is_given_up(service):
    service.answer = status(503)

    with pytest.raises(EmbedderFailed, match=r"answers 503 Service Unavailable: of the test, 3 times\.$"):
        embedder(service).embed_passages(TEXTS)
    assert len(service.seen) == 3


def test_the_wait_that_the_service_wants_is_kept_instead_of_the_growing_one(service):
    """Ten minutes would be the growing one."""
    service.answers = [status(503, Retry_After="0")]

    embedder(service, first_wait_s=600).embed_passages(TEXTS)

    assert len(service.seen) == 2


def test_a_wait_is_seconds_or_a_date_and_never_longer_than_a_person_would_wait():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20))

    assert pause_s(1.0, "7") == 7.0
    assert 10 < pause_s(1.0, soon) <= 20
    assert pause_s(1.0, "3600") == MOST_WAIT_S
    assert pause_s(1e9, "") == MOST_WAIT_S
    for nonsense in ("", "soon", "nan", "inf", "Mon, 30 Nov 2026 00:00:00"):
        assert pause_s(1.5, nonsense) == 1.5
    assert pause_s(1.0, "-5") == 0.0


def test_a_service_that_cannot_encrypt_is_not_tried_again(service):
    """Nor is one whose certificate is not to be trusted."""
    service.url = service.url.replace("http:", "https:")

    with pytest.raises(EmbedderFailed, match=r"^127\.0\.0\.1 cannot be reached: "):
        embedder(service, first_wait_s=600).embed_passages(TEXTS)


@pytest.mark.parametrize("code", [401, 403, 404, 405, 302])
def test_what_another_try_does_not_mend_is_not_tried_again(service, code):
    service.answer = status(code)

    with pytest.raises(EmbedderFailed, match=str(code)):
        embedder(service).embed_passages(TEXTS)
    assert len(service.seen) == 1


def test_a_redirect_is_not_followed(service):
    """The text would go to somebody whom the settings do not name."""
    with embedding_service() as other:
        service.answer = redirecting(f"{other.url}/v1/embeddings")
        with pytest.raises(EmbedderFailed, match="redirects are not followed"):
            embedder(service, key="secret").embed_passages(TEXTS)

    assert other.seen == []


def test_a_query_is_tried_once_and_a_service_that_failed_one_is_not_asked_another(service):
    service.answer = status(503)
    made = embedder(service)

    for _ in range(2):
        with pytest.raises(EmbedderFailed, match="503"):
            made.embed_query("red")
    assert len(service.seen) == 1


def test_a_query_that_is_refused_says_nothing_of_the_next_one(service):
    service.poison = {"bad": 400}
    made = embedder(service)

    with pytest.raises(EmbedderFailed, match="answers 400 Bad Request: this text is not to my liking"):
        made.embed_query("bad")
    np.testing.assert_allclose(made.embed_query("red"), unit("red"), atol=1e-6)


# Answers that are none


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (saying(b""), "gave no vectors"),
        (saying(HTML), "gave no vectors: JSON is malformed"),
        (saying(b"[]"), "gave no vectors: Expected `object`"),
        (saying(b'{"data": []}'), "gave 0 vectors for 5 texts"),
        (saying(b'{"data": [{"embedding": [1, 2], "index": 0}, {"embedding": [1, 2], "index": 1}]}'), "gave 2 vectors for 5"),
        (saying(b'{"data": [{"embedding": [1.0, 2.0], "index": 7}]}'), "not numbered from 0"),
        (saying(b'{"data": [{"embedding": "AAAA", "index": 0}]}'), "Expected `array`, got `str`"),
        (saying(b'{"data": "\xff"}'), "gave no vectors"),
        (saying(b'{"embeddings": [[1.0]]}'), "missing required field `data`"),
        (saying(b" " * 2_000_000), "too long"),
        (lambda handler, _: handler.wfile.write(b"this is no HTTP\r\n\r\n"), "gave no answer that can be read"),
        (status(400), "answers 400 Bad Request: of the test"),
        (status(500), "answers 500 Internal Server Error: of the test"),
    ],
)  # fmt: skip
def test_a_service_that_answers_nothing_of_use_is_one_clear_error_and_no_text_s_fault(service, answer, said):
    service.answer = answer
    made = embedder(service, retries=0)

    with pytest.raises(EmbedderFailed) as failed:
        made.embed_passages(TEXTS)

    assert said in failed.value.message
    assert "\n" not in failed.value.message
    assert failed.value.hint.startswith("Check embedding.url")
    assert made.refused == {}
    assert service.texts == [*TEXTS, HARMLESS]


@pytest.mark.parametrize("numbers", [[], [1.0], [0.0] * DIM, [None] * DIM, [1e300] * DIM])
def test_a_service_of_which_no_vector_can_be_used_is_no_text_s_fault(service, numbers):
    service.changed = lambda *_: numbers
    made = embedder(service)

    with pytest.raises(EmbedderFailed, match="gave a vector"):
        made.embed_passages(TEXTS)
    assert made.refused == {}


def test_vectors_of_another_size_than_the_store_s_are_an_error_that_says_both(service):
    with pytest.raises(EmbedderFailed, match=f"gave a vector of {DIM} numbers, not 384"):
        embedder(service, dim=384).embed_passages(TEXTS)
    with pytest.raises(EmbedderFailed, match=f"gave a vector of {DIM} numbers, not 384"):
        embedder(service, dim=384).embed_query("red")


# One text among others


def nan_literal(handler, content):
    """As servers in Python write it, and JSON does not know it."""
    plainly(handler, content.replace(b'"nan"', b"NaN"))


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ({"poison": {"bad": 400}}, "answers 400 Bad Request: this text is not to my liking"),
        ({"poison": {"bad": 413}}, "answers 413"),
        ({"poison": {"bad": 500}}, "answers 500"),  # Ollama, where the vector is not finite
        ({"changed": lambda text, row: [None, *row[1:]] if "bad" in text else row}, "not finite"),
        ({"changed": lambda text, row: [0.0] * DIM if "bad" in text else row}, "not finite"),
        ({"changed": lambda text, row: row[:3] if "bad" in text else row}, f"3 numbers, not {DIM}"),
        ({"changed": lambda text, row: ["nan"] if "bad" in text else row, "answer": nan_literal}, "malformed"),
    ],
    ids=["400", "413", "500", "null", "zero", "size", "NaN"],
)
@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_text_that_cannot_be_embedded_costs_no_other_its_vector(service, trouble, said, place):
    for name, value in trouble.items():
        setattr(service, name, value)
    texts = [*TEXTS[:place], "bad", *TEXTS[place:]]
    made = embedder(service, dim=DIM, retries=0)

    rows = made.embed_passages(texts)

    assert np.isnan(rows[place]).all()
    np.testing.assert_allclose(np.delete(rows, place, 0), expected(), atol=1e-6)
    assert list(made.refused) == ["bad"]
    assert said in made.refused["bad"]


def test_a_text_alone_in_its_batch_is_told_from_a_broken_service(service):
    service.poison = {"bad": 400}
    made = embedder(service)

    assert np.isnan(made.embed_passages(["bad"])).all()
    assert service.texts == ["bad", HARMLESS]


def test_several_are_found_with_a_few_requests(service):
    """Two of 32: halving takes at most twice as many requests as there are levels, two texts share some."""
    service.poison = {"bad": 400}
    texts = [f"word{number}" for number in range(32)]
    texts[3] = texts[20] = "bad"

    rows = embedder(service).embed_passages(texts)

    assert np.flatnonzero(np.isnan(rows).any(axis=1)).tolist() == [3, 20]
    assert len(service.seen) < 25


def only_one(handler, content):
    """The first text's vector, whatever else was sent."""
    plainly(handler, json.dumps({"embeddings": json.loads(content)["embeddings"][:1]}).encode())


def test_a_service_that_takes_one_text_at_a_time_is_given_one_at_a_time(service):
    service.answer = only_one

    np.testing.assert_allclose(embedder(service, "ollama").embed_passages(TEXTS), expected(), atol=1e-6)


# Secrets and addresses


@pytest.mark.parametrize(
    ("key", "said", "hint"), [("", "wants a key", "Set"), ("s3cr3t", "does not accept", "Correct")]
)
def test_a_key_that_is_missing_or_wrong_is_said_once_and_never_shown(service, key, said, hint):
    """The server repeats the key in its answer."""
    service.key = "another"

    with pytest.raises(EmbedderFailed) as failed:
        embedder(service, key=key).embed_passages(TEXTS)

    assert said in failed.value.message
    assert failed.value.hint == f"{hint} KB_EMBEDDING_KEY."
    assert "s3cr3t" not in failed.value.message
    assert len(service.seen) == 1


@pytest.mark.parametrize(
    ("provider", "url", "endpoint"),
    [
        ("ollama", "", "http://127.0.0.1:11434/api/embed"),
        ("ollama", "http://box:1/", "http://box:1/api/embed"),
        ("ollama", "http://box:1/api", "http://box:1/api/embed"),
        ("ollama", "http://box:1/api/embed", "http://box:1/api/embed"),
        ("openai", "", "https://api.openai.com/v1/embeddings"),
        ("openai", "https://host/v1", "https://host/v1/embeddings"),
        ("openai", "https://host/v1/", "https://host/v1/embeddings"),
        ("openai", "https://host/other/embeddings", "https://host/other/embeddings"),
    ],
)
def test_an_address_may_be_given_with_as_much_of_its_path_as_one_likes(provider, url, endpoint):
    assert PROVIDERS[provider].endpoint(url) == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host",
        "ftp://host",
        "https://",
        "http://a:b/",
        "http://me:pass@host",
        "http://h:0",
        "http://h/a b",
        "http://h/ä",
    ],
)
def test_what_is_no_address_or_carries_a_password_is_refused(url):
    assert address(url) is None


def test_an_address_is_private_where_nobody_on_the_way_can_read():
    private = ["https://example.org", "http://127.0.0.1:1", "http://localhost", "http://[::1]:1"]

    assert [is_private(address(url)) for url in private] == [True] * 4
    assert not is_private(address("http://example.org"))


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("http://me:pass@host:1/a?key=b#c", "http://host:1/a"), ("https://host/a/b", "https://host/a/b"),
        ("me:pass@host/a", "host/a"), ("", ""),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_what_may_be_secret(url, printed):
    assert shown(url) == printed


def test_rows_are_of_unit_length_whatever_the_service_scales_them_to(service):
    service.changed = lambda _, vector: [number * 1e6 for number in vector]

    rows = embedder(service).embed_passages(TEXTS)

    assert all(math.isclose(np.linalg.norm(row), 1, abs_tol=1e-6) for row in rows)
