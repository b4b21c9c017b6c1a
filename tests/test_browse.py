"""What is in the store: get, list, show, remove, tags, status, config, init; each as lines and as JSON."""

from __future__ import annotations

from functools import partial

import pytest
import running
import small_store

from kb.browse import parse_lines
from kb.errors import BadRequest

LONG = "\n\n".join(f"# Part {part}\n\n{f'red{part} ' * 60}".strip() for part in range(5))


@pytest.fixture(scope="module")
def library(tmp_path_factory, roomy_folder):
    """Four documents, which no test changes: ids 1 to 4 are a.md, b.txt, c.py and a note."""
    folder = tmp_path_factory.mktemp("library")
    running.write(folder / "docs", {"a.md": LONG, "b.txt": "one\ntwo\n\nfour\n", "c.py": "def f():\n    return 1\n"})
    for name in ("a.md", "b.txt", "c.py"):
        running.here(folder, "add", folder / "docs" / name, "--tag", name[0], KB_MODEL=roomy_folder)
    running.here(folder, "add", "--note", "a note", "--tag", "a", KB_MODEL=roomy_folder)
    return folder


@pytest.fixture(scope="module")
def see(library, roomy_folder):
    """Run a reading command on the library."""
    return partial(running.here, library, KB_MODEL=roomy_folder)


@pytest.fixture
def kb(tmp_path, roomy_folder):
    """Run any command on a store with the document 1, `docs/a.md`."""
    run = partial(running.here, tmp_path, KB_MODEL=roomy_folder)
    running.write(tmp_path / "docs", {"a.md": "# Red\n\nred"})
    run("add", "docs", "-r")
    return run


# get


def test_get_prints_the_plain_text_by_id_or_path(see, library):
    assert see("get", 2).stdout == "one\ntwo\n\nfour\n"
    assert see("get", "docs/b.txt").stdout == see("get", library / "docs/b.txt").stdout == "one\ntwo\n\nfour\n"


def test_get_gives_the_whole_text_of_a_document_of_many_chunks(see):
    assert see("get", 1).stdout == LONG + "\n"


def test_get_in_json_names_the_document_and_its_chunks(see):
    answer = see("get", 2, "-j").json

    assert answer.keys() == {"document", "text", "chunks", "took_ms", "warnings"}
    assert answer["document"]["document_id"] == 2
    assert answer["chunks"][0].keys() >= {"chunk_id", "text", "heading", "page", "lines", "token_count"}


@pytest.mark.parametrize(
    ("lines", "text"), [("1:2", "one\ntwo\n"), ("2", "two\n"), ("2:", "two\n\nfour\n"), ("4:99", "four\n"), ("3", "\n")]
)
def test_get_by_lines_gives_the_lines_of_the_file(see, lines, text):
    assert see("get", 2, "--lines", lines).stdout == text


def test_get_by_lines_gives_the_chunks_that_hold_them(see):
    chunks = see("get", 1, "--lines", "5:7", "-j").json["chunks"]

    assert [chunk["lines"] for chunk in chunks] == [[5, 7]]


def test_get_by_lines_of_a_file_that_has_changed_gives_the_stored_text(kb, tmp_path):
    (tmp_path / "docs/a.md").write_text("something else")

    ran = kb("get", 1, "--lines", "1:1")

    assert ran.stdout == "# Red\n\nred\n"
    assert "the file has changed since it was read" in ran.stderr


def test_get_by_lines_of_a_file_that_is_gone_says_that(kb, tmp_path):
    (tmp_path / "docs/a.md").unlink()

    assert "the file is gone: these are the stored chunks" in kb("get", 1, "--lines", "1:1").stderr


@pytest.mark.parametrize("named", ["b.txt", "B.TXT", "./b.txt", "b"])
def test_a_file_name_or_a_title_is_no_id_but_says_which_document_it_may_be(see, library, named):
    ran = see("get", named)

    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr == f"kb: no document {named} (did you mean 2, {library / 'docs/b.txt'}?)\n"


@pytest.mark.parametrize("named", ["%", "_.txt", "xt", ".txt", "docs"])
def test_what_is_only_part_of_a_name_names_nothing(see, named):
    assert see("get", named).stderr == f"kb: no document {named} (kb list shows ids and paths)\n"


def test_who_asks_for_lines_where_there_are_none_is_told_what_there_is(make_store, data_dir, tmp_path):
    paged, plain = (small_store.chunk(text, page=page) for text, page in (("red", 3), ("green", None)))
    make_store(
        small_store.document("a", doc_type="pptx", chunks=(paged,)),
        small_store.document("b", doc_type="docx", chunks=(plain,)),
    )

    said = [running.here(tmp_path, "get", one, "--lines", "1:2", KB_DATA_DIR=data_dir).stderr for one in (1, 2)]

    assert "it has pages and no lines" in said[0]
    assert "it has no lines" in said[1]


def test_what_is_known_of_a_document_stands_in_one_column(see):
    facts = see("show", 1).stdout.partition("\n\n")[0].split("\n")

    assert len(facts) > 12
    assert {line[18:19] for line in facts} <= {" ", ""}
    assert not any(line[19:20] == " " for line in facts)


def test_the_heading_of_code_is_the_symbol_it_defines(see):
    [hit] = see("search", "-j", "--mode", "keyword", "return").json["results"]
    [got] = see("get", 3, "-j").json["chunks"]

    assert (hit["source"]["heading"], got["heading"]) == ("f", "f")
    assert see("view", hit["chunk_id"], "-j").json["heading"] == "f"


def test_files_that_could_not_be_read_are_listed_with_the_reason(kb, tmp_path):
    """Those without text after them; a file that was mended is not among them any more."""
    running.write(tmp_path / "docs", {"torn.pdf": "%PDF-1.7 nothing more", "empty.md": " \n"})
    kb("add", "docs", "-r")

    answer = kb("list", "--failed", "-j").json

    assert [(file["path"].rpartition("/")[2], file["status"]) for file in answer["files"]] == [
        ("torn.pdf", "failed"), ("empty.md", "no_text"),
    ]  # fmt: skip
    assert all(file["reason"] and file["failed_at"] for file in answer["files"])
    assert answer["files"][1]["reason"].endswith("holds no text (there is nothing to index)")
    assert (answer["total"], answer["returned"]) == (2, 2)
    assert kb("list", "--failed", "-n", 1, "--offset", 1, "-j").json["files"] == answer["files"][1:]
    (tmp_path / "docs/torn.pdf").unlink()
    running.write(tmp_path / "docs", {"empty.md": "no more"})
    kb("add", "docs", "-r")
    assert [file["status"] for file in kb("list", "--failed", "-j").json["files"]] == ["failed"]
    assert kb("list", "--failed", "--tag", "red").code == 2


@pytest.mark.parametrize("lines", ["0:5", "5:2", "-3", "a:b", "", ":", "1:2:3"])
def test_lines_that_are_no_range_are_refused(see, lines):
    assert see("get", 2, "--lines", lines).code == 2
    with pytest.raises(BadRequest):
        parse_lines(lines)


def test_lines_and_pages_that_are_not_there_say_what_is(see):
    assert "it has text on lines 1 to 4" in see("get", 2, "--lines", "50").stderr
    for command in ("get", "view"):
        ran = see(command, 2, "--page", "1")
        assert (ran.code, ran.stderr) == (
            3, "kb: nothing on page 1 (type text has no pages: read all of it, or around a chunk)\n"
        )  # fmt: skip


def test_the_number_of_a_chunk_is_no_document_but_says_what_it_is(see):
    chunk = see("show", 4, "-j").json["chunks"][0]["chunk_id"]
    ran = see("show", chunk)

    assert ran.stderr == (
        f"kb: no document {chunk} (it is a chunk of document 4: kb get {chunk} --around 0 shows it)\n"
    )  # fmt: skip
    assert see("get", chunk, "--around", 0).stdout == "a note\n"


def test_get_by_page_gives_that_page(kb, tmp_path):
    import pymupdf

    document = pymupdf.open()
    for number in (1, 2):
        document.new_page().insert_text((72, 72), f"This is the text of page number {number}, which is about heat.")
    document.save(tmp_path / "docs/p.pdf")
    kb("add", "docs/p.pdf")

    assert "page number 2" in kb("get", 2, "--page", 2).stdout


def test_get_around_gives_a_chunk_with_its_neighbours(see):
    ids = [chunk["chunk_id"] for chunk in see("show", 1, "-j").json["chunks"]]

    def around(chunk_id, count):
        return [chunk["chunk_id"] for chunk in see("get", chunk_id, "--around", count, "-j").json["chunks"]]

    assert around(ids[2], 1) == ids[1:4]
    assert around(ids[0], 1) == ids[:2]
    assert around(ids[4], 0) == ids[4:]
    assert around(ids[2], 99) == ids


def test_a_part_is_printed_with_what_it_is_cited_by_beside_its_text(see, library):
    """On standard error, so that a pipe gets the text alone; nothing where all was asked for, or JSON."""
    ids = [chunk["chunk_id"] for chunk in see("show", 1, "-j").json["chunks"]]
    markdown, text = library / "docs/a.md", library / "docs/b.txt"

    assert see("get", 2, "--lines", "2:").stderr == f"kb: {text}  lines 2-4  chunk {ids[-1] + 1}\n"
    assert see("get", ids[1], "--around", 1).stderr == (
        f"kb: {markdown}  lines 1-11  chunks {ids[0]}-{ids[2]}\nkb: 2 more chunks to the end of the document\n"
    )
    assert see("get", ids[4], "--around", 1).stderr.endswith("kb: the document ends here\n")
    assert see("get", 2).stderr == see("get", 2, "--lines", "2", "-j").stderr == ""
    assert see("get", 2, "--lines", "2", "--format", "markdown").stderr == ""


def test_a_part_of_pages_is_printed_with_its_pages(make_store, data_dir, tmp_path):
    chunks = [small_store.chunk(text, page=page) for text, page in (("red", 3), ("green", 4))]
    make_store(small_store.document("a", doc_type="pptx", chunks=tuple(chunks)))

    [said] = running.here(tmp_path, "get", 1, "--page", 4, KB_DATA_DIR=data_dir).stderr.splitlines()

    assert said == "kb: /made/up/a  page 4  chunk 2  STALE: the file has changed or is gone"


def test_in_json_a_chunk_says_whether_another_follows(see):
    last = see("show", 1, "-j").json["chunks"][-1]["chunk_id"]
    answer = see("get", last, "--around", 0, "-j").json

    assert answer["chunks"][-1]["chunk_index"] == answer["document"]["chunks"] - 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["99"], 3),
        (["gone.md"], 3),
        (["9" * 30], 3),
        (["9" * 30, "--around", "1"], 2),
        (["99", "--around", "1"], 3),
        (["docs/a.md", "--around", "1"], 2),
        (["1", "--lines", "1", "--page", "1"], 2),
        (["1", "--page", "0"], 2),
    ],
)
def test_get_of_what_is_not_there_or_cannot_be_is_an_error_in_json_too(see, arguments, code):
    ran = see("get", "-j", *arguments)

    assert (ran.code, ran.json["error"]["exit_code"]) == (code, code)
    assert ran.json["error"]["hint"]


# list and show


def test_list_in_json_has_the_documents_with_their_keys(see):
    answer = see("list", "-j").json

    assert answer.keys() == {"documents", "total", "offset", "returned", "took_ms", "warnings"}
    assert answer["documents"][0].keys() == {
        "document_id", "title", "path", "type", "tags", "language", "chunks", "size", "created_at", "modified_at", "stale",
        "meta", "warnings",
    }  # fmt: skip
    assert [document["type"] for document in answer["documents"]] == ["markdown", "text", "code", "note"]


def test_list_is_paged_and_all_is_one_page(see):
    def page(*arguments):
        answer = see("list", "-j", *arguments).json
        return [document["document_id"] for document in answer["documents"]], answer["total"], answer["returned"]

    assert page("-n", 3) == ([1, 2, 3], 4, 3)
    assert page("-n", 3, "--offset", 3) == ([4], 4, 1)
    assert page("--offset", 10) == ([], 4, 0)
    assert page("-n", 1, "--all") == ([1, 2, 3, 4], 4, 4)
    assert see("list", "-j", "-n", "9" * 30).code == 2


def test_list_is_filtered(see):
    def ids(*arguments):
        return [document["document_id"] for document in see("list", "-j", *arguments).json["documents"]]

    assert ids("--tag", "a") == [1, 4]
    assert ids("--type", "code") == [3]
    assert ids("--path", "*.txt") == [2]
    assert ids("--tag", "nothing") == []


def test_list_for_a_person(see, library):
    lines = see("list", "-n", 2).stdout.splitlines()

    assert lines == [
        f"     1  markdown  Part 0  #a  {library}/docs/a.md",
        f"     2  text      b  #b  {library}/docs/b.txt",
        "1-2 of 4 documents",
    ]


def test_list_of_an_empty_page_for_a_person(see):
    assert see("list", "--tag", "nothing").stdout == "0 of 0 documents\n"


def test_show_tells_what_is_known(see, library):
    answer = see("show", "docs/a.md", "-j").json
    lines = see("show", 1).stdout

    keys = {"document", "extractor", "content_hash", "metadata", "original", "chunks", "took_ms", "warnings"}
    assert answer.keys() == keys
    assert (answer["extractor"], len(answer["content_hash"]), len(answer["chunks"])) == ("markdown", 64, 5)
    assert str(library / "docs/a.md") in lines
    assert "Part 4" in lines


def test_show_repeats_what_was_said_when_the_document_was_read(kb, tmp_path):
    running.write(tmp_path / "docs", {"broken.json": '{"a": 1,\n"b"}'})
    said = kb("add", "docs/broken.json", "-j").json["warnings"]

    shown = kb("show", "docs/broken.json", "-j").json

    assert said == [f"broken: {warning}" for warning in shown["warnings"]] != []
    [listed] = kb("list", "--path", "*.json", "-j").json["documents"]
    assert listed["warnings"] == shown["document"]["warnings"] == shown["warnings"]
    assert shown["metadata"] == {}
    assert shown["warnings"][0] in kb("show", "docs/broken.json").stderr


def test_a_path_means_its_newest_version(kb, tmp_path):
    (tmp_path / "docs/a.md").write_text("newer")
    kb("add", "docs", "-r")

    assert kb("get", "docs/a.md").stdout == "newer\n"


# remove


def test_remove_by_id_and_path_leaves_the_files(kb, tmp_path):
    kb("add", "--note", "note")

    ran = kb("remove", "2", "docs/a.md")

    assert ran.stdout.splitlines() == [
        "Removed: note",
        f"Removed: {tmp_path}/docs/a.md",
        "Removed 2 documents with 2 chunks.",
    ]
    assert kb("list", "-j").json["total"] == 0
    assert (tmp_path / "docs/a.md").exists()


def test_remove_by_path_removes_every_version(kb, tmp_path):
    (tmp_path / "docs/a.md").write_text("newer")
    kb("add", "docs", "-r")

    answer = kb("remove", "docs/a.md", "-j").json

    assert [document["document_id"] for document in answer["removed"]] == [2, 1]
    assert answer["chunks"] == 2


def test_remove_of_something_unknown_removes_nothing(kb):
    ran = kb("remove", "1", "99", "-j")

    assert (ran.code, ran.json["error"]["code"]) == (3, "NotFound")
    assert kb("list", "-j").json["total"] == 1


def test_rows_of_removed_documents_are_dead_until_compact(kb):
    kb("add", "--note", "note")
    kb("remove", "1")

    before = kb("status", "-j").json
    compacted = kb("compact", "-j").json
    after = kb("status", "-j").json

    assert (before["rows"], before["dead_rows"]) == (2, 1)
    assert before["warnings"] == ["1 of 2 rows of the matrix are dead: kb compact gives their room back"]
    assert (compacted["rows_before"], compacted["rows_after"]) == (2, 1)
    assert compacted["reclaimed_bytes"] >= 0
    assert (after["rows"], after["dead_rows"], after["warnings"]) == (1, 0, [])


def test_compact_says_how_much_was_reclaimed(kb):
    kb("remove", "1")

    lines = kb("compact").stdout.splitlines()

    assert lines[0].startswith("Compacted: 1 rows became 0, 1 vectors were forgotten, ")
    assert lines[0].endswith(" MB reclaimed.")
    assert kb("compact", "--vacuum", "-j").json["vacuumed"] is True


# tags


def test_tags_are_given_taken_listed_and_described(kb):
    assert kb("tag", "add", "1", "x", "y", "-j").json["tags"] == [
        {"name": "x", "description": "", "documents": 1},
        {"name": "y", "description": "", "documents": 1},
    ]
    assert kb("tag", "describe", "x", "about x", "-j").json["tags"][0]["description"] == "about x"
    assert kb("tag-describe", "y", "about y").code == 0
    assert kb("tag", "list").stdout.splitlines() == [
        f"{'x':<24} {1:>6}  about x",
        f"{'y':<24} {1:>6}  about y",
    ]
    assert kb("list", "-j", "--tag", "x", "--tag", "y").json["total"] == 1

    kb("tag", "remove", "docs/a.md", "x")

    assert kb("list", "-j").json["documents"][0]["tags"] == ["y"]
    assert kb("tag", "list", "-j").json["tags"][0] == {"name": "x", "description": "about x", "documents": 0}


def test_a_tag_that_nothing_carries_and_nobody_described_is_forgotten(kb):
    kb("tag", "add", "1", "x")

    left = kb("tag", "remove", "1", "x", "-j").json

    assert left["changed"] == 1
    assert "x" not in {tag["name"] for tag in left["tags"]}
    assert left["tags"] == kb("tag", "list", "-j").json["tags"]


def test_tags_of_an_unknown_document_and_empty_tags_are_refused(kb):
    assert kb("tag", "add", "99", "x").code == 3
    assert kb("tag", "add", "1", " ").code == 2
    assert kb("tag", "describe", "", "text").code == 2


def test_there_are_no_tags_at_first(kb):
    assert kb("tag", "list").stdout == "There are no tags.\n"


# status, config, init, doctor, reindex


def test_status_has_the_keys_of_the_contract(see, roomy_folder):
    answer = see("status", "-j").json

    assert {"documents", "chunks", "dead_rows", "model"} <= answer.keys()
    assert (answer["documents"], answer["chunks"], answer["dead_rows"]) == (4, 8, 0)
    assert answer["model"] == str(roomy_folder)
    assert answer["by_type"] == {"code": 1, "markdown": 1, "note": 1, "text": 1}
    assert "documents          4\n" in see("status").stdout


def test_config_shows_each_value_with_its_origin(see, library, roomy_folder):
    (library / "store/config.yaml").write_text("search:\n  rrf_k: 30\n")
    try:
        rows = {row["key"]: row for row in see("config", "-j", KB_DEFAULT_TOP=5).json["settings"]}
        lines = see("config", KB_DEFAULT_TOP=5).stdout.splitlines()
    finally:
        (library / "store/config.yaml").unlink()

    assert {(key, rows[key]["value"], rows[key]["origin"]) for key in ("search.rrf_k", "search.default_top", "embedding.model", "search.default_format")} == {
        ("search.rrf_k", 30, "config.yaml"),
        ("search.default_top", 5, "KB_DEFAULT_TOP"),
        ("embedding.model", str(roomy_folder), "KB_MODEL"),
        ("search.default_format", "auto", "default"),
    }  # fmt: skip
    assert any(line.split()[:4] == ["search.default_top", "5", "KB_DEFAULT_TOP", "KB_DEFAULT_TOP"] for line in lines)


def test_config_says_where_token_limits_are_capped(see):
    rows = {row["key"]: row for row in see("config", "-j", KB_CHUNKING_CODE_MAX_TOKENS=100).json["settings"]}

    assert rows["chunking.markdown.max_tokens"]["note"].startswith("capped at 254, what ")
    assert rows["chunking.code.max_tokens"]["note"] == ""


def test_config_warns_of_a_variable_that_means_nothing(see):
    answer = see("config", "-j", KB_DEFUALT_TOP=5).json

    assert answer["warnings"] == ["KB_DEFUALT_TOP is no setting; did you mean KB_DEFAULT_TOP?"]


def test_config_works_before_there_is_a_store(tmp_path):
    assert running.here(tmp_path, "config", "-j").json["settings"]
    assert not (tmp_path / "store").exists()


def test_init_makes_the_store(tmp_path, roomy_folder):
    first = running.here(tmp_path, "init", "-j", KB_MODEL=roomy_folder).json
    second = running.here(tmp_path, "init", "-j", KB_MODEL=roomy_folder).json

    assert (first["model"], first["created"], second["created"]) == (str(roomy_folder), True, False)
    assert running.here(tmp_path, "list", "-j").json["total"] == 0


def test_doctor_finds_nothing_wrong(see):
    answer = see("doctor", "-j").json

    assert answer["ok"] is True
    assert {check["name"] for check in answer["checks"]} >= {"matrix", "lexical index", "embedding model"}
    assert see("doctor").stdout.startswith("ok      database integrity\n")


def test_reindex_with_nothing_to_do_says_so(see):
    answer = see("reindex", "-j").json

    assert (answer["embedded"], answer["reused"]) == (0, 8)


@pytest.mark.parametrize(
    "arguments",
    [["list"], ["show", "1"], ["get", "1"], ["remove", "1"], ["tag", "list"], ["tag", "add", "1", "x"], ["status"], ["compact"], ["reindex"], ["doctor"], ["search", "x"]],
)  # fmt: skip
def test_without_a_store_every_command_says_what_to_do(tmp_path, arguments):
    ran = running.here(tmp_path, *arguments, "-j")

    assert (ran.code, ran.json["error"]["code"]) == (3, "StoreMissing")
    assert ran.json["error"]["hint"] == "add something first: kb add PATH"
