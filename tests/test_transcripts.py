"""A log that grows: what is new is appended in one transaction, and the store is what one reading of all would have made."""

from __future__ import annotations

import json
import os
import random
from functools import partial
from pathlib import Path

import pytest
import running

from index import check, documents, store
from kb import preferences
from kb.add import Adding, Silent, add_paths
from kb.candidates import Candidates, Request

LONG = "red green huge red green huge. " * 20


def message(role, text, day=1, second=0):
    at = f"2026-11-{day:02}T10:00:{second:02}Z"
    kind = {"type": role, "sessionId": "s1", "cwd": "/work", "timestamp": at}
    return json.dumps({**kind, "message": {"role": role, "content": text}}) + "\n"


def exchange(number):
    return message("user", f"question {number} {LONG}", number) + message("assistant", f"answer {number}", number, 5)


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.fixture
def adding(roomy_folder):
    """Add a file to the store in a folder, within this process."""

    def add(folder, path, **options):
        loaded = preferences.load(folder, {"KB_MODEL": str(roomy_folder)})
        return add_paths(folder, loaded.settings, Request(paths=(path,), **options), Silent())

    return add


def stored(folder: Path):
    """Title, metadata and chunks of the one document, as far as they do not depend on how it came in."""
    with store.reading(folder) as reader:
        [row] = documents.page_of(reader.connection, None, limit=None, offset=0)
        chunks = documents.chunks_of(reader.connection, row.id)
        contexts = reader.connection.execute("SELECT context FROM chunks ORDER BY chunk_index").fetchall()
    facts = (row.title, row.title_is_name, row.metadata, row.content_hash, row.size, row.modified_at, row.tags)
    return facts, [(c.chunk_index, c.text, c.start_line, c.end_line, c.metadata) for c in chunks], contexts


def ids(folder: Path) -> list[int]:
    with store.reading(folder) as reader:
        return [row[0] for row in reader.connection.execute("SELECT id FROM chunks ORDER BY chunk_index")]


def problems(folder: Path) -> list[str]:
    with store.reading(folder) as reader:
        return [problem for one in check.every(reader.connection, folder) for problem in one.problems]


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def rows_of(answer):
    return [(one.status, one.chunks) for one in answer.documents]


# --- through the command line


@pytest.mark.parametrize("flags", [(), ("--replace",)])
def test_a_log_that_has_grown_is_appended_to(flags, kb, log, tmp_path):
    """It stays one document with one id, and its closed exchanges keep theirs; only what is new is embedded."""
    log.write_text(exchange(1) + exchange(2))
    kb("add", log, "--tag", "mine")
    before = ids(tmp_path / "store")
    append(log, exchange(3))

    ran = kb("add", log, *flags, "-j")

    assert [(one["status"], one["document_id"], one["chunks"]) for one in ran.json["documents"]] == [("appended", 1, 1)]
    assert (ran.json["added"], ran.json["embedded"]) == (1, 1)
    assert ids(tmp_path / "store")[: len(before)] == before
    shown = kb("show", "1", "-j").json
    assert (shown["document"]["tags"], shown["document"]["stale"], shown["metadata"]["turns"]) == (["mine"], False, 6)
    assert [chunk["lines"] for chunk in shown["chunks"]] == [[1, 2], [3, 4], [5, 6]]
    assert kb("add", log, "-j").json["documents"][0]["status"] == "skipped"


def test_what_a_person_reads_of_it(kb, log):
    log.write_text(exchange(1))
    kb("add", log)
    append(log, exchange(2))
    assert kb("add", log).stdout.splitlines()[0] == "Appended: log.jsonl (1 chunk)"


def test_what_was_appended_is_found(kb, log):
    """By its words and by its meaning, in a store that was searched before."""
    log.write_text(message("user", "red " * 60) + message("assistant", "red"))
    kb("add", log)
    kb("search", "red")
    append(log, message("user", "green green"))
    kb("add", log)
    for mode in ("keyword", "semantic"):
        [hit] = kb("search", "green", "-n", "1", "-j", "--mode", mode).json["results"]
        assert (hit["text"], hit["source"]["lines"]) == ("user: green green", [3, 3])


# --- what is appended to, and what is not


def test_an_exchange_that_goes_on_is_made_anew(adding, data_dir, log):
    """Its chunk has a new id; the one before it keeps its own."""
    log.write_text(exchange(1) + message("user", "short " * 60, 2))
    adding(data_dir, log)
    first, *_, last = ids(data_dir)
    append(log, message("assistant", "the answer", 2, 9))

    assert rows_of(adding(data_dir, log)) == [("appended", 1)]

    now = ids(data_dir)
    assert now[0] == first
    assert last not in now
    assert stored(data_dir)[1][-1][1].endswith("assistant: the answer")


def test_a_line_without_its_end_is_taken_when_it_has_one(adding, data_dir, log):
    line = message("assistant", "the answer")
    log.write_text(message("user", "the question") + line[:40])
    adding(data_dir, log)
    assert stored(data_dir)[1][0][1] == "user: the question"
    append(log, line[40:])
    answer = adding(data_dir, log)
    assert rows_of(answer) == [("appended", 1)]
    assert answer.warnings == ()
    assert stored(data_dir)[1][0][1:4] == ("user: the question\n\nassistant: the answer", 1, 2)


@pytest.mark.parametrize("replace", [False, True])
def test_a_log_whose_beginning_has_changed_is_a_changed_file(replace, adding, data_dir, log):
    log.write_text(exchange(1))
    adding(data_dir, log)
    log.write_text(exchange(4) + exchange(2))
    [file] = adding(data_dir, log, replace=replace).documents
    assert (file.status, file.document_id) == ("replaced" if replace else "added", 2)


def test_a_log_that_has_become_shorter_is_a_changed_file(adding, data_dir, log):
    log.write_text(exchange(1) + exchange(2))
    adding(data_dir, log)
    log.write_text(exchange(1))
    assert rows_of(adding(data_dir, log, replace=True))[0][0] == "replaced"


def test_another_type_is_no_growth(adding, data_dir, log):
    log.write_text(exchange(1))
    adding(data_dir, log)
    append(log, exchange(2))
    assert rows_of(adding(data_dir, log, doc_type="text"))[0][0] == "added"


def test_a_document_of_another_type_is_not_appended_to(adding, data_dir, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("red\n")
    adding(data_dir, path)
    append(path, "green\n")
    assert rows_of(adding(data_dir, path, replace=True))[0][0] == "replaced"


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_a_transcript_in_another_encoding_loses_nothing(encoding, adding, data_dir, tmp_path):
    """UTF-16 cannot be cut at a byte that looks like the end of a line, so it is read anew."""
    path = tmp_path / "talk.txt"
    first = "".join(f"Anna: Größe {n} {LONG}\nBob: {LONG}\n" for n in range(3))
    path.write_bytes(first.encode(encoding))
    adding(data_dir, path, doc_type="transcript")
    path.write_bytes((first + f"Anna: schön {LONG}\n").encode(encoding))
    adding(data_dir, path, doc_type="transcript", replace=True)
    _, chunks, _ = stored(data_dir)
    assert "schön" in chunks[-1][1]
    assert (chunks[-1][2], chunks[-1][3]) == (7, 7)
    assert sum(chunk[4]["turns"] for chunk in chunks) == 7


def test_a_dry_run_appends_nothing(adding, data_dir, log):
    log.write_text(exchange(1))
    adding(data_dir, log)
    before = stored(data_dir)
    append(log, exchange(2))
    assert rows_of(adding(data_dir, log, dry_run=True)) == [("would_add", 0)]
    assert stored(data_dir) == before


def test_the_copy_of_a_log_is_no_second_document(adding, data_dir, log, tmp_path):
    log.write_text(exchange(1))
    adding(data_dir, log)
    append(log, exchange(2))
    adding(data_dir, log)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(log.read_bytes())
    assert rows_of(adding(data_dir, copy)) == [("skipped", 0)]


def test_tags_and_title_can_be_given_with_what_is_new(adding, data_dir, log):
    log.write_text(exchange(1))
    adding(data_dir, log, tags=("one",))
    append(log, exchange(2))
    adding(data_dir, log, tags=("two",), title="Mine")
    facts = stored(data_dir)[0]
    assert (facts[0], facts[1], facts[6]) == ("Mine", False, ("one", "two"))


@pytest.mark.parametrize(
    ("first", "then", "title"),
    [
        ("", {"type": "summary", "summary": "Stated"}, "Stated"),
        ({"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": "Its"}, "Mine"),
        ({"type": "summary", "summary": "One"}, {"type": "summary", "summary": "Two"}, "Two"),
        ({"type": "summary", "summary": "One"}, "", "One"),
    ],
)
def test_a_title_that_the_log_states_later_counts_as_if_it_had_been_read_at_once(
    first, then, title, adding, data_dir, log
):
    log.write_text((json.dumps(first) + "\n" if first else "") + exchange(1))
    adding(data_dir, log)
    append(log, (json.dumps(then) + "\n" if then else "") + exchange(2))
    adding(data_dir, log)
    assert stored(data_dir)[0][0] == title


# --- whatever the cuts


def talk(chances: random.Random) -> str:
    """A log as long as chance has it: tiny and long messages, tools, titles, and lines that are no JSON."""
    made = []
    for number in range(chances.randint(8, 20)):
        role = chances.choice(["user", "user", "assistant", "assistant", "system"])
        text = chances.choice(["red", "huge ü green " * 9, LONG, LONG * 3])
        made.append(message(role, f"{number} {text}", 1 + number))
        made += chances.choice(
            [[], [], [], ["no json\n"], ["\n"], [json.dumps({"type": "summary", "summary": f"S{number}"}) + "\n"]]
        )
    return "".join(made)


def speech(chances: random.Random) -> str:
    made = ["Minutes", ""]
    for number in range(chances.randint(6, 16)):
        who = chances.choice(["Anna", "Bob", "Carla Maria"])
        made += [f"{who}: {number} {chances.choice(['red', LONG, LONG * 4])}", *chances.choice([[], ["and on"]])]
    return "\n".join(made) + "\n"


def captions(chances: random.Random) -> str:
    cues = []
    for number in range(chances.randint(10, 60)):
        voice = chances.choice(["", "<v Anna>", "<v Bob>"])
        cues.append(
            f"{number}\n00:{number:02}:00.000 --> 00:{number:02}:30.000\n{voice}{chances.choice(['red', 'huge green'])} {number}\n\n"
        )
    return "WEBVTT\n\n" + "".join(cues)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "make"), [("a.jsonl", talk), ("a.txt", speech), ("a.vtt", captions)])
def test_however_a_log_grows_the_store_is_what_one_reading_makes(name, make, seed, adding, data_dir, tmp_path):
    """Cut at any byte, between or within lines and characters: the same chunks, lines, title and facts; nothing embedded twice."""
    chances = random.Random(f"{name} {seed}")
    content = make(chances).encode()
    path = tmp_path / name
    at_least = 400  # so that the first part is a conversation by itself
    cuts = sorted(chances.sample(range(at_least, len(content)), 5))
    embedded = 0
    for end in (*cuts, len(content)):
        path.write_bytes(content[:end])
        os.utime(path, (1_700_000_000 + end, 1_700_000_000 + end))
        answer = adding(data_dir, path, doc_type="transcript")
        assert [file.status for file in answer.documents] in (["added"], ["appended"])
        embedded += answer.embedded
        assert problems(data_dir) == []

    at_once = tmp_path / "at-once"
    whole = adding(at_once, path, doc_type="transcript")

    assert stored(data_dir) == stored(at_once)
    assert embedded <= whole.embedded + 5 * 4  # an open exchange is made anew, at most a few chunks a time


def test_the_beginning_is_hashed_and_not_read(adding, data_dir, log):
    """Lines before the last exchange may say what they like: a warning about one of them is not said again."""
    log.write_text("no json\n" + exchange(1) + exchange(2))
    assert len(adding(data_dir, log).warnings) == 1
    append(log, exchange(3))
    assert adding(data_dir, log).warnings == ()


# --- in the store


def test_another_process_that_was_faster_is_not_undone(adding, data_dir, log, roomy_folder):
    """What it appended stays, and the same command given again goes on from there."""
    log.write_text(exchange(1))
    adding(data_dir, log)
    append(log, exchange(2))
    loaded = preferences.load(data_dir, {"KB_MODEL": str(roomy_folder)}).settings
    request = Request(paths=(log,))
    with store.reading(data_dir) as reader:
        candidates = Candidates(data_dir, loaded, request, reader)
        [late] = candidates.each()
    append(log, exchange(3))
    adding(data_dir, log)
    now = stored(data_dir)
    slow = Adding.prepare(data_dir, loaded, request, Silent())
    slow.run([late])
    assert [file.status for file in slow.files] == ["skipped"]
    assert stored(data_dir) == now


# --- who said it, and when


@pytest.fixture(scope="module")
def asked(tmp_path_factory, roomy_folder):
    """Search a store of one log of October and November, and one text; the answer."""
    folder = tmp_path_factory.mktemp("talks")
    october = message("user", f"red {LONG}").replace("2026-11", "2026-10")
    log = october + message("assistant", f"red answer {LONG}", 2) + message("user", f"red {LONG}", 20)
    running.write(folder / "docs", {"log.jsonl": log, "note.md": f"red {LONG}"})
    os.utime(folder / "docs/log.jsonl", (1_796_000_000, 1_796_000_000))  # November 2026
    os.utime(folder / "docs/note.md", (1_700_000_000, 1_700_000_000))
    running.here(folder, "add", "docs", "-r", KB_MODEL=roomy_folder)

    def ask(*arguments):
        ran = running.here(folder, "search", "red", "-j", "--per-document", "9", *arguments, KB_MODEL=roomy_folder)
        assert ran.code == 0, ran
        return ran.json

    return ask


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"log.jsonl 1", "log.jsonl 2", "log.jsonl 3", "note.md 1"}),
        (("--role", "user"), {"log.jsonl 1", "log.jsonl 3"}),
        (("--role", "Assistant"), {"log.jsonl 2"}),
        (("--role", "user", "--role", "assistant"), {"log.jsonl 1", "log.jsonl 2", "log.jsonl 3"}),
        (("--role", "user", "--since", "2026-11-01"), {"log.jsonl 3"}),
        (("--since", "2026-11-01"), {"log.jsonl 2", "log.jsonl 3"}),
        (("--since", "2026-11-01", "--before", "2026-11-10"), {"log.jsonl 2"}),
        (("--before", "2026-11-01"), {"log.jsonl 1", "note.md 1"}),
        (("--role", "nobody"), set()),
    ],
)
def test_search_finds_what_one_said_at_a_time(mode, options, expected, asked):
    """A filter over single passages, in either search; a text without times goes by its own date."""
    answer = asked("--mode", mode, *options)
    found = {f"{Path(hit['source']['path']).name} {hit['source']['lines'][0]}" for hit in answer["results"]}
    assert found == expected
    assert ("no document passes the filters" in answer["warnings"]) is (not expected)


def test_lines_of_a_log_are_shown_as_what_was_said(kb, log):
    """Not as JSON; and without a word on a file that has not changed."""
    log.write_text(exchange(1) + exchange(2))
    kb("add", log)
    ran = kb("get", "1", "--lines", "4")
    assert (ran.stdout.splitlines()[-1], ran.stderr) == ("assistant: answer 2", f"kb: {log}  lines 3-4  chunk 2\n")
    append(log, exchange(3))
    assert "the file has changed" in kb("get", "1", "--lines", "4").stderr
