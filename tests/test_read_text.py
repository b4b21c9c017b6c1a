"""The text reader, and notes: one block, kept as it is written."""

from __future__ import annotations

import pytest

from kb.errors import NoText
from kb.read.note import from_text, title_of
from kb.read.text import read
from kb.types import Document, Lines, ReadOptions, Source


@pytest.fixture
def read_file(tmp_path):
    def reading(content: bytes) -> Document:
        path = tmp_path / "a.txt"
        path.write_bytes(content)
        return read(Source(path=str(path), doc_type="text"), ReadOptions())

    return reading


def test_a_text_is_one_block_as_it_is_written(read_file):
    [block] = read_file(b"# not a heading\n\n  indented\n").blocks

    assert (block.text, block.lines, block.heading) == ("# not a heading\n\n  indented", Lines(1, 3), ())


def test_front_matter_is_taken_off(read_file):
    document = read_file(b"---\ntitle: T\ntags: x\n---\nbody\n")

    assert (document.title, document.tags) == ("T", ("x",))
    assert document.blocks[0].lines == Lines(5, 5)


def test_front_matter_that_cannot_be_read_stays_text(read_file):
    document = read_file(b"---\na: [1\n---\nbody\n")

    assert [block.text for block in document.blocks] == ["---\na: [1\n---", "body"]
    assert document.warnings


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf", b"---\ntitle: T\n---\n"])
def test_a_file_without_text_is_said_to_hold_none(read_file, content):
    with pytest.raises(NoText):
        read_file(content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_encodings_are_found(read_file, encoding):
    text = "Die Größe der Städte wächst über die Jahre.\n"

    document = read_file(text.encode(encoding))

    assert document.blocks[0].text == text.strip()
    assert document.warnings == ()


def test_lost_characters_are_said(read_file):
    document = read_file("Größe, Städte, Jahre, Flüsse: ".encode() + b"\xff\n")

    assert document.warnings == ("1 character could not be decoded as utf-8",)


def test_the_title_of_a_note_is_its_first_80_characters_cut_at_a_word():
    assert title_of("short\nnote") == "short note"
    assert title_of("word " * 30) == ("word " * 16).strip()
    assert title_of("x" * 200) == "x" * 80
    assert title_of("a" * 80 + " b") == "a" * 80


def test_a_note_keeps_its_lines():
    assert from_text("  one\n\ntwo  \n").blocks[0].text == "one\n\ntwo"


def test_an_empty_note_is_refused():
    with pytest.raises(NoText):
        from_text(" \n ")
