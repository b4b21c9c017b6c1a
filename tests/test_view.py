"""Looking at a passage where it stands: the page with marks, the lines of a text, and what is shown where the file is not what was read."""

import hashlib
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pdf_files
import pytest
import small_store
from PIL import Image
from running import environment, here

from index import originals
from kb.errors import BadRequest, EncryptedFile, NotFound, UnreadableFile
from kb.read.pdf import marking
from kb.read.pdf.marking import Word
from kb.read.pdf.opening import opened
from kb.read.pdf.picture import words_of_page
from kb.read.picture import MARKER
from kb.view import Look, view

PDFS = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open"
KEY = "The spare key hangs behind the third shelf of the boat house, and Ingrid has the other one."


def file_document(path, *chunks, keeps_original=False, **others):
    """A document as `kb add` would have stored this file."""
    content, status = path.read_bytes(), path.stat()
    values = {
        "source_path": str(path), "content_hash": hashlib.sha256(content).hexdigest(), "size": status.st_size,
        "mtime_ns": status.st_mtime_ns, "title": path.name, "chunks": tuple(chunks),
        "original": originals.pack(io.BytesIO(content), path.name) if keeps_original else None,
    }  # fmt: skip
    return small_store.document(path.name, **{**values, **others})


@pytest.fixture
def a_pdf(tmp_path):
    """Two pages: the passage is on the second, over three lines, a word of it broken by a hyphen."""
    document = pdf_files.new()
    pdf_files.page_of(document, "Opening hours", pdf_files.LOREM)
    pdf_files.page_of(
        document, "Where the keys are", "The spare key hangs behind the third shelf of the boat", "house, and Ing-",
        "rid has the other one.", "Nobody else has one of the others.",
    )  # fmt: skip
    return pdf_files.save(document, tmp_path / "keys.pdf")


@pytest.fixture
def stored(make_store, a_pdf):
    """A store with that file, its passage chunk 2."""

    def store(**others):
        chunks = (small_store.chunk(pdf_files.LOREM, page=1), small_store.chunk(KEY, page=2, heading="Keys"))
        make_store(file_document(a_pdf, *chunks, doc_type="pdf", **others))

    return store


def pixels(viewed):
    return Image.open(io.BytesIO(viewed.png)).convert("RGB")


def darkest(picture):
    return picture.convert("L").getextrema()[0]


def words_of(*lines):
    """Words on a grid: a line each, ten points a letter."""
    return [
        Word(text, (10 * x, 20 * y, 10 * x + 10 * len(text), 20 * y + 12), (0, y))
        for y, line in enumerate(lines)
        for x, text in [(line.index(text), text) for text in line.split()]
    ]


def found(passage, *lines):
    words = words_of(*lines)
    return [word.text for number, word in enumerate(words) if number in marking.find(words, passage).words]


# Where a passage stands


def test_a_passage_is_found_across_line_ends_hyphens_and_spaces():
    assert found("the telescope is focused by hand", "At night the tele-", "scope  is focused", "by hand. Then") == [
        *("the", "tele-", "scope", "is", "focused", "by", "hand.")
    ]


def test_a_phrase_that_the_page_repeats_is_marked_where_the_passage_is():
    lines = ("in the case of rain", "we close in the case of rain or snow today", "in the case of rain")

    assert found("we close in the case of rain or snow today", *lines) == lines[1].split()


def test_a_table_that_became_markdown_is_found_in_its_cells():
    assert found(
        "| Month | Rain | Sun |\n| --- | --- | --- |\n| January | 44 | 12 |",
        "Month Rain Sun",
        "January 44 12",
        "May 1 2",
    ) == ["Month", "Rain", "Sun", "January", "44", "12"]


def test_words_that_the_file_has_in_another_order_are_found_along_the_rows():
    words = words_of("Month Rainfall", "January fortyfour")
    by_columns = [words[0], words[2], words[1], words[3]]

    assert len(marking.find(by_columns, "Month Rainfall January fortyfour").words) == 4


def test_ligatures_and_capitals_make_no_difference():
    assert found("Office files of the FLEET", "the oﬃce ﬁles of the ﬂeet are") == ["oﬃce", "ﬁles", "of", "the", "ﬂeet"]


@pytest.mark.parametrize("passage", ["", "…", "something that is nowhere on this page"])
def test_what_is_not_there_is_not_marked(passage):
    assert found(passage, "a page about apples", "and pears") == []


def test_zeros_without_end_do_not_take_for_ever():
    words = words_of("0" * 20_000)

    assert marking.find(words, "0" * 8000).characters == 8000


@pytest.mark.data
@pytest.mark.skipif(not PDFS.is_dir(), reason="the collections are not here")
@pytest.mark.parametrize("name", ["pdf/multi_page.pdf", "pdf/dmca.pdf", "pdf_cjk_rtl/jo.pdf"])
def test_nearly_all_that_is_read_of_a_real_file_is_found_on_its_pages(name):
    blocks = pdf_files.read(PDFS / name, enable_ocr="never").blocks[:40]

    with opened(str(PDFS / name), None) as (document, _):
        of_pages = {page: words_of_page(document, page) for page in {block.page for block in blocks}}
    characters = [marking.find(of_pages[block.page], block.text).characters for block in blocks]

    assert sum(characters) >= 0.94 * sum(len(marking.folded(block.text)) for block in blocks)


# Pages


def test_the_page_is_drawn_and_the_lines_of_the_passage_marked(stored, data_dir):
    stored()

    seen = view(data_dir, "2")

    answer = seen.answer
    assert (answer.kind, answer.origin, answer.page, answer.page_count, answer.chunk_id) == ("page", "file", 2, 2, 2)
    assert (answer.text, answer.heading, answer.warnings) == (KEY, "Keys", ())
    assert pixels(seen).size == (answer.width, answer.height)
    assert len(answer.marks) == 3
    for left, top, right, bottom in answer.marks:
        assert 0 <= left < right <= answer.width
        assert 0 <= top < bottom <= answer.height
        assert pixels(seen).getpixel((left, top)) == MARKER
    assert pixels(seen).getpixel((5, 5)) == (255, 255, 255)


def test_of_the_pages_of_a_passage_the_one_with_most_of_it_is_shown(make_store, a_pdf, data_dir):
    make_store(file_document(a_pdf, small_store.chunk(KEY, page=1, metadata={"pages": [1, 2]}), doc_type="pdf"))

    assert view(data_dir, "1").answer.page == 2


def test_a_page_of_a_document_is_shown_without_marks(stored, data_dir, a_pdf):
    stored()

    for reference in ("1", str(a_pdf)):
        answer = view(data_dir, reference, Look(page=2)).answer
        assert (answer.page, answer.marks, answer.chunk_id, answer.text) == (2, (), None, KEY)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_marks_are_where_the_words_are_on_a_page_that_is_shown_turned(degrees, make_store, tmp_path, data_dir):
    document = pdf_files.new()
    page = pdf_files.page_of(document, KEY)
    page.set_cropbox((20, 40, 560, 800))
    page.set_rotation(degrees)
    path = pdf_files.save(document, tmp_path / "turned.pdf")
    make_store(file_document(path, small_store.chunk(KEY, page=1), doc_type="pdf"))

    seen = view(data_dir, "1")

    picture = pixels(seen)
    assert darkest(picture) < 100
    for box in seen.answer.marks:
        picture.paste((255, 255, 255), box)
    assert darkest(picture) > 200


def test_a_page_that_would_be_too_large_is_drawn_smaller_and_says_so(stored, data_dir):
    stored()

    answer = view(data_dir, "2", Look(dpi=600, longest_side=1000)).answer

    assert max(answer.width, answer.height) <= 1000
    assert answer.warnings == (f"the page is large: drawn at {answer.dpi} dpi",)


@pytest.mark.parametrize("dpi", [0, 19, 601, 100_000])
def test_dpi_is_bounded(dpi, stored, data_dir):
    stored()

    with pytest.raises(BadRequest, match="out of range"):
        view(data_dir, "2", Look(dpi=dpi))


def test_a_page_without_these_words_says_that_nothing_is_marked(make_store, a_pdf, data_dir):
    make_store(file_document(a_pdf, small_store.chunk("What OCR has read", page=1), doc_type="pdf"))

    answer = view(data_dir, "1").answer

    assert answer.marks == ()
    assert "not marked" in answer.warnings[0]


def test_a_page_that_is_not_there_says_which_are(stored, data_dir):
    stored()

    with pytest.raises(NotFound) as caught:
        view(data_dir, "1", Look(page=3))
    assert (caught.value.message.partition(" in ")[0], caught.value.hint) == ("no page 3", "it has pages 1 to 2")


def test_an_encrypted_file_wants_its_password(make_store, tmp_path, data_dir):
    document = pdf_files.new()
    pdf_files.page_of(document, KEY)
    path = pdf_files.save(document, tmp_path / "locked.pdf", encryption=5, user_pw="open", owner_pw="owner")
    make_store(file_document(path, small_store.chunk(KEY, page=1), doc_type="pdf"))

    with pytest.raises(EncryptedFile, match="needs a password"):
        view(data_dir, "1")
    assert view(data_dir, "1", Look(password="open")).answer.marks


def test_a_broken_file_is_one_clear_line(make_store, tmp_path, data_dir):
    path = tmp_path / "broken.pdf"
    path.write_bytes(b"%PDF-1.7\nnothing\n")
    make_store(file_document(path, small_store.chunk(KEY, page=1), doc_type="pdf"))

    with pytest.raises(UnreadableFile, match=r"broken\.pdf: damaged PDF"):
        view(data_dir, "1")


# Files that are not what was read


def test_a_new_time_alone_is_no_change(stored, data_dir, a_pdf):
    stored()
    os.utime(a_pdf, (1, 1))

    assert view(data_dir, "2").answer.warnings == ()


def test_of_a_changed_file_the_kept_original_is_shown(stored, data_dir, a_pdf):
    stored(keeps_original=True)
    a_pdf.write_bytes(b"%PDF-1.7 another")

    answer = view(data_dir, "2").answer

    assert (answer.origin, len(answer.marks)) == ("original", 3)
    assert answer.warnings == ("the file has changed since it was read: this is the original that was kept",)


def test_a_changed_pdf_is_shown_as_it_is_now_where_no_original_is_kept(stored, data_dir, a_pdf):
    stored()
    document = pdf_files.new()
    for _ in range(2):
        pdf_files.page_of(document, "Now there is no key.")
    pdf_files.save(document, a_pdf)

    answer = view(data_dir, "2").answer

    assert (answer.origin, answer.kind) == ("file", "page")
    assert answer.warnings[0] == "the file has changed since it was read: this is how it is now"


@pytest.mark.parametrize("now", [b"%PDF-1.7 broken", b"no pdf", None])
def test_of_a_changed_pdf_without_that_page_the_text_is_shown(now, stored, data_dir, a_pdf):
    stored()
    document = pdf_files.new()
    pdf_files.page_of(document, "Only one page is left.")
    pdf_files.save(document, a_pdf)
    if now:
        a_pdf.write_bytes(now)

    answer = view(data_dir, "2").answer

    assert (answer.origin, answer.kind) == ("store", "excerpt")
    assert answer.warnings == ("the file has changed since it was read: this is the text that was read",)


def test_a_secret_that_has_come_into_a_file_is_not_shown(stored, data_dir, a_pdf):
    stored()
    document = pdf_files.new()
    pdf_files.page_of(document, "one")
    pdf_files.page_of(document, "password: hunter2Kd8s!")
    pdf_files.save(document, a_pdf)

    assert view(data_dir, "2").answer.kind == "excerpt"


def test_of_a_file_that_is_gone_the_text_is_shown(stored, data_dir, a_pdf):
    stored()
    a_pdf.unlink()

    answer = view(data_dir, "2").answer

    assert (answer.origin, answer.kind) == ("store", "excerpt")
    assert answer.warnings == ("the file is gone: this is the text that was read",)
    assert [line.text for line in answer.excerpt if line.marked] == [KEY]


def test_a_page_with_a_secret_that_was_not_stored_is_not_shown(make_store, a_pdf, data_dir):
    clean = KEY.replace("Ingrid", "[redacted: password]")
    make_store(
        file_document(
            a_pdf, small_store.chunk(pdf_files.LOREM, page=1), small_store.chunk(clean, page=2), doc_type="pdf"
        )
    )

    assert view(data_dir, "2").answer.kind == "excerpt"
    assert "secret" in view(data_dir, "1", Look(page=2)).answer.warnings[0]
    assert view(data_dir, "1").answer.kind == "page"


# Texts and pictures


@pytest.fixture
def a_text(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("".join(f"line {number} <b>\n" for number in range(1, 41)))
    return path


def text_chunk(first, last):
    text = "\n".join(f"line {number} <b>" for number in range(first, last + 1))
    return small_store.chunk(text, start_line=first, end_line=last)


def test_of_a_text_the_lines_of_the_file_are_shown_with_those_around_them(make_store, a_text, data_dir):
    make_store(file_document(a_text, text_chunk(1, 20), text_chunk(21, 23), text_chunk(24, 40)))

    seen = view(data_dir, "2")

    assert [line.number for line in seen.answer.excerpt] == [*range(16, 29)]
    assert [line.number for line in seen.answer.excerpt if line.marked] == [21, 22, 23]
    assert (seen.answer.kind, seen.answer.origin, seen.answer.lines) == ("excerpt", "file", (21, 23))
    assert len(seen.answer.marks) == 3
    left, top, *_ = seen.answer.marks[0]
    assert pixels(seen).getpixel((left + 2, top + 2)) == MARKER


def test_an_excerpt_is_drawn_only_where_that_is_wanted(make_store, a_text, data_dir):
    make_store(file_document(a_text, text_chunk(1, 3)))

    assert view(data_dir, "1", Look(draws_text=False)).png == b""


def test_of_a_changed_text_the_stored_passage_is_shown(make_store, a_text, data_dir):
    make_store(file_document(a_text, text_chunk(1, 20), text_chunk(21, 23), text_chunk(24, 40)))
    a_text.write_text("nothing of it")

    answer = view(data_dir, "2").answer

    assert [line.text for line in answer.excerpt if line.marked] == ["line 21 <b>", "line 22 <b>", "line 23 <b>"]
    assert {line.text for line in answer.excerpt if not line.marked} == {
        *(f"line {number} <b>" for number in (*range(16, 21), *range(24, 29)))
    }
    assert answer.origin == "store"


def test_the_lines_of_a_file_with_a_secret_are_not_shown(make_store, a_text, data_dir):
    make_store(file_document(a_text, small_store.chunk("line [redacted: token]", start_line=1, end_line=3)))

    assert [line.text for line in view(data_dir, "1").answer.excerpt] == ["line [redacted: token]"]


def test_a_document_alone_is_shown_from_its_beginning(make_store, a_text, data_dir):
    make_store(file_document(a_text, text_chunk(1, 40)))

    answer = view(data_dir, str(a_text)).answer

    assert [line.number for line in answer.excerpt] == [*range(1, 41)]
    assert not any(line.marked for line in answer.excerpt)


def test_of_a_file_with_one_endless_line_the_passage_is_shown(make_store, tmp_path, data_dir):
    path = tmp_path / "min.json"
    path.write_text("[" + "1," * 5000 + "1]")
    make_store(file_document(path, small_store.chunk("1, 1, 1", start_line=1, end_line=1), doc_type="data"))

    assert [(line.text, line.number) for line in view(data_dir, "1").answer.excerpt] == [("1, 1, 1", None)]


def test_a_note_is_shown_as_it_is_stored(make_store, data_dir):
    make_store(small_store.document("note", "red apples", doc_type="note", source_path=None))

    answer = view(data_dir, "1").answer

    assert ([line.text for line in answer.excerpt], answer.origin, answer.warnings) == (["red apples"], "store", ())


def test_a_slide_is_shown_as_its_text(make_store, tmp_path, data_dir):
    """Nothing of other slides, and nothing marked, where no passage is asked for."""
    path = tmp_path / "talk.pptx"
    path.write_bytes(b"slides")
    chunks = (small_store.chunk("first slide", page=1), small_store.chunk("second slide", page=2))
    make_store(file_document(path, *chunks, doc_type="pptx"))

    answer = view(data_dir, str(path), Look(page=2)).answer

    assert [(line.text, line.marked) for line in answer.excerpt] == [("second slide", False)]
    assert (answer.page, answer.text) == (2, "second slide")
    [passage] = [line.text for line in view(data_dir, "2").answer.excerpt if line.marked]
    assert passage == "second slide"
    with pytest.raises(NotFound, match="nothing on page 7"):
        view(data_dir, str(path), Look(page=7))


def test_a_document_that_is_a_picture_is_shown_itself(make_store, tmp_path, data_dir):
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (300, 200), "blue").save(path)
    make_store(file_document(path, small_store.chunk("blue", page=1), doc_type="image"))

    seen = view(data_dir, "1")

    assert (seen.answer.kind, pixels(seen).size) == ("image", (300, 200))
    assert view(data_dir, "1", Look(longest_side=150)).answer.width == 150


def test_a_number_that_is_a_document_and_no_chunk_says_how_to_see_it(make_store, data_dir):
    make_store(small_store.document("a", "one"), small_store.document("b"))

    with pytest.raises(NotFound) as caught:
        view(data_dir, "2")
    assert caught.value.hint == "a page of document 2: kb view 2 --page 1"


# The command


@pytest.fixture
def in_store(stored, data_dir, tmp_path):
    """Run `kb` beside the store with the PDF."""
    stored()
    return lambda *arguments: here(tmp_path, *arguments, KB_DATA_DIR=data_dir)


def test_without_out_the_picture_is_in_the_data_directory_and_its_path_is_said(in_store, data_dir):
    ran = in_store("view", 2)

    path = data_dir / "run/view/chunk-2-page-2.png"
    assert str(path) in ran.stdout
    assert (path.read_bytes()[:4], path.parent.parent.stat().st_mode & 0o777) == (b"\x89PNG", 0o700)


def test_only_the_last_pictures_are_kept_there(in_store, data_dir):
    folder = data_dir / "run/view"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"chunk-{100 + number}.png").write_bytes(b"")

    in_store("view", 2)

    assert len(list(folder.iterdir())) == 20


def test_out_writes_the_picture_there_and_nothing_else(in_store, tmp_path, data_dir):
    answer = in_store("view", 2, "--out", "page.png", "-j").json

    assert answer["picture"] == str(tmp_path / "page.png")
    assert Image.open(tmp_path / "page.png").size == (answer["width"], answer["height"])
    assert len(answer["marks"]) == 3
    assert not (data_dir / "run/view").exists()


@pytest.mark.parametrize("out", ["page.pdf", "missing/page.png", "."])
def test_a_place_that_cannot_take_a_png_is_refused(out, in_store, tmp_path):
    before = sorted(tmp_path.iterdir())

    assert in_store("view", 2, "--out", out).code == 2
    assert sorted(tmp_path.iterdir()) == before


def test_a_dash_writes_the_picture_to_standard_output(stored, data_dir, tmp_path):
    stored()

    done = subprocess.run(
        [sys.executable, "-m", "kb", "view", "2", "--out", "-"], capture_output=True, check=True,
        env=environment(data_dir),
    )  # fmt: skip

    assert done.stdout.startswith(b"\x89PNG")


def test_a_text_is_shown_in_the_terminal_and_nothing_written(make_store, a_text, data_dir, tmp_path):
    make_store(file_document(a_text, text_chunk(1, 20), text_chunk(21, 23), text_chunk(24, 40)))

    ran = here(tmp_path, "view", 2, KB_DATA_DIR=data_dir)

    assert "> 21 line 21 <b>\n" in ran.stdout
    assert "  20 line 20 <b>\n" in ran.stdout
    assert not (data_dir / "run/view").exists()
    assert here(tmp_path, "view", 2, "--out", "x.png", KB_DATA_DIR=data_dir).code == 0
    assert (tmp_path / "x.png").exists()


@pytest.mark.skipif(sys.platform == "darwin", reason="xdg-open is what Linux has")
def test_open_hands_the_picture_to_the_program_of_the_system(stored, data_dir, tmp_path):
    stored()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "xdg-open").write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/opened"\n')
    (programs / "xdg-open").chmod(0o755)

    ran = here(tmp_path, "view", 2, "--open", "-j", KB_DATA_DIR=data_dir, PATH=f"{programs}:/usr/bin:/bin")

    deadline = time.monotonic() + 20
    while not (tmp_path / "opened").is_file() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (tmp_path / "opened").read_text().strip() == ran.json["picture"]


def test_open_without_such_a_program_says_where_the_picture_is(stored, data_dir, tmp_path):
    stored()

    ran = here(tmp_path, "view", 2, "--open", KB_DATA_DIR=data_dir, PATH=tmp_path)

    assert ran.code == 2
    assert str(data_dir / "run/view/chunk-2-page-2.png") in ran.stderr
