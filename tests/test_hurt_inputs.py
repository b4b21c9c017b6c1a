"""The short version of `scripts/hurt inputs` and `scripts/hurt hostile`, and what they found."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import zipfile
from pathlib import Path

import msgspec
import pytest
from hurting import hostile, inputs, samples

from kb import reading
from kb.candidates import GROWTH_BYTES, hash_file
from kb.chunk import BoundedCounter, units
from kb.read import pdf
from kb.read.pdf.account import Account
from kb.types import Block, Document, Lines, ReadOptions, Source

LIGHT = ("markdown", "text", "data", "code", "transcript", "notebook")


@pytest.mark.usefixtures("put_back")
def test_damaged_files_of_every_light_type_are_read_or_refused_in_a_line(capsys):
    words = [word for kind in LIGHT for word in ("--type", kind)]
    assert inputs.main(["--inputs", "60", "--seed", "short", *words]) == 0, capsys.readouterr().out


@pytest.mark.usefixtures("put_back")
@pytest.mark.heavy
def test_damaged_files_of_every_type_are_read_or_refused_in_a_line(capsys):
    assert inputs.main(["--inputs", "2000", "--seed", "heavy"]) == 0, capsys.readouterr().out


def test_a_seed_makes_the_same_file_whenever_it_is_given():
    """Office programs write the time into what they save, and into the archive around it."""

    def saved(day: int) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            member = zipfile.ZipInfo("docProps/core.xml", (2026, 1, day, 0, 0, 0))
            archive.writestr(member, f"<created>2026-01-{day:02}T00:00:00Z</created>")
        return file.getvalue()

    assert samples._undated(saved(1)) == samples._undated(saved(2)) != saved(2)
    known = samples.samples()
    assert all(inputs.Drawn.of(f"s/{kind}/1", known) == inputs.Drawn.of(f"s/{kind}/1", known) for kind in known)


@pytest.mark.usefixtures("put_back")
def test_files_made_to_hurt_are_refused_or_read_and_fetch_nothing(capsys):
    wanted = (
        "zeros.docx", "members.xlsx", "laughs.docx", "fetches.docx", "laughs.epub", "fetches.epub", "deep.json", "deep.ipynb", "deep.jsonl",
        "deep.yaml", "deep.toml", "deep.md", "aliases.yaml", "wide.png", "endless.png", "loop.pdf",
    )  # fmt: skip
    words = [word for name in wanted for word in ("--case", name)]
    assert hostile.main(words) == 0, capsys.readouterr().out
    assert f"{len(wanted)} hostile files; 0 faults" in capsys.readouterr().out


def test_whatever_lies_in_a_folder_files_are_added_and_the_rest_is_passed_over(kb, tmp_path, tiny_folder):
    """Pipes, sockets, devices, loops, names of 255 bytes, with line ends, quotes, escapes, and one that is no UTF-8."""
    tree = hostile.odd_tree(tmp_path / "odd")
    added = kb("add", tree, "-r", "-j", "--follow-symlinks", KB_MODEL=tiny_folder)
    answer = added.json
    assert (answer["added"], answer["failed"]) == (14, 1)  # two begin with a dot, which hides them
    [reason] = [file["reason"] for file in answer["documents"] if file["status"] == "failed"]
    assert reason.endswith("(rename the file)")
    listed = kb("list", "--all", "-j").json["documents"]
    assert all(kb("show", document["document_id"], "-j").code == 0 for document in listed[:3])
    shown = kb("list", "--all")
    assert not set("\x1b\u202e") & set(shown.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")
def test_a_worker_has_no_more_memory_than_its_limit():
    """As a MemoryError, at once: nothing of the machine's is taken."""
    with reading.Pool.started(1) as pool:
        wanted = pool.schedule(eval, f"len(bytearray({reading.WORKER_BYTES + 1}))", 60)
        with pytest.raises(MemoryError):
            wanted.result()


def test_of_a_reader_that_died_it_is_said_that_memory_may_be_the_reason(tmp_path):
    """Libraries that are given none end the process, as over a line of 200 MB."""
    path = tmp_path / "a.txt"
    path.write_text("red")
    job = inputs.job_of(path, None)
    with reading.Pool.started(1) as pool:
        _, outcome = pool.outcome(job, pool.schedule(eval, "__import__('os').abort()", 60), 60)
    assert outcome.reason == f"{path}: its reader crashed (exit code -6)"
    assert "take more than the 4 GiB that a reader has" in outcome.hint


def test_a_large_light_file_is_read_where_there_is_a_time_limit(tmp_path):
    """Small ones are read in this process, which nothing bounds."""
    path = tmp_path / "long.txt"
    path.write_text("word " * 2_000_000)
    [(_, outcome)] = reading.read_all([inputs.job_of(path, None)], workers=1, timeout_s=0.3)
    assert "took longer than 0.3 s" in outcome.reason


def test_a_nul_and_half_a_pair_are_stored_as_nothing_and_as_a_sign():
    """HTML and JSON can hold both; SQLite's functions end a text at the one, and no answer can hold the other."""
    read = Document(blocks=(Block(text="a\0b\ud800c"),), extractor="x", metadata={"k\0": ["\0"]})
    stored = reading.storable(read)
    assert (stored.blocks[0].text, stored.metadata) == ("ab\ufffdc", {"k": [""]})
    assert reading.storable(Document(blocks=(Block(text=r"\u0000"),), extractor="x")).blocks[0].text == r"\u0000"
    msgspec.json.encode(stored)


def test_much_white_space_between_sentences_is_not_stored(tmp_path):
    """It costs no tokens, so nothing else would bound it."""
    path = tmp_path / "wide.txt"
    path.write_text(("One sentence." + " " * 2000) * 30)
    outcome = reading.read_and_chunk(inputs.job_of(path, None))
    assert max(len(chunk.text) for chunk in outcome.chunks) < 2 * 16 * inputs.MODEL_SEES


def test_an_archive_of_a_version_that_no_program_writes_is_refused_in_a_line(tmp_path):
    """The parent looks into it too, to see of which type it is."""
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02") + 6  # the version needed to unpack a member, in the central directory
    path.write_bytes(content[:at] + b"\xd5" + content[at + 1 :])
    assert refusal(path) == (f"{path}: damaged or cut off (docx)", "UnreadableFile")


def test_a_notebook_whose_language_is_no_name_is_read_without_it(tmp_path):
    path = tmp_path / "a.ipynb"
    cell = {"cell_type": "code", "source": "x = 1"}
    path.write_text(json.dumps({"metadata": {"kernelspec": {"language": {"a": 1}}}, "cells": [cell]}))
    outcome = reading.read_and_chunk(inputs.job_of(path, None))
    assert (outcome.language, inputs.judged(outcome)) == (None, ("read", ""))


def test_a_page_that_is_gone_when_it_is_to_be_shown_to_ocr_keeps_its_text(tmp_path):
    """MuPDF repairs a file when it first meets the damage, and may then know fewer pages than before."""
    from kb.read.pdf.opening import import_pymupdf

    pages = import_pymupdf().open()
    page = pages.new_page()
    page.insert_text((72, 100), "Some words of text.")
    page.insert_image((100, 300, 300, 400), stream=png())
    picture, catalog = page.get_images()[0][0], pages.pdf_catalog()
    path = tmp_path / "a.pdf"
    path.write_bytes(pages.tobytes().replace(b"\n%d 0 obj" % picture, b"\n%d 0 obj" % catalog))
    read = pdf.read(Source(path=str(path), doc_type="pdf"), ReadOptions(enable_ocr="always"))
    assert [block.text for block in read.blocks] == ["Some words of text."]


def test_of_a_pdf_whose_pages_are_all_damaged_in_their_own_ways_few_are_told():
    account = Account("pymupdf")
    for page in range(1, 1001):
        account.miss(page, f"damaged (invalid page number: {page})")
    assert account.warnings[1:2] + account.warnings[5:] == [
        "Page 2 not read: damaged (invalid page number: 2).", "995 more of this kind.",
    ]  # fmt: skip
    odd = Account("pymupdf")
    for page in range(1, 1001, 2):
        odd.miss(page, "damaged")
    assert odd.warnings == ["Pages 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and others not read: damaged."]


def test_a_picture_whose_second_page_has_no_size_is_refused_in_a_line(tmp_path):
    """Pillow raises a TypeError there, in the middle of the file."""
    from PIL import Image

    path = tmp_path / "a.tiff"
    page = Image.new("L", (60, 60), "white")
    page.save(path, save_all=True, append_images=[page])
    first, width, rest = path.read_bytes().rpartition((256).to_bytes(2, "little") + (4).to_bytes(2, "little"))
    path.write_bytes(first + b"\xff\xff" + width[2:] + rest)
    assert refusal(path) == (f"{path}: damaged picture (Missing dimensions)", "UnreadableFile")


def test_a_speaker_whose_name_is_longer_than_what_the_model_sees_leaves_room_for_what_is_said(tmp_path):
    path = tmp_path / "a.vtt"
    path.write_text(f"WEBVTT\n\n00:00:01.000 --> 00:00:02.500\n<v {'Ann ' * 400}>{'What is said. ' * 200}\n")
    outcome = reading.read_and_chunk(inputs.job_of(path, None))
    assert inputs.judged(outcome) == ("read", "")
    assert sum(chunk.text.count("said") for chunk in outcome.chunks) == 200
    assert max(len(chunk.metadata["speakers"][0]) for chunk in outcome.chunks) == 200


def test_ten_thousand_blank_lines_in_code_are_not_stored_with_the_lines_around_them():
    """They are no tokens, so nothing else would bound the chunk."""
    lines = Lines(1, 10_002)
    block = Block(text="\nf x" + "\n" * 10_000 + "g y", kind="code", lines=lines)
    found = units.units_of([block], 200, BoundedCounter(inputs.counter()), titled=False)
    assert [(unit.text, unit.lines) for unit in found] == [("f x", Lines(2, 2)), ("g y", Lines(10_002, 10_002))]


def test_a_heading_of_any_length_leaves_room_for_the_text_below_it(tmp_path):
    """One word of it is one token, however long; it stands above every chunk."""
    path = tmp_path / "a.md"
    path.write_text(f"# {'x' * 6000}\n\n{'Some words of text. ' * 100}\n")
    outcome = reading.read_and_chunk(inputs.job_of(path, None))
    chunks = outcome.chunks
    assert (len(chunks) < 10, len(outcome.title)) == (True, 1000)
    assert max(len(chunk.context) for chunk in chunks) <= max(len(chunk.heading[0]) for chunk in chunks) == 1000


def test_the_lines_of_a_long_text_are_counted_once_for_all_its_pieces(tmp_path):
    """From its start for each piece, as once, takes the square of its length."""
    path = tmp_path / "long.txt"
    path.write_text("\n\n".join(f"Paragraph {number} of some words." for number in range(2000)))
    units._line_ends.cache_clear()
    outcome = reading.read_and_chunk(inputs.job_of(path, None))
    assert (len(outcome.chunks) > 20, outcome.chunks[-1].lines.last) == (True, 3999)
    assert units._line_ends.cache_info().misses == 1


def refusal(path: Path) -> tuple[str, str]:
    outcome = reading.read_and_chunk(inputs.job_of(path, None))
    return outcome.reason, outcome.error


def png() -> bytes:
    return samples._pictures()["picture.png"]


def test_a_file_that_grows_for_ever_is_read_to_an_end(tmp_path):
    endless = tmp_path / "endless"
    os.mkfifo(endless)

    def feed() -> None:
        try:
            with endless.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 20))
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=feed)
    thread.start()
    _, size = hash_file(Path(endless))
    thread.join()
    assert size == GROWTH_BYTES
