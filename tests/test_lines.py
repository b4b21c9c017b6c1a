"""The lines of a passage are lines of its file: of every type that has lines, however the text was changed for reading."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from functools import partial

import pytest
import running
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.chunk import chunk, plan_for
from kb.model import shipped_tokenizer
from kb.read.kinds import reader
from kb.settings import Chunking
from kb.types import Chunk, Document, Lines, ReadOptions, Source
from models.tokenizer import TokenCounter

COUNTER = TokenCounter.load(shipped_tokenizer())
MARK = re.compile(r"(?<![A-Z])Q[A-J]+(?![A-Z])")
"""A word for a line, `numbered` below: every line of a file but its brackets holds its own."""


def numbered(text: str) -> str:
    """`@` replaced by a word that says on which line it stands."""
    lines = text.split("\n")
    return "\n".join(line.replace("@", word(number)) for number, line in enumerate(lines, start=1))


def word(line: int) -> str:
    return "Q" + "".join(chr(ord("A") + int(digit)) for digit in str(line))


def lines_said(text: str) -> list[int]:
    return [int("".join(str(ord(c) - ord("A")) for c in said[1:])) for said in MARK.findall(text)]


def csv_of(rows: list[list[str]], delimiter: str) -> str:
    """Cells of `@`, of which some hold line ends."""
    out = io.StringIO()
    header = [f"{name} @" for name in ("alpha", "beta", "gamma")]
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def front(text: str, *, has: bool) -> str:
    return f"---\nowner: Ada\n---\n\n{text}" if has else text


def minified(rows: list[list[int]]) -> str:
    """Lines that are too long to read, so that they are printed anew."""
    return "[" + ",\n".join(json.dumps([{"key": "@ " * size + "@"} for size in row]) for row in rows) + "]"


sizes = st.lists(st.integers(0, 60), min_size=1, max_size=25)
few = st.lists(st.integers(0, 3), min_size=1, max_size=3)
said = st.sampled_from(["@", "@ @", "@ " * 30, "@ @. " * 120])
prose = st.lists(st.sampled_from(["@ @.", "", "@ " * 40, "@ @. @ @"]), min_size=1, max_size=40)
cell = st.sampled_from(["@", "@ @", "@\n@", "@\n\n@ @", '"@", @', "@ " * 30])
rows = st.lists(st.one_of(st.lists(cell, min_size=3, max_size=3), st.just(["@ " * 300 + "@", "@"])), max_size=60)
pieces = st.sampled_from(
    ["# @ @", "## @ @", "@ @\n@ @", "```\n@ = @\n\n@\n```", "| @ | @ |\n| --- | --- |" + "\n| @ | @ |" * 30]
)
FILES = {
    "a.txt": st.builds(front, prose.map("\n".join), has=st.booleans()),
    "a.md": st.builds(front, st.lists(pieces, min_size=1, max_size=8).map("\n\n".join), has=st.booleans()),
    "a.py": sizes.map(lambda row: "\n\n".join(f"def f{n}():  # @" + "\n    x = '@'" * n for n in row)),
    "a.js": sizes.map(lambda row: "\n\n".join(f"function f{n}() {{ // @" + "\n  g('@')" * n + "\n}" for n in row)),
    "a.csv": st.builds(csv_of, rows, st.sampled_from(",;|")),
    "a.tsv": st.builds(csv_of, rows, st.just("\t")),
    "a.json": sizes.map(lambda row: json.dumps([{"key": "@ " * size + "@"} for size in row], indent=1)),
    "b.json": st.lists(few, min_size=1, max_size=30).map(lambda rows: minified([[200], *rows])),
    "a.jsonl": st.lists(said, min_size=1, max_size=40).map(
        lambda rows: "\n".join(json.dumps({"key": row}) + "\n" * (len(row) % 2) for row in rows)
    ),
    "a.yaml": sizes.map(lambda row: "\n".join(f"key{n}: # @\n  - '@ {'@ ' * size}'" for n, size in enumerate(row))),
    "a.toml": sizes.map(lambda row: "\n".join(f"[part{n}] # @\nk = '@ {'@ ' * size}'" for n, size in enumerate(row))),
}  # fmt: skip
SLACK = {"a.csv": 3, "a.tsv": 3, "b.json": 2, "a.jsonl": 1}
"""A piece of a row has all lines of the row; a bracket may be all that a passage has of a line."""
TYPES = {"txt": "text", "md": "markdown", "py": "code", "js": "code"}
LANGUAGES = {"py": "python", "js": "javascript"}


def own_text(passage: Chunk, *, is_first: bool) -> str:
    """Without a table's header that is said again; what else is said again has its lines too."""
    rows = passage.text.split("\n")
    below = [*rows[1:], ""]
    return "\n".join(
        row for row, next_row in zip(rows, below, strict=True) if is_first or not next_row.startswith("| ---")
    )


def misplaced(file: list[str], document: Document, doc_type: str, slack: int) -> Iterator[tuple[Chunk, list[int]]]:
    """Passages whose lines hold not all of their words, or begin or end more than `slack` lines of words too far out."""
    for number, passage in enumerate(chunk(document, plan_for(doc_type, Chunking()), COUNTER, 100)):
        is_first = number == 0 or (document.extractor == "markdown" and "overlap" not in passage.metadata)
        own = lines_said(own_text(passage, is_first=is_first))
        given = passage.lines or Lines(1, 0)
        held = [line for line in range(given.first, given.last + 1) if MARK.search(file[line - 1])]
        around = [line for line in held if not own or not min(own) <= line <= max(own)]
        if own and (not set(own) <= set(held) or len(around) > slack):
            yield passage, own


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_passage_has_the_lines_on_which_its_words_stand(name, data, tmp_path):
    text = numbered(data.draw(FILES[name]))
    form = name.partition(".")[2]
    doc_type = TYPES.get(form, "data")
    if not MARK.search(text):
        return
    path = tmp_path / name
    path.write_text(text)
    document = reader(doc_type)(Source(path=str(path), doc_type=doc_type, language=LANGUAGES.get(form)), ReadOptions())

    assert list(misplaced(text.split("\n"), document, doc_type, SLACK.get(name, 0))) == []


SAMPLES = {
    "a.txt": "@\n\n@ " + "@ " * 60 + "\n@",
    "a.md": "---\nowner: Ada\n---\n# @\n\n" + "@ @\n\n" * 60,
    "a.py": "# @\n\n\ndef f():\n    return '@'\n" * 20,
    "a.csv": 'alpha,beta\n@,"@\n@"\n\n' + "@,@\n" * 60,
    "a.tsv": "alpha\tbeta\n" + "@\t@\n" * 60,
    "a.json": json.dumps([{"key": "@ @ @"}] * 60, indent=1),
    "b.json": "[" + ",\n".join(['"@ ' + "@ " * 60 + '@"', *['"@ @"'] * 30]) + "]",
    "a.jsonl": '{"key": "@"}\n\n' * 60,
    "a.yaml": "".join(f"key{n}: '@'\n" for n in range(60)),
    "a.toml": "".join(f"[part{n}]\nkey = '@'\n" for n in range(60)),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory, roomy_folder):
    folder = tmp_path_factory.mktemp("lines")
    running.write(folder / "docs", {name: numbered(text) for name, text in SAMPLES.items()})
    running.here(folder, "add", "docs", "-r", KB_MODEL=roomy_folder)
    return partial(running.here, folder, KB_MODEL=roomy_folder)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_hit_its_lines_and_its_picture_are_the_same_lines(store, name):
    """`kb get --lines` gives the words of the passage that says so, and `kb view` marks these lines."""
    file = numbered(SAMPLES[name]).removesuffix("\n").split("\n")
    chunks = store("show", f"docs/{name}", "-j").json["chunks"]
    for passage in chunks[:3] + chunks[-1:]:
        first, last = passage["lines"]
        shown = store("get", f"docs/{name}", "--lines", f"{first}:{last}").stdout
        marked = [line["number"] for line in store("view", passage["chunk_id"], "-j").json["excerpt"] if line["marked"]]

        assert set(lines_said(passage["text"])) <= set(lines_said(shown))
        assert "\n".join(file[first - 1 : last]) in shown
        assert marked in (list(range(first, last + 1)), [None] * len(marked))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_hit_has_the_lines_on_which_its_words_stand(store, name):
    file = numbered(SAMPLES[name]).split("\n")
    wanted = lines_said("\n".join(file))[-1]

    hits = store("search", word(wanted), "--mode", "keyword", "-n", "50", "-j").json["results"]
    (hit,) = [hit for hit in hits if hit["source"]["path"].endswith(f"/{name}")]

    assert hit["source"]["lines"][0] <= wanted <= hit["source"]["lines"][1]
