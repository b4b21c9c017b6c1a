"""PDF: opening, plain pages, headings, what goes into the metadata."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pdf_files as files
import pytest

from kb.errors import EncryptedFile, NoText, NotFound, UnreadableFile

DATA = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real documents are not at {DATA}")


def test_text_comes_with_its_page(tmp_path):
    document = files.new()
    files.page_of(document, "The first page speaks of apples.")
    files.page_of(document, "The second page speaks of pears.")
    read = files.read(files.save(document, tmp_path / "two.pdf"))
    assert [(b.page, b.kind, b.text) for b in read.blocks] == [
        (1, "text", "The first page speaks of apples."),
        (2, "text", "The second page speaks of pears."),
    ]
    assert read.extractor == "pymupdf"


def test_larger_type_is_a_heading_and_opens_its_block(tmp_path):
    document = files.new()
    files.page_of(document, ("Fruit", 24), ("Apples", 16), *[files.LOREM] * 3, ("Pears", 16), *[files.LOREM] * 3)
    blocks = files.read(files.save(document, tmp_path / "a.pdf")).blocks
    assert [b.heading for b in blocks] == [("Fruit", "Apples"), ("Fruit", "Pears")]
    assert blocks[0].text.startswith("Fruit\n\nApples\n\nThe harbour")


def test_bold_line_of_body_size_is_a_heading_below_larger_ones(tmp_path):
    document = files.new()
    page = files.page_of(document, ("Report", 20))
    page.insert_text((72, 140), "Summary", fontsize=11, fontname="hebo")
    for number in range(3):
        page.insert_text((72, 160 + 14 * number), files.LOREM, fontsize=11)
    assert files.read(files.save(document, tmp_path / "a.pdf")).blocks[-1].heading == ("Report", "Summary")


def test_bookmarks_give_the_chain_where_fonts_do_not(tmp_path):
    document = files.new()
    files.page_of(document, "Part one", files.LOREM)
    files.page_of(document, files.LOREM)
    files.page_of(document, "Annex", files.LOREM)
    document.set_toc([[1, "Part one", 1], [2, "A section that is not printed", 2], [1, "Annex", 3]])
    blocks = files.read(files.save(document, tmp_path / "a.pdf")).blocks
    assert [b.heading for b in blocks] == [
        ("Part one",),
        ("Part one", "A section that is not printed"),
        ("Annex",),
    ]


def test_word_broken_at_a_line_end_is_whole_and_a_compound_keeps_its_hyphen(tmp_path):
    document = files.new()
    files.page_of(
        document,
        "The long established com-",
        "mittee of the well-known harbour met, and the well-",
        "known chairman spoke of the tides.",
    )
    text = files.text_of(files.read(files.save(document, tmp_path / "a.pdf")))
    assert "established committee of" in text
    assert "the well-known chairman" in text


def test_word_broken_at_a_page_end_is_whole_on_the_page_where_it_begins(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM, "and nobody had expected the com-")
    files.page_of(document, "mittee to come so early in the day.")
    blocks = files.read(files.save(document, tmp_path / "a.pdf")).blocks
    assert blocks[0].text.endswith("expected the committee")
    assert blocks[1].text == "to come so early in the day."


def test_running_heads_and_page_numbers_are_dropped_and_what_does_not_repeat_is_kept(tmp_path):
    document = files.new()
    for number in range(1, 5):
        page = files.page_of(document, f"Body of page {'abcd'[number - 1]}. {files.LOREM}", y=200)
        page.insert_text((72, 40), "ANNUAL REPORT", fontsize=9)
        page.insert_text((290, 820), f"{number}", fontsize=9)
    document[2].insert_text((300, 40), "Only here", fontsize=9)
    text = files.text_of(files.read(files.save(document, tmp_path / "a.pdf")))
    assert "ANNUAL REPORT" not in text
    assert "Only here" in text
    assert not any(line.strip().isdigit() for line in text.splitlines())


def test_lines_of_a_paragraph_are_joined_and_items_of_a_list_are_not(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM, files.LOREM, "- salt", "- rope and tar", "- lamp oil")
    text = files.text_of(files.read(files.save(document, tmp_path / "a.pdf")))
    assert f"{files.LOREM} {files.LOREM}" in text
    assert "- salt\n- rope and tar\n- lamp oil" in text


def test_white_space_between_lines_begins_a_paragraph(tmp_path):
    document = files.new()
    page = files.page_of(document, files.LOREM, files.LOREM)
    page.insert_text((72, 170), files.LOREM, fontsize=11)
    page.insert_text((72, 184), files.LOREM, fontsize=11)
    paragraphs = files.read(files.save(document, tmp_path / "a.pdf")).blocks[0].text.split("\n\n")
    assert len(paragraphs) == 2


def test_monospaced_lines_are_a_listing_with_their_indentation(tmp_path):
    document = files.new()
    page = files.page_of(document, *[files.LOREM] * 4)
    for number, line in enumerate(("def area(r):", "    return 3.14 * r * r")):
        page.insert_text((72, 180 + 12 * number), line, fontsize=10, fontname="cour")
    blocks = files.read(files.save(document, tmp_path / "a.pdf")).blocks
    assert [b.text for b in blocks if b.kind == "code"] == ["def area(r):\n    return 3.14 * r * r"]


def test_typewriter_document_is_text_not_code(tmp_path):
    document = files.new()
    files.page_of(document, *[files.LOREM] * 4, font="cour", size=9)
    assert {b.kind for b in files.read(files.save(document, tmp_path / "a.pdf")).blocks} == {"text"}


def test_content_out_of_order_is_read_from_top_to_bottom(tmp_path):
    document = files.new()
    page = document.new_page()
    for y, text in ((400, "Third comes the end."), (100, "First comes the start."), (250, "Second is the middle.")):
        page.insert_text((72, y), text, fontsize=11)
    text = files.text_of(files.read(files.save(document, tmp_path / "a.pdf")))
    assert text.index("First") < text.index("Second") < text.index("Third")


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_page_turned_by_its_rotation_or_by_its_text_is_read_upright(tmp_path, rotation):
    document = files.new()
    page = files.page_of(document, "Turned pages are read", "as if they stood upright.")
    page.set_rotation(rotation)  # a viewer now shows the text sideways or upside down
    read = files.read(files.save(document, tmp_path / "a.pdf"))
    assert read.blocks[0].text == "Turned pages are read as if they stood upright."
    assert read.metadata["triage"] == {"plain": {"rotated": "1"}}


def test_values_of_form_fields_are_text(tmp_path):
    pymupdf = files.import_pymupdf()
    document = files.new()
    page = files.page_of(document, "Please fill in this form with care.")
    widget = pymupdf.Widget()
    widget.rect, widget.field_type = pymupdf.Rect(72, 200, 90, 218), pymupdf.PDF_WIDGET_TYPE_CHECKBOX
    widget.field_name, widget.field_value = "Consent given", True
    page.add_widget(widget)
    assert "Consent given: Yes" in files.text_of(files.read(files.save(document, tmp_path / "a.pdf")))


def test_comments_are_text(tmp_path):
    document = files.new()
    page = files.page_of(document, files.LOREM)
    page.add_text_annot((300, 300), "Check the tide tables").set_info(title="Ann")
    assert "Ann: Check the tide tables" in files.text_of(files.read(files.save(document, tmp_path / "a.pdf")))


def test_attached_files_are_mentioned(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM)
    document.embfile_add("figures.csv", b"1,2")
    read = files.read(files.save(document, tmp_path / "a.pdf"))
    assert read.metadata["attachments"] == "figures.csv"
    assert read.blocks[-1].text == "Attached files: figures.csv"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("On Tides", "On Tides"), ("Microsoft Word - tides.doc", "Large Words"), ("untitled", "Large Words")],
)
def test_title_is_the_files_own_unless_a_program_made_it_up(tmp_path, given, expected):
    document = files.new()
    files.page_of(document, ("Large Words", 22), *[files.LOREM] * 3)
    document.set_metadata({"title": given, "author": "A. Sailor"})
    read = files.read(files.save(document, tmp_path / "a.pdf"))
    assert (read.title, read.metadata["author"]) == (expected, "A. Sailor")


def test_no_title_where_nothing_stands_out(tmp_path):
    document = files.new()
    files.page_of(document, *[files.LOREM] * 3)
    assert files.read(files.save(document, tmp_path / "a.pdf")).title is None


def test_empty_user_password_opens(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM)
    options = {"encryption": files.import_pymupdf().PDF_ENCRYPT_AES_256, "owner_pw": "secret", "user_pw": ""}
    assert files.LOREM in files.text_of(files.read(files.save(document, tmp_path / "a.pdf", **options)))


def test_password_is_asked_for_checked_and_used(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM)
    options = {"encryption": files.import_pymupdf().PDF_ENCRYPT_AES_256, "owner_pw": "o", "user_pw": "open"}
    path = files.save(document, tmp_path / "a.pdf", **options)
    with pytest.raises(EncryptedFile, match="needs a password") as missing:
        files.read(path)
    assert "--password" in missing.value.hint
    with pytest.raises(EncryptedFile, match="does not open"):
        files.read(path, password="wrong")
    assert files.LOREM in files.text_of(files.read(path, password="open"))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "0 bytes"), (b"12345", "not a PDF"), (b"%PDF-1.7\nnothing of use", "damaged PDF")],
)
def test_what_is_no_pdf_is_said_to_be_none(tmp_path, content, message):
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=message):
        files.read(path)


def test_missing_file_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        files.read(tmp_path / "none.pdf")


def test_damaged_file_is_repaired_and_says_so(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM)
    path = files.save(document, tmp_path / "a.pdf")
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"xref")])
    read = files.read(path)
    assert files.LOREM in files.text_of(read)
    assert "repaired" in read.warnings[0]


def test_page_without_anything_is_no_text(tmp_path):
    document = files.new()
    document.new_page()
    with pytest.raises(NoText, match="holds no text"):
        files.read(files.save(document, tmp_path / "a.pdf"))


def test_plain_pages_load_neither_models_nor_docling(tmp_path):
    """A fresh process that reads a plain page imports no onnxruntime, layout models, OCR or Docling."""
    document = files.new()
    files.page_of(document, files.LOREM)
    path = files.save(document, tmp_path / "a.pdf")
    code = (
        "import sys; from kb.read.pdf import read; from kb.types import *; "
        f"read(Source(path={str(path)!r}, doc_type='pdf'), ReadOptions()); "
        "print([m for m in ('onnxruntime', 'pymupdf.layout', 'pymupdf4llm', 'docling', 'rapidocr') if m in sys.modules])"
    )
    root = Path(__file__).parents[1]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert ran.stdout.strip() == "[]"


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("pdf/minimal-document.pdf", "sed diam nonumy eirmod tempor"),
        ("pdf/multi_page.pdf", "unique to screenwriting"),
        ("pdf/bad-xref.pdf", "Potato"),
        ("pdf/multi_page-leading-junk.pdf", "The Birth of Word Processing"),
        ("pdf/dmca.pdf", "control measures does not take effect until two years"),
        ("pdf/zen_of_python_corrupted.pdf", "Errors should never pass silently"),
        ("pdf_cjk_rtl/jo.pdf", "わたくしといふ現象"),
        ("pdf_cjk_rtl/right_to_left_01.pdf", "تحسين الإنتاجية وحل المشكلات من خلال"),
        ("pdf_odd/text-find-ligatures.pdf", "Does 'flag' have a ligature"),
        ("pdf_odd/bookmark_sample.pdf", "PART III - MISCELLANEOUS"),
        ("pdf_form/pdflatex-forms.pdf", "Submit"),
    ],
)
def test_real_documents_hold_their_phrases(name, phrase):
    text = files.text_of(files.read(DATA / name, enable_ocr="never"))
    assert phrase in " ".join(text.split())


@needs_data
@pytest.mark.data
def test_page_tree_that_contains_itself_is_an_error_and_does_not_hang():
    with pytest.raises(UnreadableFile, match="cycle in page tree"):
        files.read(DATA / "pdf" / "Pages-tree-refs.pdf")
