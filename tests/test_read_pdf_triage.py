"""PDF: what triage knows of images, forms and paths from one run over a page."""

from __future__ import annotations

import pdf_files as files

from kb.read.line import Line
from kb.read.pdf import reading
from kb.read.pdf.account import Account
from kb.read.pdf.furniture import Furniture
from kb.read.pdf.opening import opened
from kb.read.pdf.page import PageText, extract
from kb.read.pdf.prose import parts_of
from kb.read.pdf.style import style_of
from kb.read.pdf.triage import judge
from kb.types import ReadOptions

ROWS = (("Port", "Boats", "Crew"), ("Aberdeen", "12", "84"), ("Bergen", "7", "51"), ("Cork", "31", "190"))


def examined(path):
    with opened(str(path), None) as (document, _):
        text = extract(document, 1)
        return text, judge(text, document)


def picture_as_form(page):
    """Draw on a page, over all of it, a form that is nothing but a picture."""
    framed = files.new()
    files.scan(framed, files.picture("A page"))
    page.show_pdf_page(page.rect, framed, 0, keep_proportion=False)


def line(text, x0, y0):
    return Line(text, x0, y0, x0 + 5 * len(text), y0 + 10, 10)


def test_image_written_into_the_content_makes_a_scan(tmp_path):
    document = files.new()
    page = document.new_page(width=files.WIDTH, height=files.HEIGHT)
    page.insert_text((72, 72), " ")
    (content,) = page.get_contents()
    document.update_stream(content, b"q 595 0 0 842 0 0 cm BI /W 2 /H 2 /CS /G /BPC 8 ID 0pp0 EI Q")
    text, verdict = examined(files.save(document, tmp_path / "a.pdf"))
    assert (text.image_pixels, len(text.inline_images)) == (0, 1)
    assert (verdict.kind, verdict.reasons) == ("scan", ("no text",))


def test_image_within_a_form_makes_a_scan(tmp_path):
    document = files.new()
    page = document.new_page(width=files.WIDTH, height=files.HEIGHT)
    picture_as_form(page)
    text, verdict = examined(files.save(document, tmp_path / "a.pdf"))
    assert text.image_pixels == 900 * 420
    assert (verdict.kind, verdict.reasons) == ("scan", ("no text",))


def test_form_that_draws_itself_is_looked_into_once(tmp_path):
    document = files.new()
    page = files.page_of(document, *[files.LOREM] * 5)
    picture_as_form(page)
    (form, *_) = (xref for xref, *_ in page.get_xobjects())
    document.xref_set_key(form, "Resources/XObject/Itself", f"{form} 0 R")
    text, _ = examined(files.save(document, tmp_path / "a.pdf"))
    assert text.image_pixels == 900 * 420


def test_ruling_lines_are_seen_and_their_places_are_not_kept_with_the_page(tmp_path):
    document = files.new()
    files.ruled_table(files.page_of(document, *[files.LOREM] * 3), ROWS)
    path = files.save(document, tmp_path / "a.pdf")
    text, verdict = examined(path)
    assert len(text.paths) == text.vector_count
    assert "ruling lines" in verdict.reasons
    account = Account("pymupdf")
    with opened(str(path), None) as (reopened, _):
        list(reading.read_pages(reopened, str(path), ReadOptions(), account))
    assert account.first_page is not None
    assert account.first_page.paths == ()


def test_few_paths_are_counted_only(tmp_path):
    document = files.new()
    page = files.page_of(document, *[files.LOREM] * 3)
    page.draw_line((72, 300), (500, 300))
    text, verdict = examined(files.save(document, tmp_path / "a.pdf"))
    assert (text.vector_count, text.paths, verdict.kind) == (1, (), "plain")


def test_comment_written_on_the_page_is_text(tmp_path):
    document = files.new()
    page = files.page_of(document, *[files.LOREM] * 3)
    page.add_freetext_annot((72, 300, 400, 330), "Seen by the harbour master.")
    text, _ = examined(files.save(document, tmp_path / "a.pdf"))
    assert text.has_notes
    assert "Seen by the harbour master." in [shown.text for shown in text.lines]


def test_roman_and_other_page_numbers_do_not_make_a_running_head_differ():
    pages = [
        PageText(number, 500, 800, (line(head, 50, 20), line(f"Only here, {'abc'[number]}", 50, 400)))
        for number, head in enumerate(("Preface iv", "Preface xii", "Preface 7"))
    ]
    furniture = Furniture()
    furniture.observe(pages)
    assert [[shown.text for shown in furniture.without(page).lines] for page in pages] == [
        ["Only here, a"],
        ["Only here, b"],
        ["Only here, c"],
    ]


def test_letters_within_words_are_no_roman_numbers():
    pages = [
        PageText(number, 500, 800, (line(head, 50, 20),)) for number, head in enumerate(("Civil", "Civic", "Vivid"))
    ]
    furniture = Furniture()
    furniture.observe(pages)
    assert [len(furniture.without(page).lines) for page in pages] == [1, 1, 1]


def test_white_space_of_any_kind_becomes_one_space():
    lines = [line("“Ships”\u00a0of  the\u2009line sailed in convoy from the harbour", 50, 20), line("at dawn.", 50, 34)]
    (part,) = parts_of(lines, style_of(lines))
    assert part.text == "“Ships” of the line sailed in convoy from the harbour at dawn."
