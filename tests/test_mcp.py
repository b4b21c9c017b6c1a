"""`kb mcp`: what an agent is offered, what it is told, and that the server lives as long as its client and no longer."""

from __future__ import annotations

import base64
import json
import os
import pty
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import running
import small_store
from mcp import MCPError
from talking import OPENING, ROOT, agent, bare, check, request

from kb.errors import BadRequest
from kb.mcp import arguments, schemas
from kb.mcp.snippets import MOST_CHARACTERS, beginnings, snippet
from kb.mcp.tools import TOOLS

FILES = {
    "apples.md": "# Apples\n\nRed apples are stored in the cellar.\n\n# Pears\n\nGreen pears are stored in the attic.\n",
    "work/plan.txt": "The red plan is from Ingrid.\n",
    "talk.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>Which red key?</v>\n\n00:03.000 --> 00:04.000\n<v Bob>The red one.</v>\n",
    "long.txt": "\n".join(f"Line {number} of a long red story." for number in range(1, 900)),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory, roomy_folder):
    """A folder with a store of a few documents, each with something to narrow by."""
    folder = running.write(tmp_path_factory.mktemp("library"), FILES)
    for command in (
        ("add", "apples.md", "--meta", "kind=guide"),
        ("tag", "describe", "fruit", "What grows"),
        ("tag", "add", 1, "fruit"),
        ("add", "work/plan.txt", "--tag", "work"),
        ("add", "talk.vtt"),
        ("add", "long.txt"),
    ):
        ran = running.here(folder, *command, KB_MODEL=roomy_folder)
        assert ran.code == 0, ran.stderr
    os.utime(folder / "work/plan.txt")  # its time is another one now: stale
    return folder


@pytest.fixture(scope="module")
def reader(library, roomy_folder):
    with agent(library / "store", cwd=library, KB_MODEL=roomy_folder) as one:
        yield one


def titles(answer):
    return {hit["title"] for hit in answer["results"]}


def test_the_tools_say_what_they_take_give_and_do(reader):
    assert list(reader.tools) == ["search", "get", "list", "status", "similar", "view"]
    for tool in reader.tools.values():
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert all(about["description"] for about in tool.input_schema["properties"].values())
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
        assert tool.title
        assert len(tool.description) > 100


def test_a_server_says_how_to_use_it(reader):
    assert "confidence" in reader.started.instructions
    assert reader.started.server_info.name == "kb"


@pytest.mark.parametrize("word", ["prefixItems", '"items": false', "$ref", "$defs"])
def test_no_schema_says_what_many_clients_misread(word, reader):
    """`"items": false` beside `prefixItems` is to draft 7 a list that must be empty; references are unknown to some."""
    assert word not in json.dumps([[tool.input_schema, tool.output_schema] for tool in reader.tools.values()])


def test_search_finds_passages_with_what_is_needed_to_cite_and_to_read_on(reader, library):
    best = reader.ask("search", query="who is the plan from")["results"][0]

    assert best["path"] == str(library / "work/plan.txt")
    assert best["lines"] == [1, 1]
    assert best["stale"] is True
    assert "Ingrid" in best["text"]
    assert "Ingrid" in reader.ask("get", chunk_id=best["chunk_id"])["text"]


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ({"tags": ["fruit"]}, {"apples.md"}),
        ({"tags": ["fruit", "work"]}, set()),
        ({"types": ["transcript", "text"]}, {"talk.vtt", "plan.txt", "long.txt"}),
        ({"path": "work"}, {"plan.txt"}),
        ({"path": "*.md"}, {"apples.md"}),
        ({"meta": {"kind": "guide"}}, {"apples.md"}),
        ({"before": "2001"}, set()),
        ({"since": "2001-01-01", "tags": ["work"]}, {"plan.txt"}),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
@pytest.mark.parametrize("tool", ["search", "list", "similar"])
def test_filters_narrow(tool, narrowed, found, reader):
    about = {"search": {"query": "red", "top": 50}, "list": {}, "similar": {"chunk_id": 1, "top": 50}}[tool]
    answer = reader.ask(tool, **about, **narrowed)

    paths = {Path(one["path"]).name for one in answer.get("results", answer.get("documents"))}
    assert paths - {"apples.md"} == found - {"apples.md"}  # of which similar leaves a chunk out


def test_search_narrows_by_who_speaks(reader):
    assert titles(reader.ask("search", query="red", roles=["Ada"])) == {"talk"}


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_search_says_how_it_searched(mode, reader):
    assert reader.ask("search", query="red", mode=mode)["queries"][0]["mode"] == mode


def test_several_queries_are_one_list_that_says_which_found_what(reader):
    answer = reader.ask("search", query="pears attic", also=["keyword:Ingrid plan"], mode="keyword")

    assert [asked["query"] for asked in answer["queries"]] == ["pears attic", "Ingrid plan"]
    by = {hit["title"]: hit["found_by"] for hit in answer["results"]}
    assert (by["Apples"], by["plan"]) == ([0], [1])


def test_pages_of_a_search_follow_each_other(reader):
    whole = reader.ask("search", query="red", top=6)
    first = reader.ask("search", query="red", top=3)
    second = reader.ask("search", query="red", top=3, offset=first["next_offset"])

    ids = [hit["chunk_id"] for hit in whole["results"]]
    assert [hit["chunk_id"] for answer in (first, second) for hit in answer["results"]] == ids


def test_per_document_and_min_score_limit(reader):
    spread = reader.ask("search", query="red", top=50, per_document=1)["results"]
    good = reader.ask("search", query="plan from Ingrid", top=50, min_score=0.5, mode="keyword")["results"]

    assert len({hit["document_id"] for hit in spread}) == len(spread)
    assert all(hit["score"] >= 0.5 for hit in good)
    assert good


def test_explain_says_how_a_score_came_about(reader):
    (best, *_) = reader.ask("search", query="plan", explain=True)["results"]
    (of_two, *_) = reader.ask("search", query="plan", also=["Ingrid"], explain=True)["results"]

    assert best["explain"]["terms"][0]["term"] == "plan"
    assert of_two["explain"]["terms"]


def test_a_rerank_without_its_model_is_a_warning(reader):
    assert "not reranked" in " ".join(reader.ask("search", query="plan", rerank=True)["warnings"])


def test_brief_cuts_texts_and_leaves_out_what_full_gives(reader):
    brief = reader.ask("search", query="story", types=["text"])["results"][0]
    full = reader.ask("search", query="story", types=["text"], detail="full")["results"][0]

    assert len(brief["text"]) <= MOST_CHARACTERS + 4 < len(full["text"])
    assert set(full) - set(brief) >= {"score_breakdown", "chunk_index", "total_chunks"}


def test_an_answer_is_small_unless_more_is_asked_for(reader):
    result = reader.raw("search", {"query": "red story apples plan"})

    assert len(result.content[0].text) < 6000


def test_get_gives_a_long_text_in_parts_that_make_the_whole(reader):
    document = reader.ask("search", query="story", types=["text"])["results"][0]["document_id"]
    part = reader.ask("get", document=document)
    text = part["text"]
    assert len(text) <= 8000
    while "next_offset" in part:
        part = reader.ask("get", document=document, offset=part["next_offset"], max_characters=9000)
        text += part["text"]

    assert len(text) == part["characters"]
    assert text == reader.ask("get", document=document, max_characters=400_000)["text"]


def test_get_gives_lines_of_a_file_and_says_which(reader, library):
    answer = reader.ask("get", document=str(library / "apples.md"), lines=[3, 5])

    assert (answer["text"], answer["lines"]) == ("Red apples are stored in the cellar.\n\n# Pears", [3, 5])
    assert reader.ask("get", document=str(library / "apples.md"), detail="full")["chunks"][0]["token_count"]


def test_get_gives_the_chunks_around_a_passage(reader):
    middle = reader.ask("search", query="story", types=["text"])["results"][0]["chunk_id"]
    alone, near = (reader.ask("get", chunk_id=middle, around=around)["characters"] for around in (0, 1))

    assert near > alone


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "say `document` or `chunk_id`"),
        ({"document": 1, "chunk_id": 1}, "one of them"),
        ({"document": 1, "around": 2}, "`around` goes with `chunk_id`"),
        ({"chunk_id": 1, "page": 2}, "go with `document`"),
        ({"document": 1, "lines": [5, 3]}, "5 is after 3"),
        ({"document": 1, "page": 7}, "nothing on page 7"),
        ({"document": "nowhere.txt"}, "no document nowhere.txt (list shows ids and paths)"),
        ({"chunk_id": 999_999}, "no chunk 999999"),
    ],
    ids=str,
)
def test_get_says_what_cannot_be(asked, said, reader):
    assert said in reader.refused("get", **asked)


def test_list_counts_and_turns_pages(reader):
    first = reader.ask("list", top=3)
    last = reader.ask("list", top=3, offset=first["next_offset"], detail="full")

    assert (first["total"], len(first["documents"]), len(last["documents"])) == (4, 3, 1)
    assert "next_offset" not in last
    assert last["documents"][0]["size"] == len(FILES["long.txt"])


def test_list_tells_of_files_that_are_no_documents_and_why(kb, data_dir, tmp_path):
    running.write(tmp_path / "docs", {"torn.pdf": "%PDF-1.7 nothing more", "empty.md": " \n", "a.md": "red"})
    kb("add", "docs", "-r")
    with agent(data_dir) as one:
        first = one.ask("list", failed=True, top=1)
        last = one.ask("list", failed=True, offset=first["next_offset"], detail="full")
        refused = one.refused("list", failed=True, types=["pdf"])
        listed, status = one.ask("list"), one.ask("status")

    assert (first["documents"], first["total"], "next_offset" in last) == ([], 2, False)
    [torn], [empty] = first["files"], last["files"]
    assert (torn["path"], torn["status"], "failed_at" in torn) == (str(tmp_path / "docs/torn.pdf"), "failed", False)
    assert torn["reason"]
    assert torn["path"] not in torn["reason"].partition(" (")[0]
    assert (empty["status"], "failed_at" in empty) == ("no_text", True)
    assert "`failed` is about files that are no documents" in refused
    assert (listed["total"], "files" in listed, status["failed"]) == (1, False, 2)


def test_status_says_what_there_is_to_narrow_by(reader):
    answer = reader.ask("status")

    assert answer["by_type"] == {"markdown": 1, "text": 2, "transcript": 1}
    assert {"name": "fruit", "description": "What grows", "documents": 1} in answer["tags"]
    assert answer["can_write"] is False
    assert reader.ask("status", detail="full")["store"]["schema_version"]


def test_similar_finds_what_is_like_a_document(reader):
    answer = reader.ask("similar", document=1, top=2)

    assert answer["to"].startswith("document 1")
    assert 1 not in {hit["document_id"] for hit in answer["results"]}


def test_similar_of_a_passage_elsewhere_leaves_its_document_out(reader):
    own = reader.ask("get", chunk_id=1)["document_id"]
    found = {hit["document_id"] for hit in reader.ask("similar", chunk_id=1, elsewhere=True, top=50)["results"]}

    assert found
    assert own not in found


def test_a_passage_on_more_than_one_page_says_which(make_store, data_dir):
    chunks = (
        small_store.chunk("red apples", page=3, metadata={"pages": [3, 4]}),
        small_store.chunk("red pears", page=4),
    )
    make_store(small_store.document("manual", doc_type="pdf", chunks=chunks))
    with agent(data_dir) as one:
        found = {hit["text"]: hit for hit in one.ask("search", query="red", mode="keyword")["results"]}
        whole, alone = one.ask("get", document=1), one.ask("get", chunk_id=2, around=0)

    assert (found["red apples"]["page"], found["red apples"]["pages"]) == (3, [3, 4])
    assert found["red pears"]["page"] == 4
    assert "pages" not in found["red pears"]
    assert (whole["pages"], alone["page"], "pages" in alone) == ([3, 4], 4, False)


@pytest.mark.parametrize("asked", [{"chunk_id": 1}, {"document": 1}])
def test_view_gives_a_picture_beside_its_text(asked, reader):
    result = reader.raw("view", asked)
    text, picture = result.content

    check(result, reader.tools["view"].output_schema)
    assert (picture.type, picture.mime_type) == ("image", "image/png")
    assert base64.b64decode(picture.data).startswith(b"\x89PNG")
    assert "apples" in text.text


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS if not tool.writes])
def test_a_parameter_that_there_is_not_is_an_error_with_a_guess(tool, reader):
    assert "there is no parameter `detial` (did you mean" in reader.refused(tool, detial="full") or tool == "view"
    assert "there is no parameter `nonsense` (parameters are " in reader.refused(tool, nonsense=1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "the parameter `query` is missing (What to look for"),
        ({"query": 5}, "query: expected `str`, got `int`"),
        ({"query": "red", "top": "5"}, "top: expected `int`, got `str`"),
        ({"query": "red", "top": 51}, "top: expected `int` <= 50"),
        ({"query": "red", "tags": "work"}, "tags: expected `array`, got `str`"),
        ({"query": "red", "mode": "fuzzy"}, "mode: invalid enum value 'fuzzy'"),
        ({"query": "red", "types": ["nonsense"]}, "unknown type 'nonsense'"),
        ({"query": "red", "since": "yesterday"}, "'yesterday' is not a date"),
        ({"query": "  "}, "the query is empty"),
    ],
    ids=str,
)
def test_a_wrong_value_is_an_error_that_says_what_is_right(asked, said, reader):
    assert said in reader.refused("search", **asked)


def test_null_is_not_said_and_a_whole_float_is_an_integer(reader):
    assert len(reader.ask("search", query="red", top=2.0, tags=None, since=None)["results"]) == 2


def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(reader):
    with pytest.raises(MCPError, match="there is no tool 'delete': tools are search, get"):
        reader.raw("delete", {})


def test_without_write_nothing_can_be_added(reader):
    with pytest.raises(MCPError, match="started without --write"):
        reader.raw("add_note", {"text": "a note"})
    assert reader.ask("list")["total"] == 4


def test_with_write_a_note_is_kept_once_and_found_at_once(tmp_path, roomy_folder):
    """Into a store that is not there yet, named by --store: which until then is an answer that says so."""
    with agent(tmp_path / "other", "--write", "--store", str(tmp_path / "store"), KB_MODEL=roomy_folder) as writer:
        assert "no knowledge base" in writer.refused("search", query="red") or "no store" in writer.refused("status")
        note = {
            "text": "The red key is with Ingrid, password: hunter2hunter2",
            "tags": ["facts"],
            "meta": {"kind": "fact"},
        }

        kept = writer.ask("add_note", **note, title="Key")
        again = writer.ask("add_note", **note, title="Key")
        found = writer.ask("search", query="red key", meta={"kind": "fact"}, tags=["facts"])["results"][0]

        assert (kept["status"], again["status"]) == ("added", "skipped")
        assert (kept["title"], kept["redacted"]) == ("Key", 1)
        assert "Ingrid" in found["text"]
        assert "hunter2" not in found["text"]
        assert found["meta"] == {"kind": "fact"}  # of a note always: where it is from
        assert writer.tools["add_note"].annotations.read_only_hint is False
        assert "text" in writer.refused("add_note", text="")
        assert writer.ask("status")["can_write"] is True
    assert not (tmp_path / "other").exists()


def test_eight_at_once_while_documents_are_added_lose_nothing_and_see_nothing_wrong(tmp_path, roomy_folder):
    """Two clients, four calls of each at a time; each document says its number in title, text and name. With 200: `test_doors`."""
    running.write(
        tmp_path / "new", {f"n{number}.txt": f"red subject number{number} in n{number}\n" for number in range(60)}
    )
    running.write(tmp_path / "old", {"first.txt": "red subject number-1 in first\n"})
    assert running.here(tmp_path, "add", "old/first.txt", KB_MODEL=roomy_folder).code == 0
    variables = {"KB_MODEL": roomy_folder, "KB_INGESTION_BATCH_SIZE": 5}
    with agent(tmp_path / "store", **variables) as one, agent(tmp_path / "store", **variables) as other:
        command = [sys.executable, "-m", "kb", "add", "new", "-r", "-j"]
        with (
            subprocess.Popen(
                command,
                env=running.environment(tmp_path / "store", PYTHONPATH=ROOT, **variables),
                cwd=tmp_path,
                stdout=subprocess.PIPE,
            ) as adding,
            ThreadPoolExecutor(8) as pool,
        ):
            seen = list(pool.map(lambda number: look((one, other)[number % 2], number, adding), range(8)))
            added = json.loads(adding.stdout.read())
        totals = [total for client in seen for total in client]
        everything = {document["title"] for document in one.ask("list", top=200)["documents"]}
        found = [
            other.ask("search", query=f"number{number}", mode="keyword", top=1)["results"][0]["title"]
            for number in (0, 33, 59)
        ]

    assert added["added"] == 60
    assert everything == {"first", *(f"n{number}" for number in range(60))}
    assert found == ["n0", "n33", "n59"]
    assert all(client == sorted(client) for client in seen)
    assert any(1 < total < 61 for total in totals)  # it was looked at while it grew


def look(client, number, adding):
    """Ask until the add has ended; the totals that were seen."""
    totals = []
    while adding.poll() is None or not totals:
        answer = client.ask("search", query="red subject", also=[f"number{number}"], top=20)
        assert answer["results"]
        for hit in answer["results"]:
            assert hit["text"].endswith(f" in {hit['title']}"), hit
        totals.append(client.ask("list", top=1)["total"])
        best = answer["results"][0]
        assert client.ask("get", document=best["document_id"])["text"] == best["text"]
    return totals


def test_garbage_is_answered_as_json_rpc_says_and_disturbs_nothing(library, tmp_path):
    """From a file, which may stand in for a client."""
    said = b'nonsense\n\n\xff\xfe\n[1, 2]\n{"jsonrpc": "2.0", "id": 7, "method": 5}\n' + OPENING
    said += request(1, "tools/call", name="list", arguments={}) + b'{"half": '
    (tmp_path / "said").write_bytes(said)
    with (tmp_path / "said").open("rb") as file:
        ran = bare(library / "store", file)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]

    assert ran.returncode == 0
    assert [answer["error"]["code"] for answer in answers if "error" in answer] == [
        -32700,
        -32700,
        -32600,
        -32600,
        -32700,
    ]
    assert [answer["id"] for answer in answers if "error" in answer] == [None, None, None, 7, None]
    assert [answer["result"]["structuredContent"]["total"] for answer in answers if answer.get("id") == 1] == [4]


def test_what_is_asked_before_the_client_closes_its_end_is_answered(library, roomy_folder):
    """As a script does: it writes all of its questions and reads until the end. Nothing but answers is on standard output."""
    asked = [request(number, "tools/call", name="search", arguments={"query": "red"}) for number in range(1, 9)]
    ran = bare(library / "store", OPENING + b"".join(asked), KB_MODEL=roomy_folder)
    answers = {answer["id"]: answer for answer in map(json.loads, ran.stdout.splitlines())}

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert set(answers) == set(range(9))
    assert all(answers[number]["result"]["structuredContent"]["results"] for number in range(1, 9))


@pytest.fixture
def server(library):
    """A server that has answered its client's opening."""
    with subprocess.Popen(
        [sys.executable, "-m", "kb", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=running.environment(library / "store"), cwd=ROOT, bufsize=0,
    ) as process:  # fmt: skip
        process.stdin.write(OPENING)
        assert b'"serverInfo"' in process.stdout.readline()
        yield process
        process.kill()


def test_a_server_ends_on_sigterm(server):
    server.send_signal(signal.SIGTERM)

    assert server.wait(10) == 0
    assert server.stderr.read() == b""


def test_a_server_whose_client_is_gone_ends_without_a_word(server):
    """Though its other end is open still."""
    server.stdout.close()
    server.stdin.write(request(1, "tools/call", name="status", arguments={}))

    assert server.wait(30) == 0
    assert server.stderr.read() == b""


def test_a_person_at_a_terminal_is_told_what_it_is_for(data_dir):
    ours, theirs = pty.openpty()
    ran = subprocess.run(
        [sys.executable, "-m", "kb", "mcp"],
        stdin=theirs,
        env=running.environment(data_dir),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(ours)
    os.close(theirs)

    assert ran.returncode == 2
    assert "kb mcp talks to programs" in ran.stderr


def test_a_snippet_shows_where_most_words_of_the_query_are():
    text = "filler " * 200 + "the spare keys are with Ingrid " + "filler " * 200
    shown = snippet(text, beginnings(["spare key Ingrid"]))

    assert "spare keys are with Ingrid" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= MOST_CHARACTERS + 4


@pytest.mark.parametrize("query", ["", "!?", "nothing of it", "装置"])
def test_a_snippet_without_a_word_of_the_query_is_the_beginning(query):
    text = "first " + "filler " * 200

    assert snippet(text, beginnings([query])).startswith("first filler")


def test_a_short_text_is_its_own_snippet():
    assert snippet("short", beginnings(["short"])) == "short"


def test_a_snippet_goes_by_other_forms_of_a_word_but_not_by_its_inside():
    text = "underrunning " + "filler " * 200 + "a runner's studies " + "filler " * 200

    assert "a runner's studies" in snippet(text, beginnings(["running study"]))


def test_what_must_be_given_comes_first_in_a_schema():
    assert next(iter(schemas.of_arguments(arguments.Search)["properties"])) == "query"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_a_schema_refuses_a_call_refuses_too(tool):
    """And says so in one line, whatever the type of the value."""
    for name in schemas.of_arguments(tool.takes)["properties"]:
        with pytest.raises(BadRequest) as refused:
            arguments.checked(
                tool.takes, {**dict.fromkeys(schemas.of_arguments(tool.takes)["required"], "x"), name: [[]]}
            )
        assert refused.value.message.startswith(name)
        assert refused.value.hint
