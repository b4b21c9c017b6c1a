"""Text that was read from a picture is marked wherever it is shown, and other text is not."""

from __future__ import annotations

import csv
import functools
import io
from xml.etree import ElementTree as ET

import pytest
import small_store
from running import here
from serving import serving
from talking import agent

READ_BY_OCR = {"red one": False, "red one and two": True, "red three": True, "red four": False, "red text": False}
SEARCH = ("search", "red", "--mode", "keyword", "--per-document", 9)


@pytest.fixture
def shelf(make_store, data_dir, tmp_path):
    """A document of which pages 2 and 3 are pictures, a passage that goes over from the page before, and a text that claims to have pages."""
    make_store(
        small_store.document(
            "scan.pdf", doc_type="pdf", metadata={"ocr_pages": [[2, 3]]},
            chunks=(
                small_store.chunk("red one", page=1),
                small_store.chunk("red one and two", page=1, metadata={"pages": [1, 2]}),
                small_store.chunk("red three", page=3),
                small_store.chunk("red four", page=4),
            ),
        ),
        small_store.document("a.md", "red text", doc_type="markdown", metadata={"ocr_pages": "all"}),
    )  # fmt: skip
    return functools.partial(here, tmp_path, KB_DATA_DIR=data_dir)


def test_a_hit_says_so_only_where_it_is_so(shelf):
    hits = {hit["text"]: hit["source"] for hit in shelf(*SEARCH, "-j").json["results"]}

    assert {text: source.get("ocr", False) for text, source in hits.items()} == READ_BY_OCR
    assert not any("ocr" in source for text, source in hits.items() if not READ_BY_OCR[text])


def test_what_is_read_on_from_a_hit_says_so_too(shelf):
    chunks = shelf("get", 1, "-j").json["chunks"] + shelf("show", 2, "-j").json["chunks"]

    assert {chunk["text"]: chunk.get("ocr", False) for chunk in chunks} == READ_BY_OCR
    assert "page 3  2 tokens  ocr" in shelf("show", 1).stdout


def test_a_person_is_told(shelf):
    shown = shelf(*SEARCH, "--format", "human").stdout
    quoted = shelf("search", '"red four"', "--mode", "keyword", "--format", "markdown").stdout

    assert "pages 1-4  ocr" in shown
    assert "read by OCR" in shelf(*SEARCH, "--format", "markdown").stdout
    assert "OCR" not in quoted
    assert ["OCR" in shelf("get", 1, "--page", page).stderr for page in (3, 4)] == [True, False]


def test_other_formats_say_so(shelf):
    rows = csv.DictReader(io.StringIO(shelf(*SEARCH, "--format", "csv").stdout))
    sources = ET.fromstring(shelf(*SEARCH, "--format", "xml").stdout).iter("source")
    got = csv.DictReader(io.StringIO(shelf("get", 1, "--format", "csv").stdout))

    assert {row["text"]: row["ocr"] == "true" for row in rows} == READ_BY_OCR
    assert sorted(source.findtext("ocr", "") for source in sources) == ["", "", "", "true", "true"]
    assert [row["ocr"] for row in got] == ["false", "true", "true", "false"]


def test_agents_are_told_and_their_schema_knows_it(shelf, data_dir):
    with agent(data_dir) as one:
        results = one.ask("search", query="red", mode="keyword", per_document=9)["results"]
        page, whole = one.ask("get", document=1, page=4), one.ask("get", document=1)

    assert {hit["text"]: hit.get("ocr", False) for hit in results} == READ_BY_OCR
    assert ("ocr" in page, whole["ocr"]) == (False, True)


def test_over_http_too_and_the_schema_does_not_promise_it(shelf, data_dir, tmp_path):
    with serving(data_dir, cwd=tmp_path) as server:
        results = server.get("/search", query="red", mode="keyword", per_document=9).json["results"]
        source = server.get("/openapi.json").json["components"]["schemas"]["HitSource"]

    assert {hit["text"]: hit["source"].get("ocr", False) for hit in results} == READ_BY_OCR
    assert source["properties"]["ocr"]["type"] == "boolean"
    assert {"stale", "meta"} <= set(source["required"])
    assert "ocr" not in source["required"]
