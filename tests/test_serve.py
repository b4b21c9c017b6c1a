"""`kb serve`: a real server process and real clients. What is answered, what is refused, and what is never lost."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest
from running import environment, process
from serving import BEARER, TOKEN, read_from, serving

from index.errors import StoreLocked
from kb.errors import BadRequest, NoText, NotFound
from kb.serve.faults import REFUSALS, status_of
from kb.serve.table import OPERATIONS
from models.errors import ModelMissing

EVIL = "http://evil.example"
WRITES = [one for one in OPERATIONS if one.changes]
APPLES = b"# Apples\n\nApples keep in a cool cellar until March.\n"
GB = 1_000_000_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory, roomy_folder):
    """One server with one document, which the tests that are given it leave as it is: apples.md, tagged fruit."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder / "store", cwd=folder, KB_MODEL=roomy_folder) as server:
        assert server.added("apples.md", APPLES, tags=["fruit"]) == 1
        yield server


@pytest.fixture(scope="module")
def busy(tmp_path_factory, roomy_folder):
    """One server to which several tests add things; each looks at its own."""
    folder = tmp_path_factory.mktemp("busy")
    with serving(folder / "store", cwd=folder, KB_MODEL=roomy_folder) as server:
        yield server


@pytest.fixture
def serve(data_dir, tmp_path, roomy_folder):
    """Start servers of this test's own store: `with serve(...) as server`."""

    def start(*arguments, **variables):
        return serving(data_dir, *arguments, cwd=tmp_path, **{"KB_MODEL": roomy_folder, **variables})

    return start


@pytest.fixture(scope="module")
def valid(shared):
    """Check an answer against what the server says of itself; anything that the schema does not have is wrong."""
    schema = shared.get("/openapi.json").json
    closed = {
        name: {**rule, "additionalProperties": False} if "properties" in rule else rule
        for name, rule in schema["components"]["schemas"].items()
    }

    def check(method, path, answer):
        responses = schema["paths"][path][method.lower()]["responses"]
        said = responses.get(str(answer.status), responses["default"])
        rule = said["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator({**rule, "components": {"schemas": closed}}).validate(answer.json)
        return answer.json

    return check


def upload_of(length):
    """The head of a request that uploads a.md."""
    start = f"POST /documents?name=a.md HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    return f"{start}{length}\r\n\r\n".encode()


# What is answered


def test_a_file_goes_in_is_found_read_and_had_back_and_is_gone_when_it_is_removed(busy):
    sent = busy.upload("apples.md", APPLES, tags=["fruit"], title="On apples", meta=["shelf=3"])
    assert (sent.status, sent.json["job"]["kind"]) == (202, "uploads")
    assert busy.done(sent.json["job"]["job_id"])["job"]["state"] == "done"

    [hit] = busy.get("/search", query="cellar", tags=["fruit"], meta=["shelf=3"]).json["results"]
    number, chunk = hit["source"]["document_id"], hit["chunk_id"]
    assert (hit["source"]["title"], hit["source"]["meta"]) == ("On apples", {"shelf": "3"})
    assert busy.get(f"/documents/{number}").json["document"]["title"] == "On apples"
    assert "cool cellar" in busy.get(f"/documents/{number}/text", lines="1:3").json["text"]
    assert "cool cellar" in busy.get(f"/chunks/{chunk}/text", around=1).json["text"]
    original = busy.get(f"/documents/{number}/original")
    assert original.body == APPLES
    assert original.headers["content-disposition"] == "attachment; filename*=UTF-8''apples.md"

    assert busy.ask("DELETE", f"/documents/{number}").json["chunks"] == 1
    assert busy.get(f"/documents/{number}").refused == (404, "NotFound")
    assert busy.get("/search", query="cellar", tags=["fruit"]).json["results"] == []


def test_a_passage_is_shown_as_a_picture(shared):
    for path in ("/documents/1/picture", "/chunks/1/picture"):
        picture = shared.get(path)
        assert (picture.status, picture.headers["content-type"], picture.body[:4]) == (200, "image/png", b"\x89PNG")
    assert shared.get("/chunks/1/view").json["width"] > 0


def test_get_and_post_search_alike(shared):
    """What a query says is named alike in both."""
    asked = {"query": "apples", "types": ["markdown"], "top": 1, "explain": True}

    by_get = shared.get("/search", **{**asked, "explain": "true"}).json
    by_post = shared.ask("POST", "/search", asked).json

    assert by_get["results"][0]["explain"]
    assert {**by_get, "took_ms": 0} == {**by_post, "took_ms": 0}


def test_several_queries_at_once_are_fused(shared):
    assert [hit["chunk_id"] for hit in shared.get("/search", query="cellar", also=["keyword:march"]).json["fused"]] == [
        1
    ]


def test_a_note_is_added_at_once_and_tags_come_and_go(busy):
    [added] = busy.ask("POST", "/notes", {"text": "The key is under the mat.", "tags": ["house"]}).json["documents"]
    number = added["document_id"]

    busy.ask("POST", f"/documents/{number}/tags", {"tags": ["secret", "door"]})
    busy.ask("POST", "/tags", {"name": "door", "description": "What opens."})
    busy.ask("DELETE", f"/documents/{number}/tags", tags=["house"])

    assert busy.get(f"/documents/{number}").json["document"]["tags"] == ["door", "secret"]
    assert {tag["name"]: tag["description"] for tag in busy.get("/tags").json["tags"]}["door"] == "What opens."


def test_what_is_like_a_chunk_is_found(serve):
    with serve() as server:
        server.added("a.md", b"red green red")
        server.added("b.md", b"red red green")

        assert [hit["chunk_id"] for hit in server.get("/chunks/1/similar").json["results"]] == [2]
        assert server.get("/chunks/1/similar", elsewhere="true").json["total_matches"] == 1
        assert [hit["chunk_id"] for hit in server.get("/documents/1/similar", top=1).json["results"]] == [2]


def test_files_that_could_not_be_read_are_listed_with_the_reason(kb, serve, tmp_path, valid):
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-1.7 nothing more")
    kb("add", "torn.pdf")
    with serve() as server:
        answer = valid("GET", "/failures", server.get("/failures"))
        after = server.get("/failures", offset=1).json
        refused = server.get("/failures", tags="red").refused

    [file] = answer["files"]
    assert (file["path"], file["status"], answer["total"]) == (str(tmp_path / "torn.pdf"), "failed", 1)
    assert file["reason"]
    assert (after["files"], after["total"]) == ([], 1)
    assert refused == (400, "BadRequest")


def test_jobs_are_listed_cancelled_and_tried_again(busy):
    failed = busy.done(busy.upload("broken.pdf", b"%PDF-1.7 nothing more").json["job"]["job_id"])["job"]
    assert failed["state"] == "failed"

    assert failed["job_id"] in {job["job_id"] for job in busy.get("/jobs", states=["failed"]).json["jobs"]}
    assert busy.ask("POST", f"/jobs/{failed['job_id']}/cancel").refused == (409, "Conflict")
    again = busy.ask("POST", f"/jobs/{failed['job_id']}/retry").json["job"]
    assert again["state"] in {"waiting", "running"}
    assert busy.done(failed["job_id"])["job"]["state"] == "failed"


def test_head_says_what_get_would_and_sends_nothing(shared):
    for path in ("/health", "/documents", "/documents/1/original", "/metrics"):
        asked, told = shared.get(path), shared.ask("HEAD", path)
        assert (told.status, told.body) == (200, b"")
        assert told.headers["content-type"] == asked.headers["content-type"]


def test_a_store_that_is_not_there_yet_is_a_404_and_the_server_is_well(serve):
    with serve() as server:
        assert server.get("/search", query="x").refused == (404, "StoreMissing")
        assert server.get("/health").json["status"] == "ok"
        assert "kb_http_requests_total" in server.get("/metrics").body.decode()


def test_metrics_count_requests_errors_seconds_the_store_and_jobs(shared):
    shared.get("/search", query="apples")
    shared.get("/search")
    text = shared.get("/metrics").body.decode()
    samples = dict(line.rpartition(" ")[::2] for line in text.splitlines() if not line.startswith("#"))

    assert float(samples['kb_http_requests_total{method="GET",path="/search",status="200"}']) >= 1
    assert float(samples['kb_http_errors_total{code="BadRequest"}']) >= 1
    assert float(samples['kb_http_request_seconds_bucket{path="/search",le="+Inf"}']) == float(
        samples['kb_http_request_seconds_count{path="/search"}']
    )
    assert samples["kb_store_documents"] == "1"
    assert float(samples['kb_store_bytes{part="database"}']) > 0
    assert samples['kb_jobs{state="done"}'] == "1"


# What is refused


def test_nothing_is_changed_without_the_token(shared):
    """Every operation that writes, with no token and with a wrong one."""
    assert len(WRITES) >= 8
    for operation in WRITES:
        path = operation.path.replace("{number}", "1")
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": TOKEN},
        ):
            answer = shared.ask(operation.method, path, headers=headers)
            assert answer.refused == (401, "Unauthorized"), (operation, headers)
            assert answer.headers["www-authenticate"].startswith("Bearer")

    assert shared.get("/documents", headers={}).json["total"] == 1


def test_whoever_only_asks_on_this_machine_needs_no_token(shared):
    assert shared.get("/search", headers={}, query="apples").status == 200
    assert shared.ask("POST", "/search", {"query": "apples"}, headers={}).status == 200


def test_beyond_this_machine_nothing_is_answered_without_the_token(serve):
    with serve("--host", "0.0.0.0", "--allow-host", "kb.example") as server:
        for operation in OPERATIONS:
            refused = server.ask(operation.method, operation.path.replace("{number}", "1"), headers={})
            assert refused.refused == (401, "Unauthorized"), operation
        assert server.get("/health", headers={**BEARER, "Host": "kb.example"}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:7700",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "0.0.0.0",
        "",
        "[::2]",
        "a@localhost",
    ],
)
def test_a_foreign_host_is_refused(shared, host):
    """So a page cannot have its own name changed to mean this server (DNS rebinding)."""
    assert shared.get("/health", headers={"Host": host}).refused == (403, "ForeignHost")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", "[::1]:7700"])
def test_the_names_of_this_machine_are_no_foreign_host(shared, host):
    assert shared.get("/health", headers={"Host": host}).status == 200


def test_a_request_without_a_host_is_refused(shared):
    assert shared.raw(b"GET /health HTTP/1.0\r\n\r\n").refused == (403, "ForeignHost")


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:1", "https://127.0.0.1", "file://"])
def test_a_foreign_origin_is_refused_whatever_it_asks(shared, origin):
    for method, path in (("GET", "/health"), ("GET", "/search?query=x"), ("POST", "/notes"), ("OPTIONS", "/search")):
        answer = shared.ask(method, path, headers={**BEARER, "Origin": origin})
        assert answer.refused == (403, "ForeignOrigin")
        assert "access-control-allow-origin" not in answer.headers


def test_a_page_of_an_allowed_origin_may_ask_and_is_told_so(serve):
    with serve("--allow-origin", "https://wiki.example") as server:
        page = {"Origin": "https://wiki.example"}
        preflight = server.ask("OPTIONS", "/documents/1", headers={**page, "Access-Control-Request-Method": "DELETE"})

        assert (preflight.status, preflight.body) == (204, b"")
        assert "DELETE" in preflight.headers["access-control-allow-methods"]
        assert server.get("/health", headers=page).headers["access-control-allow-origin"] == "https://wiki.example"
        assert server.ask("DELETE", "/documents/1", headers=page).refused == (401, "Unauthorized")
        assert server.get("/health", headers={"Origin": f"http://localhost:{server.port}"}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/documents/../../../../etc/passwd",
        "/documents/..%2f..%2f..%2fetc%2fpasswd/original",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/documents/%00/original",
        "//etc/passwd",
        "/documents/1e0",
        "/documents/-1",
        "/documents/99999999999999999999999999",
    ],
)
def test_no_path_leads_out_of_the_store(shared, path):
    assert shared.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).status == 404


def test_an_uploaded_file_gets_a_name_and_no_place(busy):
    names = ["../../evil.md", "/etc/evil.md", "..\\..\\evil.md", "a/b/../../../evil.md", "..", f"{'x' * 300}evil.md"]
    for which, name in enumerate(names):
        number = busy.added(name, f"evil words {which}".encode(), type="markdown")
        found = busy.get(f"/documents/{number}").json["document"]
        assert found["path"] is None
        assert "/" not in found["title"]
        assert found["title"].endswith("evil.md") or name == ".."

    waiting = busy.log.parent / "store/uploads"
    outside = [path for path in busy.log.parent.rglob("*") if "evil" in path.name and waiting not in path.parents]
    assert outside == []


def test_two_gigabytes_are_refused_before_any_of_them_is_sent(shared):
    assert shared.raw(upload_of(f"Content-Length: {2 * GB}")).refused == (413, "TooLarge")


def test_a_body_that_does_not_say_how_large_it_is_is_cut_off(serve, data_dir):
    """Its sender goes on sending, and is told why nobody listens."""
    with serve(KB_MAX_UPLOAD_BYTES=200_000) as server:
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

        assert server.raw(upload_of("Transfer-Encoding: chunked"), *[chunk] * 30).refused == (413, "TooLarge")
        assert server.get("/health").status == 200

    assert list((data_dir / "uploads").iterdir()) == []


def test_json_is_limited_more_than_files_are(shared):
    assert shared.ask("POST", "/notes", {"text": "x" * 1_100_000}).refused == (413, "TooLarge")


def test_a_body_where_none_belongs_is_refused(shared):
    assert shared.ask("DELETE", "/documents/7", b"x").refused == (413, "TooLarge")


def test_an_upload_is_never_held_in_memory(busy):
    before = _resident_bytes(busy)
    assert busy.upload("large.bin", b"\0" * 80_000_000).status == 202
    assert _most_resident_bytes(busy) - before < 40_000_000


def _resident_bytes(server):
    return _memory(server, "VmRSS")


def _most_resident_bytes(server):
    return _memory(server, "VmHWM")


def _memory(server, what):
    path = Path(f"/proc/{server.process.pid}/status")
    if not path.exists():
        pytest.skip("only Linux tells how much memory a process had at most")
    line = next(line for line in path.read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def test_slow_clients_are_not_waited_for(serve):
    """Neither for a head, which never ends, nor for a body of which now and then a byte comes."""
    with serve(KB_SLOW_CLIENT_S=0.4) as server:
        assert server.raw(b"GET /health HTTP/1.1\r\nX-A: ").refused == (408, "TooSlow")
        assert server.raw(b"G", b"E", b"T", b" ", pause_s=0.08).refused == (408, "TooSlow")
        assert server.raw(upload_of("Content-Length: 1000")).refused == (408, "TooSlow")
        assert server.raw(upload_of("Content-Length: 1000"), b"x", b"x", b"x", pause_s=0.1).refused == (408, "TooSlow")
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert read_from(client).status == 200
            client.sendall(b"GET /health HTTP/1.1\r\n")  # the second request of a connection
            assert read_from(client).refused == (408, "TooSlow")


def test_more_requests_than_are_wanted_are_told_to_come_again(serve):
    with serve(KB_MAX_REQUESTS=2) as server:
        waiting = [socket.create_connection((server.host, server.port)) for _ in range(2)]
        for client in waiting:
            client.sendall(upload_of("Content-Length: 9"))
        time.sleep(0.3)

        told = server.get("/health")
        assert (told.refused, told.headers["retry-after"]) == ((503, "TooBusy"), "1")
        for client in waiting:
            client.sendall(b"red apple")
            assert read_from(client).status == 202
            client.close()
        assert server.get("/health").status == 200


def test_a_form_is_no_file(shared):
    """As `curl -F file=@a.md` sends it: what stands around the file would be stored too."""
    form = b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n# A\r\n--x--\r\n'
    headers = {**BEARER, "Content-Type": "multipart/form-data; boundary=x"}

    answer = shared.ask("POST", "/documents", form, headers, name="a.md")

    assert answer.refused == (415, "UnsupportedBody")
    assert "--data-binary" in answer.json["error"]["hint"]


@pytest.mark.parametrize(
    ("method", "path", "body", "refused", "said"),
    [
        ("GET", "/search?query=x&tpo=3", None, (400, "BadRequest"), "'tpo'"),
        ("GET", "/health?x=1", None, (400, "BadRequest"), "'x'"),
        ("GET", "/search", None, (400, "BadRequest"), "query"),
        ("GET", "/search?query=x&top=0", None, (400, "BadRequest"), "top"),
        ("GET", "/search?query=x&top=ten", None, (400, "BadRequest"), "top"),
        ("GET", "/search?query=x&group=1", None, (400, "BadRequest"), "group"),
        ("GET", "/search?query=x&query=y", None, (400, "BadRequest"), "query"),
        ("GET", "/search?query=x&since=2026-13-01", None, (400, "BadRequest"), "since: invalid"),
        ("GET", "/search?query=x&since=lately", None, (400, "BadRequest"), "say a day, such as 2026-11-29"),
        ("GET", "/search?query=x&explain=yes", None, (400, "BadRequest"), "explain: expected `bool`, got `str`"),
        ("GET", "/search?query=+", None, (400, "BadRequest"), '"query: expected something that is not blank"'),
        ("GET", "/search?query=x&also=y&also=", None, (400, "BadRequest"), '"also[1]: expected something that is not blank"'),
        ("GET", "/search?query=x&meta=kind", None, (400, "BadRequest"), '"meta[0]: expected KEY=VALUE"'),
        ("GET", "/documents/1/text?lines=5", None, (400, "BadRequest"), '"lines: expected FIRST:LAST, two numbers from 1"'),
        ("GET", "/search?query=x&types=nonsense", None, (400, "BadRequest"), "nonsense"),
        ("GET", "/search?query=x&group=true&per_document=2", None, (409, "Conflict"), "per_document"),
        ("GET", "/documents/1/text?page=1&lines=1:2", None, (409, "Conflict"), "lines"),
        ("GET", "/documents/1/text?lines=9:1", None, (404, "NotFound"), "9:1"),
        ("POST", "/search", {"query": "x", "tpo": 3}, (400, "BadRequest"), "tpo"),
        ("POST", "/search", {"query": "x", "top": "3"}, (400, "BadRequest"), "top"),
        ("POST", "/search", [], (400, "BadRequest"), "object"),
        ("POST", "/search?query=x", {"query": "x"}, (400, "BadRequest"), "query"),
        ("POST", "/search", b"query=x", (415, "UnsupportedBody"), "application/json"),
        ("POST", "/documents", b"x", (400, "BadRequest"), "the query: object missing required field `name`"),
        ("POST", "/documents?name=a.md&type=", b"x", (400, "BadRequest"), "type"),
        ("POST", "/documents?name=empty.md", b"", (422, "NoText"), "empty.md"),
        ("GET", "/nowhere", None, (404, "NoSuchPath"), "path"),
        ("GET", "/documents/", None, (404, "NoSuchPath"), "path"),
        ("GET", "/documents/77", None, (404, "NotFound"), "77"),
        ("GET", "/documents/77", None, (404, "NotFound"), "GET /documents shows ids and paths"),
        ("PUT", "/documents", None, (405, "MethodNotAllowed"), "GET, HEAD, POST"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_a_word_about_it(shared, method, path, body, refused, said):
    answer = shared.ask(method, path, body)

    assert answer.refused == refused
    assert said in answer.body.decode()


@pytest.mark.parametrize("body", [b"{", b'{"query": "\xff"}', b"[" * 500_000, b'{"query": "\\ud800"}', b""])
def test_what_is_no_json_is_a_bad_request(shared, body):
    answer = shared.ask("POST", "/search", body, headers={"Content-Type": "application/json"})

    assert answer.refused == (400, "BadRequest")


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000,
        b"POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked, x\r\n\r\n",
        b"POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_in_the_same_words(shared, said):
    assert shared.raw(said).refused[0] in {400, 501}


def test_a_body_that_breaks_off_badly_is_refused(shared):
    assert shared.raw(upload_of("Transfer-Encoding: chunked"), b"5\r\nhello\r\nnonsense\r\n").refused == (
        400,
        "BadRequest",
    )
    assert shared.get("/health").status == 200


def test_a_client_that_goes_away_leaves_nothing(busy):
    with socket.create_connection((busy.host, busy.port)) as client:
        client.sendall(upload_of("Content-Length: 9") + b"red")
        time.sleep(0.2)
    until = time.monotonic() + 10
    uploads = busy.log.parent / "store/uploads"
    while list(uploads.glob("receiving-*")) and time.monotonic() < until:
        time.sleep(0.05)

    assert list(uploads.glob("receiving-*")) == []
    assert busy.get("/health").status == 200


# The token, the address, the log, the end


def test_a_token_is_made_at_the_first_start_for_the_owner_alone_and_kept(serve, data_dir):
    path = data_dir / "serve.token"
    for _ in range(2):
        with serve(KB_SERVE_TOKEN="") as server:
            token = path.read_text().strip()
            assert (
                server.ask("POST", "/notes", {"text": "red"}, headers={"Authorization": f"Bearer {token}"}).status
                == 201
            )
            assert token not in server.log.read_text()
    (data_dir / "config.yaml").write_text("env_file: keys.env")
    (data_dir / "keys.env").write_text(f"KB_SERVE_TOKEN={TOKEN}")
    with serve(KB_SERVE_TOKEN="") as server:
        assert server.ask("POST", "/notes", {"text": "green"}).status == 201
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(token) >= 32
    assert sorted(data_dir.glob("serve.token*")) == [path]


def test_a_token_that_others_can_read_or_guess_is_refused(kb, data_dir):
    data_dir.mkdir()
    (data_dir / "serve.token").write_text("x" * 40)
    (data_dir / "serve.token").chmod(0o644)

    for said in ("", "short"):
        ran = kb("serve", "--port", 0, KB_SERVE_TOKEN=said)
        assert (ran.code, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
        assert "token" in ran.stderr.lower()


def test_without_a_token_nothing_is_served_beyond_this_machine_and_nothing_changed_on_it(kb, tmp_path, serve):
    (tmp_path / "file").write_text("")

    ran = kb("serve", "--port", 0, "--host", "0.0.0.0", KB_DATA_DIR=tmp_path / "file/store")
    assert (ran.code, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "KB_SERVE_TOKEN" in ran.stderr
    with serve(KB_DATA_DIR=tmp_path / "file/store", KB_SERVE_TOKEN="") as server:
        assert server.get("/health").status == 200
        assert server.ask("POST", "/notes", {"text": "red"}).refused == (401, "Unauthorized")


def test_a_taken_port_and_a_host_that_is_none_are_one_line_and_exit_code_2(tmp_path, shared):
    """In a process, since in this one no address beyond the machine may be named."""
    for arguments in (
        ("--port", shared.port),
        ("--port", 0, "--host", "nowhere.invalid"),
        ("--port", 0, "--host", "192.0.2.1"),
    ):
        ran = process(tmp_path, "serve", *arguments, KB_SERVE_TOKEN=TOKEN)
        assert (ran.code, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), arguments
        assert "(say " in ran.stderr


def test_nothing_that_was_asked_or_answered_is_in_the_log(busy):
    busy.added("walnut.md", b"hazelnut words", title="Chestnut", tags=["pecan"])
    busy.get("/search", query="pistachio")
    busy.get("/almond/path")
    busy.get("/documents/1/text")
    busy.ask("POST", "/search", {"query": "macadamia", "nonsense": "cashew"})
    log = busy.log.read_text().lower()

    assert "kb: get /search 200" in log
    words = ("walnut", "hazelnut", "chestnut", "pecan", "pistachio", "almond", "macadamia", "cashew", TOKEN)
    assert [word for word in words if word in log] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_ends_well_and_its_jobs_go_on_at_the_next_start(serve, number):
    with serve() as server:
        sent = [server.upload(f"{i}.md", f"red number {i}".encode()).json["job"]["job_id"] for i in range(12)]
        with socket.create_connection((server.host, server.port)):  # an idle one does not keep it
            began = time.monotonic()
            assert server.stop(number) == 0
            assert time.monotonic() - began < 20
    with serve() as server:
        assert {server.done(job)["job"]["state"] for job in sent} == {"done"}
        assert server.get("/documents").json["total"] == 12


def test_a_server_that_is_killed_loses_no_job(serve):
    with serve() as server:
        sent = [server.upload(f"{i}.md", f"red number {i}".encode()).json["job"]["job_id"] for i in range(6)]
        server.process.kill()
    with serve() as server:
        assert {server.done(job)["job"]["state"] for job in sent} == {"done"}
        assert sorted(one["title"] for one in server.get("/documents").json["documents"]) == [
            f"{i}.md" for i in range(6)
        ]


# Several at once


def test_eight_clients_at_once_while_a_job_adds_documents(serve, valid, tmp_path):
    """Nothing is lost, nothing is wrong, and every answer is what the schema says. While it adds 200: `test_doors`."""
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(60):
        (folder / f"{i:03}.md").write_text(f"document number{i:03} red")
    with serve() as server:
        server.added("first.md", b"green first")
        _submit(server, folder, tmp_path)
        with ThreadPoolExecutor(8) as clients:
            list(clients.map(lambda who: _client(server, who, valid), range(8)))
        job = server.done(2)

        assert (job["job"]["state"], job["job"]["counts"]) == ("done", {"added": 60})
        listed = server.get("/documents", top=1000).json
        assert listed["total"] == 1 + 60 + 8
        assert len({one["document_id"] for one in listed["documents"]}) == 69
        for i in range(0, 60, 23):
            [hit] = server.get("/search", query=f"number{i:03}", mode="keyword").json["results"]
            assert hit["text"] == f"document number{i:03} red"


def _submit(server, folder, tmp_path):
    """A job for the server's worker, from another process."""
    environ = environment(Path(server.get("/status").json["data_dir"]), KB_MODEL=_model_of(server))
    done = subprocess.run(
        [sys.executable, "-m", "kb", "add", "--background", "-r", str(folder), "-j"],
        env=environ, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["job"]["job_id"] == 2


def _model_of(server):
    return (
        Path(f"/proc/{server.process.pid}/environ").read_bytes().partition(b"KB_MODEL=")[2].partition(b"\0")[0].decode()
    )


def _client(server, who, valid):
    """One of eight: asks, looks, adds, tags; what it has added is there from then on, whatever else goes on."""
    [added] = valid("POST", "/notes", server.ask("POST", "/notes", {"text": f"green client{who}"}))["documents"]
    mine = added["document_id"]
    valid("POST", "/documents/{number}/tags", server.ask("POST", f"/documents/{mine}/tags", {"tags": [f"of{who}"]}))
    for _ in range(6):
        [hit] = valid("GET", "/search", server.get("/search", query=f"client{who}", mode="keyword"))["results"]
        assert (hit["source"]["document_id"], hit["text"]) == (mine, f"green client{who}")
        for found in valid("POST", "/search", server.ask("POST", "/search", {"query": "red", "top": 50}))["results"]:
            assert found["source"]["document_id"] == mine or found["text"].startswith(("document number", "green"))
        shown = valid("GET", "/documents/{number}", server.get(f"/documents/{mine}"))
        assert shown["document"]["tags"] == [f"of{who}"]
        [only] = valid("GET", "/documents", server.get("/documents", tags=[f"of{who}"]))["documents"]
        assert only["document_id"] == mine
        job = valid("GET", "/jobs/{number}", server.get("/jobs/2", top=5))["job"]
        assert 0 <= job["finished"] <= 200
        status = valid("GET", "/status", server.get("/status"))
        assert status["documents"] >= 2
        assert server.get("/documents/1/original").body == b"green first"


# The schema


def test_the_schema_tells_of_every_operation_and_of_all_that_it_takes(shared):
    described = shared.get("/openapi.json").json

    assert described["openapi"] == "3.1.0"
    said = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert said == {(one.method, one.path) for one in OPERATIONS}
    names = [operation["operationId"] for methods in described["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))
    for rule in described["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(rule)
    asked = [
        one
        for methods in described["paths"].values()
        for each in methods.values()
        for one in each.get("parameters", ())
    ]
    assert [one["name"] for one in asked if not one.get("description")] == []


def test_every_error_of_kb_has_a_status_of_its_own_kind():
    """Nothing that a caller can mend is answered as a fault of the server."""
    for kind, status in ((BadRequest, 400), (NotFound, 404), (NoText, 422), (StoreLocked, 503), (ModelMissing, 503)):
        assert status_of(kind) == status
    assert {kind.status for kind in REFUSALS} <= set(range(400, 504))
    assert status_of(KeyError) == 500


@pytest.mark.parametrize(
    "phases",
    [
        pytest.param(("--phases", "examples,fuzzing", "--max-examples", "1"), id="short"),
        pytest.param(("--max-examples", "100"), id="long", marks=pytest.mark.heavy),
    ],
)
def test_what_the_schema_allows_is_answered_and_what_it_does_not_is_refused(serve, tmp_path, phases):
    """schemathesis makes requests of the schema, right and wrong ones, and finds nothing."""
    with serve() as server:
        server.added("apples.md", APPLES)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json"),
                *("-H", f"Authorization: Bearer {TOKEN}", "--no-color", "--seed", "7", *phases),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        log = server.log.read_text()

    assert done.returncode == 0, done.stdout[-5000:]
    assert " 500 " not in log
