"""What is found in other formats than JSON, and links for terminals that know how to open them."""

import csv
import functools
import io
import json
import os
import pty
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
import small_store
from running import environment, here

from index import failures, store
from index.rows import FailureRow

AWKWARD = 'red, "apples"\nand <pears> & plums'


@pytest.fixture
def fruit(make_store, data_dir, tmp_path):
    """Run `kb` in a store with three documents, of which one has two passages and one is a note."""
    make_store(
        small_store.document(
            "fruit", doc_type="pdf", tags=("kept", "ripe"),
            chunks=(
                small_store.chunk(AWKWARD, page=4, heading="Food > Fruit"),
                small_store.chunk("red apples twice", page=5),
            ),
        ),
        small_store.document("=1+2 |*bold*|", "red code\nwith ``` in it", doc_type="code"),
        small_store.document("a note", "red note", doc_type="note", source_path=None),
    )  # fmt: skip
    return lambda *arguments, **variables: here(tmp_path, *arguments, KB_DATA_DIR=data_dir, **variables)


SEARCH = ("search", "red", "--mode", "keyword")


def formatted(run, *arguments):
    ran = run(*arguments)
    assert (ran.code, ran.stderr) == (0, "")
    return ran.stdout


def test_jsonl_is_a_hit_a_line(fruit):
    lines = formatted(fruit, *SEARCH, "--format", "jsonl").splitlines()

    assert [json.loads(line) for line in lines] == json.loads(formatted(fruit, *SEARCH, "-j"))["results"]
    assert len(lines) == 4


def test_json_is_what_j_prints(fruit):
    for command in (SEARCH, ("list",), ("get", "1")):
        said = [json.loads(formatted(fruit, *command, *flag)) for flag in (["-j"], ["--format", "json"])]
        for answer in said:
            answer.pop("took_ms")
        assert said[0] == said[1]


def test_csv_is_read_back_as_it_was(fruit):
    rows = list(csv.DictReader(io.StringIO(formatted(fruit, *SEARCH, "--format", "csv"), newline="")))
    hits = json.loads(formatted(fruit, *SEARCH, "-j"))["results"]

    assert [row["text"] for row in rows] == [hit["text"] for hit in hits]
    assert [int(row["chunk_id"]) for row in rows] == [hit["chunk_id"] for hit in hits]
    first = next(row for row in rows if row["text"] == AWKWARD)
    assert (first["page"], first["heading"], first["tags"], first["stale"]) == (
        "4",
        "Food > Fruit",
        "kept, ripe",
        "true",
    )
    assert next(row for row in rows if row["title"] == "a note")["path"] == ""


def test_an_empty_csv_has_its_header(fruit):
    out = fruit("search", "nonsense", "--mode", "keyword", "--format", "csv").stdout

    assert out.startswith("rank,score,chunk_id,")
    assert out.count("\n") == 1


def test_a_listing_and_a_text_have_their_own_columns(fruit):
    listing = list(csv.DictReader(io.StringIO(formatted(fruit, "list", "--format", "csv"))))
    chunks = list(csv.DictReader(io.StringIO(formatted(fruit, "get", "1", "--format", "csv"))))

    assert [row["document_id"] for row in listing] == ["1", "2", "3"]
    assert [(row["page"], row["title"]) for row in chunks] == [("4", "fruit"), ("5", "fruit")]


def test_xml_is_well_formed_and_has_the_fields_of_json(fruit):
    root = ET.fromstring(formatted(fruit, *SEARCH, "--format", "xml"))

    hits = json.loads(formatted(fruit, *SEARCH, "-j"))["results"]
    assert root.tag == "SearchAnswer"
    assert [hit.findtext("text") for hit in root.iterfind("results/Hit")] == [hit["text"] for hit in hits]
    assert [hit.findtext("source/title") for hit in root.iterfind("results/Hit")] == [
        h["source"]["title"] for h in hits
    ]
    assert [tag.text for tag in root.iterfind("results/Hit[chunk_id='1']/source/tags/item")] == ["kept", "ripe"]
    assert root.find("results/Hit[chunk_id='1']/source/lines") is None


def test_xml_has_no_character_that_it_may_not_have(make_store, data_dir, tmp_path):
    text = "red \x00\x0b\x1b[31m\ufffe \r\n \U0001f34e ]]> &amp;"
    make_store(small_store.document("odd", text, metadata={"meta": {"<a key> \x01": "<value>"}}))

    ran = here(tmp_path, "search", "red", "--mode", "keyword", "--format", "xml", KB_DATA_DIR=data_dir)

    hit = ET.fromstring(ran.stdout).find("results/Hit")
    assert hit.findtext("text") == "red \ufffd\ufffd\ufffd[31m\ufffd \r\n \U0001f34e ]]> &amp;"
    entry = hit.find("source/meta/entry")
    assert (entry.get("name"), entry.text) == ("<a key> \ufffd", "<value>")


def test_paths_are_said_once_in_the_order_of_the_hits(fruit):
    out = formatted(fruit, *SEARCH, "--format", "paths")

    hits = json.loads(formatted(fruit, *SEARCH, "-j"))["results"]
    assert out.splitlines() == list(dict.fromkeys(hit["source"]["path"] for hit in hits if hit["source"]["path"]))
    assert formatted(fruit, *SEARCH, "--format", "paths0") == out.replace("\n", "\0")
    assert formatted(fruit, "list", "--format", "paths").splitlines() == ["/made/up/fruit", "/made/up/=1+2 |*bold*|"]
    assert formatted(fruit, "get", "1", "--format", "paths") == "/made/up/fruit\n"


def test_markdown_quotes_what_was_found_and_cites_it(fruit):
    out = formatted(fruit, *SEARCH, "--format", "markdown", "--type", "pdf", "-n", "1", "--group")
    best = json.loads(formatted(fruit, *SEARCH, "-j", "--type", "pdf", "-n", "1", "--group"))["results"][0]

    assert out.startswith(
        f"1. **fruit**{', Food > Fruit'.replace('>', chr(92) + '>') if best['chunk_id'] == 1 else ''}\n"
    )
    assert f"   > {best['text'].splitlines()[0]}\n" in out
    page = best["source"]["page"]
    assert f"   `/made/up/fruit`, page {page} (chunk {best['chunk_id']}, score {best['score']:.2f}, the file has" in out


OVER_TWO_PAGES = {"page": 3, "metadata": {"pages": [3, 4]}}


def test_a_passage_that_goes_over_the_end_of_a_page_is_cited_with_both(make_store, data_dir, tmp_path):
    chunks = (small_store.chunk("red apples", **OVER_TWO_PAGES), small_store.chunk("green pears", page=5))
    make_store(small_store.document("manual", doc_type="pdf", chunks=chunks))
    run = functools.partial(here, tmp_path, KB_DATA_DIR=data_dir)

    hits = run(*SEARCH, "-j").json["results"]
    csv_row = next(csv.DictReader(io.StringIO(formatted(run, *SEARCH, "--format", "csv"))))
    pages_got = [(chunk["page"], chunk["pages"]) for chunk in run("get", 1, "-j").json["chunks"]]

    assert [(hit["source"]["page"], hit["source"]["pages"]) for hit in hits] == [(3, [3, 4])]
    assert "`/made/up/manual`, pages 3-4 (chunk 1," in formatted(run, *SEARCH, "--format", "markdown")
    assert "pdf  pages 3-4" in formatted(run, *SEARCH, "--format", "human")
    assert (csv_row["page"], csv_row["last_page"]) == ("3", "4")
    assert pages_got == [(3, [3, 4]), (5, [5, 5])]
    assert "`/made/up/manual`, pages 3-4\n" in formatted(run, "get", 1, "--around", 0, "--format", "markdown")
    assert "pages 3-4  2 tokens" in formatted(run, "show", 1)


def test_a_note_is_cited_with_where_it_says_that_it_is_from(make_store, data_dir, tmp_path):
    """A note is no second witness: whoever cites it should name its source."""
    meta = {"meta": {"source": "/made/up/contract.pdf, page 3"}}
    note = {"doc_type": "note", "source_path": None}
    make_store(
        small_store.document("a note", "red", metadata=meta, **note), small_store.document("other", "red too", **note)
    )

    out = formatted(functools.partial(here, tmp_path, KB_DATA_DIR=data_dir), *SEARCH, "--format", "markdown")

    assert "note: a note, from /made/up/contract.pdf, page 3 (chunk" in out
    assert "note: other (chunk" in out


def test_what_is_said_to_have_failed_has_its_formats_too(fruit, data_dir):
    with store.writing(data_dir) as writer, writer.transaction():
        for path, kind in (("/made/up/z|.pdf", "failed"), ("/made/up/a.png", "no_text")):
            row = FailureRow(
                source_path=path,
                content_hash="",
                mtime_ns=0,
                size=0,
                kind=kind,
                reason=f"{path}: torn",
                failed_at="2026",
            )
            failures.record(writer.connection, row)

    files = json.loads(formatted(fruit, "list", "--failed", "-j"))["files"]

    assert [(file["path"], file["status"]) for file in files] == [
        ("/made/up/z|.pdf", "failed"),
        ("/made/up/a.png", "no_text"),
    ]
    assert list(csv.DictReader(io.StringIO(formatted(fruit, "list", "--failed", "--format", "csv")))) == files
    assert formatted(fruit, "list", "--failed", "--format", "paths") == "/made/up/z|.pdf\n/made/up/a.png\n"
    assert "| failed | `/made/up/z\\|.pdf` |" in formatted(fruit, "list", "--failed", "--format", "markdown")
    assert formatted(fruit, "list", "--failed").splitlines() == [
        "failed    /made/up/z|.pdf  torn", "no_text   /made/up/a.png  torn", "1-2 of 2 files that are not in the store",
    ]  # fmt: skip


def test_markdown_keeps_the_marks_of_titles_and_listings_to_themselves(fruit):
    from markdown_it import MarkdownIt

    out = formatted(fruit, *SEARCH, "--format", "markdown", "--type", "code")
    tokens = MarkdownIt().parse(out)

    assert next(token.content for token in tokens if token.type == "fence") == "red code\nwith ``` in it\n"
    strong = next(token for token in tokens if token.type == "inline").children
    assert "".join(part.content for part in strong) == "=1+2 |*bold*|"


def test_a_listing_in_markdown_is_a_table_of_five_columns(fruit):
    from markdown_it import MarkdownIt

    tokens = MarkdownIt().enable("table").parse(formatted(fruit, "list", "--format", "markdown"))

    assert [token.type for token in tokens].count("td_open") == 3 * 5


def test_several_queries_are_their_one_list(fruit):
    queries = ("search", "red", "--also", "twice", "--mode", "keyword")
    fused = json.loads(formatted(fruit, *queries, "-j"))["fused"]

    rows = list(csv.DictReader(io.StringIO(formatted(fruit, *queries, "--format", "csv"), newline="")))
    assert [int(row["chunk_id"]) for row in rows] == [hit["chunk_id"] for hit in fused]


def test_warnings_are_talk_and_go_to_standard_error(fruit):
    ran = fruit(*SEARCH, "--rerank", "--format", "jsonl", KB_RERANK_MODEL="/nowhere")

    assert all("chunk_id" in line for line in ran.stdout.splitlines())
    assert ran.stderr.startswith("kb: ")


@pytest.mark.parametrize("command", [SEARCH, ("list",), ("get", "1"), ("similar", "1")], ids=lambda c: c[0])
def test_two_formats_at_once_are_refused(command, fruit):
    ran = fruit(*command, "-j", "--format", "csv")

    assert ran.code == 2
    assert "-j is --format json" in ran.json["error"]["message"]


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_an_error_is_a_line_of_json_for_those_who_read_that(name, fruit):
    for flag in (("--format", name), (f"--format={name}",)):
        assert fruit("get", "999", *flag).json["error"]["code"] == "NotFound"
    assert fruit("get", "999", "--format", "csv").stdout == ""


def test_the_similar_are_in_every_format_too(fruit):
    assert formatted(fruit, "similar", "1", "--format", "paths").splitlines()


def test_an_original_goes_without_a_format(fruit):
    assert fruit("get", "1", "--original", "--format", "csv").code == 2


def test_a_search_in_json_does_not_load_the_other_formats(make_store, data_dir):
    make_store(small_store.document("fruit", "apples"))
    probe = "import sys; from kb.cli.door import run; run(sys.argv[1:]); sys.exit('kb.cli.formats' in sys.modules)"

    for flag in ("-j", "--format=human"):
        command = [sys.executable, "-c", probe, "search", "apples", "--mode", "keyword", flag]
        assert subprocess.run(command, env=environment(data_dir), capture_output=True, check=False).returncode == 0


# Terminals


def on_terminal(data_dir, *arguments, **variables):
    """What `kb` writes where standard output is a terminal."""
    ours, theirs = pty.openpty()
    wanted = {**environment(data_dir), "TERM": "xterm-256color", **variables}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    process = subprocess.Popen([sys.executable, "-m", "kb", *arguments], stdout=theirs, env=wanted)
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says so at the end
            break
        if not piece:
            break
        pieces.append(piece)
    process.wait()
    os.close(ours)
    return b"".join(pieces).decode()


LINK = "\x1b]8;;"


def test_a_path_is_a_link_to_the_file_and_page(make_store, data_dir):
    name = "odd name#\x1b]8;;evil\x07.pdf"
    make_store(small_store.document(name, chunks=(small_store.chunk("red", page=7),), doc_type="pdf"))

    out = on_terminal(data_dir, *SEARCH)

    assert f"{LINK}file:///made/up/odd%20name%23%1B%5D8%3B%3Bevil%07.pdf#page=7\x1b\\" in out
    assert out.count(LINK) == 2
    assert "evil\x07" not in out
    assert f"{LINK}file:///made/up/odd%20name%23%1B%5D8%3B%3Bevil%07.pdf\x1b\\" in on_terminal(data_dir, "list")


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_there_are_no_links_where_no_styles_are_wanted(variable, make_store, data_dir):
    make_store(small_store.document("fruit", "red"))

    out = on_terminal(data_dir, *SEARCH, **variable)

    assert "/made/up/fruit" in out
    assert "\x1b" not in out


def test_there_are_no_links_in_a_pipe(fruit):
    assert "\x1b" not in formatted(fruit, *SEARCH, "--format", "human")
