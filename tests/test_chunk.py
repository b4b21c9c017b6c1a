"""Chunking: properties over generated markdown, then the rules one by one. Sizes are of the default model's tokenizer."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.chunk import Plan, chunk, plan_for
from kb.chunk.context import common_heading, trimmed, unsaid
from kb.chunk.pack import joined
from kb.model import shipped_tokenizer
from kb.read.markdown import blocks_of
from kb.read.note import from_text
from kb.settings import Chunking, CodeChunks, MarkdownChunks, PdfChunks
from kb.types import Block, Chunk, Document, Lines
from models.tokenizer import TokenCounter

COUNTER = TokenCounter.load(shipped_tokenizer())
WORDS = (
    "river",
    "stone",
    "Überfluss",
    "config.yaml",
    "a",
    "unbelievable",
    "東京。",
    "x_y",
    "3.14",
    "e" * 150,
    "end.",
    "why?",
)
SECTIONS = Plan(strategy="sections", max_tokens=1024)

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
paragraphs = st.lists(words, min_size=1, max_size=3).map("\n".join)
headings = st.builds(
    "{} {}".format, st.sampled_from(["#", "##", "###"]), st.sampled_from(["Rivers", "Stones", "A b c"])
)
fences = st.lists(st.sampled_from(["x = 1", "", "    return f(x)", "# no heading"]), max_size=40).map(
    lambda lines: "\n".join(["```python", *lines, "```"])
)
cells = st.sampled_from([*WORDS, "long cell. " * 20])
tables = st.lists(st.builds("| {} | {} |".format, cells, st.sampled_from(WORDS)), max_size=30).map(
    lambda rows: "\n".join(["| name | value |", "| --- | --- |", *rows])
)
texts = st.lists(st.one_of(headings, paragraphs, fences, tables), min_size=1, max_size=12).map("\n\n".join)
plans = st.builds(
    Plan,
    strategy=st.sampled_from(["sections", "fixed", "blocks"]),
    max_tokens=st.sampled_from([16, 40, 100, 1024]),
    min_tokens=st.sampled_from([0, 20, 50]),
    overlap_tokens=st.sampled_from([0, 5, 50]),
)
limits = st.sampled_from([16, 40, 100, 254])


def cut(text: str, plan: Plan = SECTIONS, model_sees: int = 254) -> list[Chunk]:
    return chunk(Document(blocks=tuple(blocks_of(text)), extractor="markdown"), plan, COUNTER, model_sees)


def whole(chunks: list[Chunk]) -> str:
    return joined((one.text, one.metadata) for one in chunks)


def flat(text: str) -> str:
    return " ".join(text.split())


@given(texts, plans, limits)
@settings(max_examples=60, deadline=None)
def test_the_chunks_joined_are_the_text(text, plan, model_sees):
    """Nothing is lost, doubled or reordered; only white space between blocks may differ."""
    assert flat(whole(cut(text, plan, model_sees))) == flat(text)


@given(texts, plans, limits)
@settings(max_examples=60, deadline=None)
def test_no_chunk_is_larger_than_what_the_model_sees_or_the_plan_allows(text, plan, model_sees):
    for one in cut(text, plan, model_sees):
        assert COUNTER.count(one.embedded_text) <= model_sees
        assert COUNTER.count(one.text) <= plan.max_tokens
        assert one.text.strip()


@given(texts, plans, limits)
@settings(max_examples=60, deadline=None)
def test_tables_and_code_are_not_cut_where_they_fit(text, plan, model_sees):
    chunks = cut(text, plan, model_sees)
    room = min(plan.max_tokens, model_sees - model_sees // 4)

    for block in blocks_of(text):
        if block.kind != "text" and COUNTER.count(block.text) <= room:
            assert any(block.text in one.text for one in chunks)


@given(texts, plans, limits)
@settings(max_examples=60, deadline=None)
def test_the_lines_of_a_chunk_are_where_its_text_stands(text, plan, model_sees):
    lines = text.split("\n")
    chunks = cut(text, plan, model_sees)

    for one in chunks:
        source = flat("\n".join(lines[one.lines.first - 1 : one.lines.last]))
        for line in one.text.removeprefix("| name | value |\n| --- | --- |\n").split("\n"):
            assert flat(line) in source
    covered = {number for one in chunks for number in range(one.lines.first, one.lines.last + 1)}
    assert covered >= {number for number, line in enumerate(lines, start=1) if line.strip()}


@given(texts, plans, limits)
@settings(max_examples=60, deadline=None)
def test_only_the_end_of_the_chunk_before_is_repeated_and_only_prose_or_a_tables_header(text, plan, model_sees):
    chunks = cut(text, plan, model_sees)

    for before, one in pairwise(chunks):
        repeated = one.text[: one.metadata.get("overlap", 0)]
        if repeated.startswith("| name"):
            assert repeated == "| name | value |\n| --- | --- |"
        else:
            assert before.text.endswith(repeated)
            assert "```" not in repeated


def test_a_section_is_a_chunk_with_its_chain_of_headings_as_context():
    body = "word " * 60
    [first, second] = cut(f"# Config\n\n{body}\n\n## Advanced\n\n{body}")

    assert first.heading == ("Config",)
    assert second.heading == ("Config", "Advanced")
    assert second.context == "Config"
    assert second.embedded_text.startswith("Config\n\n## Advanced\n\nword")
    assert second.lines == Lines(5, 7)


def test_a_small_section_is_merged_with_the_next():
    [merged] = cut(f"# One\n\nfew words\n\n# Two\n\n{'word ' * 60}")

    assert merged.text.startswith("# One\n\nfew words\n\n# Two")
    assert merged.heading == ()


def test_a_small_section_is_not_merged_where_min_tokens_says_so():
    assert len(cut("# One\n\nfew\n\n# Two\n\nfew", Plan(strategy="sections", max_tokens=100, min_tokens=0))) == 2


def test_a_long_section_is_cut_between_paragraphs():
    paragraphs = [f"{name} " * 40 for name in ("red", "green", "blue")]

    chunks = cut("# H\n\n" + "\n\n".join(paragraphs), Plan(strategy="sections", max_tokens=90, overlap_tokens=0))

    assert [flat(one.text) for one in chunks] == [flat("# H " + " ".join(paragraphs[:2])), flat(paragraphs[2])]


def test_prose_overlaps_by_whole_words():
    numbered = " ".join(f"word{number}" for number in range(300))

    first, second, *_ = cut(numbered, Plan(strategy="fixed", max_tokens=200, overlap_tokens=20))

    repeated = second.text[: second.metadata["overlap"]]
    assert first.text.endswith(repeated)
    assert repeated.split() == first.text.split()[-len(repeated.split()) :]
    assert 10 <= COUNTER.count(repeated) <= 20


def test_code_does_not_overlap():
    """Whatever is asked for, but for its end."""
    code = "```\n" + "\n".join(f"line({number})" for number in range(200)) + "\n```"

    chunks = cut(code, Plan(strategy="sections", max_tokens=100, overlap_tokens=50))

    assert len(chunks) > 2
    assert [one.metadata.get("overlap", 0) for one in chunks[:-1]] == [0] * (len(chunks) - 1)
    assert whole(chunks) == code


@pytest.mark.parametrize(("count", "last"), [(20, 20), (21, 5), (24, 5), (25, 5), (26, 6), (40, 20), (41, 5), (3, 3)])
def test_what_little_is_left_of_code_repeats_lines_before_it(count, last):
    """Of 20 lines that fit a quarter at least, or `    return None` would be found and say nothing."""
    code = "\n".join(f"line({number:02})" for number in range(count))
    room = COUNTER.count("line(00)") * 20
    block = Block(text=code, kind="code", lines=Lines(1, count))
    chunks = chunk(Document(blocks=(block,), extractor="x"), Plan(strategy="blocks", max_tokens=room), COUNTER, 500)

    sizes = [one.text.count("\n") + 1 for one in chunks]
    assert sizes == [20] * ((count - 1) // 20) + [last]
    assert chunks[-1].lines == Lines(count - last + 1, count)
    assert whole(chunks) == code


def test_every_part_of_a_long_table_begins_with_its_header():
    header = "| name | value |\n| --- | --- |"
    rows = [f"| row{number} | {number} |" for number in range(60)]

    chunks = cut("\n".join([header, *rows]), Plan(strategy="sections", max_tokens=100))

    assert len(chunks) > 3
    assert all(one.text.startswith(header + "\n| row") for one in chunks)
    assert whole(chunks) == "\n".join([header, *rows])
    assert [chunks[0].lines.first, chunks[-1].lines.last] == [1, 62]
    assert all(after.lines.first == before.lines.last + 1 for before, after in pairwise(chunks))


def test_a_header_that_leaves_no_room_for_rows_is_not_repeated():
    header = f"| {'name ' * 40}|\n| --- |"

    chunks = cut("\n".join([header, *[f"| {'cell ' * 30}|"] * 5]), Plan(strategy="sections", max_tokens=60))

    assert sum("name" in one.text for one in chunks) == 1


def test_text_without_headings_is_cut_into_windows_of_the_size_asked_for():
    chunks = cut("Some words of a sentence. " * 200, Plan(strategy="sections", max_tokens=120, overlap_tokens=0))

    assert all(90 <= one.token_count <= 120 for one in chunks[:-1])


def test_a_single_endless_word_is_cut_all_the_same():
    chunks = cut("x" * 50_000)

    assert whole(chunks) == "x" * 50_000
    assert max(len(one.text) for one in chunks) <= 254 * 16


def test_a_note_is_one_chunk_however_long():
    [one] = chunk(from_text("word " * 1000), plan_for("note", Chunking()), COUNTER, 254)

    assert one.token_count == 1000


def test_a_chunk_of_several_pages_knows_the_first_and_the_last():
    blocks = tuple(Block(text=f"Page {page}.", page=page, heading=("H",)) for page in (3, 4, 5))

    [one] = chunk(Document(blocks=blocks, extractor="pdf"), SECTIONS, COUNTER, 254)

    assert one.page == 3
    assert one.metadata["pages"] == [3, 5]


@pytest.mark.parametrize("doc_type", ["pptx", "xlsx"])
@pytest.mark.parametrize("strategy", ["sections", "fixed"])
def test_a_chunk_never_goes_over_the_end_of_a_slide_or_sheet(doc_type, strategy):
    """However small these are; a slide's notes stay with it."""
    blocks = tuple(
        Block(text=text, page=page, heading=("Talk", *heading))
        for page in (1, 2, 3)
        for text, heading in ((f"Slide {page}.", ()), (f"Note {page}.", ("Notes",)))
    )
    plan = msgspec.structs.replace(plan_for(doc_type, Chunking()), strategy=strategy)

    chunks = chunk(Document(blocks=blocks, extractor="docling"), plan, COUNTER, 254)

    assert [one.page for one in chunks] == [1, 2, 3]
    assert not any("pages" in one.metadata for one in chunks)
    for one in chunks:
        assert f"Slide {one.page}." in one.text
        assert f"Note {one.page}." in one.text


def test_a_slide_with_its_notes_is_cited_by_its_title_and_notes_alone_as_notes():
    """An introduction is under the heading it introduces; a slide is not part of its notes."""
    long = " ".join(["word"] * 240)
    said = (
        (1, ("Dues",), "Yachts pay."),
        (1, ("Dues", "Notes"), "Say why."),
        (2, (), "A map."),
        (2, ("Notes",), "Point."),
    )
    more = ((3, ("Quay",), long), (3, ("Quay", "Notes"), long))
    blocks = tuple(Block(text=text, page=page, heading=heading) for page, heading, text in (*said, *more))

    chunks = chunk(Document(blocks=blocks, extractor="docling"), plan_for("pptx", Chunking()), COUNTER, 254)

    assert [one.heading for one in chunks] == [("Dues",), (), ("Quay",), ("Quay", "Notes")]
    assert "Notes" not in chunks[0].context
    assert chunks[0].text == "Dues\n\nYachts pay.\n\nNotes\n\nSay why."


def test_a_block_that_does_not_open_with_its_heading_gets_it():
    blocks = (Block(text="Of the text.", heading=("Part", "Section")),)

    [one] = chunk(Document(blocks=blocks, extractor="pdf"), SECTIONS, COUNTER, 254)

    assert one.text == "Section\n\nOf the text."


def test_token_count_is_that_of_the_text_alone():
    [one] = cut("# Heading\n\nfive words are in here")

    assert one.token_count == COUNTER.count(one.text)


@pytest.mark.parametrize(
    ("doc_type", "strategy", "max_tokens"),
    [
        ("markdown", "sections", 1024),
        ("text", "sections", 512),
        ("pdf", "sections", 1024),
        ("code", "blocks", 1024),
        ("note", "whole", 512),
        ("docx", "sections", 512),
    ],
)
def test_each_type_has_its_plan(doc_type, strategy, max_tokens):
    plan = plan_for(doc_type, Chunking())

    assert (plan.strategy, plan.max_tokens) == (strategy, max_tokens)


def test_the_settings_reach_the_plan():
    chosen = Chunking(
        markdown=MarkdownChunks(strategy="fixed", min_tokens=7, max_tokens=70),
        pdf=PdfChunks(strategy="fixed"),
        code=CodeChunks(strategy="fixed", include_context=False),
    )

    assert plan_for("markdown", chosen) == Plan(strategy="fixed", max_tokens=70, min_tokens=7)
    assert plan_for("pdf", chosen).strategy == "fixed"
    assert plan_for("code", chosen) == Plan(strategy="fixed", max_tokens=1024, include_context=False)


def test_fixed_windows_know_no_headings():
    chunks = cut(f"# One\n\n{'word ' * 60}\n\n# Two\n\n{'word ' * 60}", Plan(strategy="fixed", max_tokens=200))

    assert [(one.heading, one.context) for one in chunks] == [((), "")]


def test_the_heading_of_several_blocks_is_what_they_have_in_common():
    def chain(*headings):
        return common_heading([Block(text="", heading=heading) for heading in headings])

    assert chain(("A", "B"), ("A", "C")) == ("A",)
    assert chain(("A",), ("A", "B")) == ("A", "B")
    assert chain(("A",), ("B",)) == ()


@pytest.mark.parametrize(
    ("context", "text", "left"),
    [
        ("Config > Advanced", "## `Advanced`\nwords", "Config"),
        ("Config", "CONFIG\n\nwords", ""),
        ("Config\nA caption", "# Config\n\nwords", "A caption"),
        ("Config > Advanced", "words about advanced", "Config > Advanced"),
        ("", "words", ""),
    ],
)
def test_a_heading_that_the_text_begins_with_is_not_said_before_it_too(context, text, left):
    assert unsaid(context, text) == left


def test_the_rest_of_a_long_section_is_embedded_with_its_whole_chain():
    chunks = cut(f"# Config\n\n## Advanced\n\n{'word ' * 600}")

    assert len(chunks) > 1
    assert {chunk.context for chunk in chunks[1:]} == {"Config > Advanced"}


def test_a_long_context_keeps_its_end():
    context = " > ".join(f"heading{number}" for number in range(30))

    kept = trimmed(context, COUNTER, 10)

    assert context.endswith(kept)
    assert COUNTER.count(kept) <= 10


def test_a_bare_heading_is_never_a_chunk_of_its_own_above_a_long_section():
    """It joins the section that it stands above, even where that has to be cut; a sibling's heading stays clean."""
    long = "A sentence about rivers and stones. " * 60
    document = Document(
        blocks=tuple(blocks_of(f"# Options\n\n## General\n\n{long}\n\n## Other\n\n{long}")), extractor="test"
    )

    chunks = chunk(document, SECTIONS, COUNTER, 254)

    assert chunks[0].text.startswith("# Options\n\n## General\n\nA sentence")
    assert {one.heading for one in chunks} == {("Options", "General"), ("Options", "Other")}


def test_a_title_stays_with_the_first_rows_of_a_table_that_is_cut():
    """A chunk that is only a title would be found for its words and say nothing."""
    rows = "\n".join(["| name | value |", "| --- | --- |", *(f"| item {n} | {n * 37} |" for n in range(80))])
    table = Block(text=rows, kind="table", heading=("Report", "Stock"))

    chunks = chunk(Document(blocks=(table,), extractor="test"), SECTIONS, COUNTER, 254)

    assert len(chunks) > 1
    assert chunks[0].text.startswith("Stock\n\n| name | value |\n| --- | --- |\n| item 0 | 0 |")
