"""Word documents: everything that a person can read in one is found, once, under its heading."""

from __future__ import annotations

from pathlib import Path

import docx as python_docx
import pytest
from docx.enum.text import WD_BREAK
from office_xml import paragraph, run, write_docx

from kb.errors import EncryptedFile, UnreadableFile
from kb.read import docx
from kb.types import Document, ReadOptions, Source

OPEN_DOCS = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open" / "docx"


def read(path: Path, **options) -> Document:
    return docx.read(Source(path=str(path), doc_type="docx"), ReadOptions(**options))


def all_text(document: Document) -> str:
    return "\n".join(block.text for block in document.blocks)


def body(tmp_path: Path, xml: str, **parts: str) -> Document:
    return read(write_docx(tmp_path / "made.docx", xml, parts))


def text_under(document: Document, *heading: str) -> str:
    return "\n".join(block.text for block in document.blocks if block.heading == heading)


def test_headings_make_the_chain_and_stand_in_the_text(tmp_path):
    made = python_docx.Document()
    made.add_heading("Manual", 0)
    made.add_heading("Config", 1)
    made.add_paragraph("How to set it.")
    made.add_heading("Advanced", 2)
    made.add_paragraph("Seldom needed.")
    made.add_heading("Other", 1)
    made.save(tmp_path / "a.docx")
    document = read(tmp_path / "a.docx")
    assert [(block.heading, block.text) for block in document.blocks] == [
        (("Manual",), "# Manual"),
        (("Manual", "Config"), "## Config\n\nHow to set it."),
        (("Manual", "Config", "Advanced"), "### Advanced\n\nSeldom needed."),
        (("Manual", "Other"), "## Other"),
    ]
    assert (document.title, document.extractor) == ("Manual", "docling")


def test_core_properties_are_metadata_and_the_title_there_wins(tmp_path):
    made = python_docx.Document()
    made.add_paragraph("x")
    made.core_properties.title = "Yearly report"
    made.core_properties.author = "Ann Example"
    made.save(tmp_path / "a.docx")
    document = read(tmp_path / "a.docx")
    assert document.title == "Yearly report"
    assert document.metadata["author"] == "Ann Example"


def test_a_table_is_one_markdown_block_with_merged_cells_repeated(tmp_path):
    made = python_docx.Document()
    table = made.add_table(3, 3)
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f"c{row}{column}"
    table.cell(0, 1).merge(table.cell(0, 2)).text = "Both | sides"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "Fruit"
    made.save(tmp_path / "a.docx")
    (block,) = read(tmp_path / "a.docx").blocks
    assert block.kind == "table"
    assert block.text == (
        "| c00 Fruit | Both \\| sides c11 | Both \\| sides c12 |\n| --- | --- | --- |\n| Fruit | c21 | c22 |"
    )


def test_a_table_in_a_table_is_a_table_of_its_own(tmp_path):
    made = python_docx.Document()
    outer = made.add_table(2, 2)
    for at, text in enumerate(("Name", "Details", "Pump", "see below")):
        outer.cell(at // 2, at % 2).text = text
    inner = outer.cell(1, 1).add_table(2, 2)
    for at, text in enumerate(("Part", "Price", "Valve", "12")):
        inner.cell(at // 2, at % 2).text = text
    made.save(tmp_path / "a.docx")
    document = read(tmp_path / "a.docx")
    assert [block.kind for block in document.blocks] == ["table", "table"]
    assert "| Pump | see below |" in document.blocks[0].text
    assert document.blocks[1].text == "| Part | Price |\n| --- | --- |\n| Valve | 12 |"


def test_lists_keep_their_nesting_and_numbers(tmp_path):
    made = python_docx.Document()
    made.add_paragraph("one", style="List Number")
    made.add_paragraph("two", style="List Number")
    made.add_paragraph("between")
    made.add_paragraph("dot", style="List Bullet")
    made.save(tmp_path / "a.docx")
    assert all_text(read(tmp_path / "a.docx")) == "1. one\n2. two\n\nbetween\n\n- dot"


def test_formatting_inside_a_word_does_not_cut_it(tmp_path):
    made = python_docx.Document()
    line = made.add_paragraph("The for")
    line.add_run("mula").bold = True
    line.add_run(" of water is H")
    line.add_run("2").font.subscript = True
    line.add_run("O")
    made.save(tmp_path / "a.docx")
    assert all_text(read(tmp_path / "a.docx")) == "The formula of water is H2O"


def test_links_keep_their_text_in_the_sentence(tmp_path):
    xml = f'<w:p>{run("see the ")}<w:hyperlink w:anchor="x">{run("manual")}</w:hyperlink>{run(", page 3")}</w:p>'
    assert all_text(body(tmp_path, xml)) == "see the manual, page 3"


def test_tracked_changes_read_as_accepted_and_deletions_stand_apart(tmp_path):
    xml = (
        f'<w:p>{run("The ")}<w:del w:author="Ann" w:date="2024-01-02T00:00:00Z"><w:r><w:delText>slow</w:delText></w:r></w:del>'
        f'<w:ins w:author="Ann">{run("quick")}</w:ins>{run(" fox")}</w:p>'
        f"<w:p><w:moveFrom>{run('moved text')}</w:moveFrom></w:p><w:p><w:moveTo>{run('moved text')}</w:moveTo></w:p>"
    )
    document = body(tmp_path, xml)
    assert text_under(document) == "The quick fox\n\nmoved text"
    assert text_under(document, "Deleted text (tracked changes)") == "slow (deleted by Ann, 2024-01-02)"


def test_insertions_and_fields_in_a_table_cell_are_text(tmp_path):
    cell = f'<w:p>{run("total ")}<w:ins>{run("net")}</w:ins><w:fldSimple w:instr="SUM">{run(" 42")}</w:fldSimple></w:p>'
    controlled = f"<w:p><w:sdt><w:sdtContent>{run('chosen value')}</w:sdtContent></w:sdt></w:p>"
    row = f"<w:tr><w:tc>{cell}</w:tc><w:tc>{controlled}</w:tc></w:tr>"
    repeated = f"<w:sdt><w:sdtContent><w:tr><w:tc>{paragraph('again')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr></w:sdtContent></w:sdt>"
    grid = '<w:tblGrid><w:gridCol w:w="1"/><w:gridCol w:w="1"/></w:tblGrid>'
    document = body(tmp_path, f"<w:tbl>{grid}{row}{repeated}</w:tbl>")
    assert document.blocks[0].text == "| total net 42 | chosen value |\n| --- | --- |\n| again | b |"


def test_footnotes_endnotes_and_comments_with_replies_are_text_under_their_heading(tmp_path):
    note = '<w:footnote w:id="2">' + paragraph("the foot of it") + "</w:footnote>"
    moved = f'<w:endnote w:id="2"><w:p><w:moveTo>{run("the end of it")}</w:moveTo></w:p></w:endnote>'
    comments = (
        f'<w:comment w:id="0" w:author="Ann" w:initials="A">{paragraph("is this right?")}</w:comment>'
        f'<w:comment w:id="1" w:author="Bob" w:initials="B">{paragraph("yes it is")}</w:comment>'
    )
    document = body(tmp_path, paragraph("body"), footnotes=note, endnotes=moved, comments=comments)
    assert text_under(document, "Footnotes") == "the foot of it\n\nthe end of it"
    assert "Ann (A)]: is this right?" in text_under(document, "Comments")
    assert "Bob (B)]: yes it is" in text_under(document, "Comments")
    assert text_under(document) == "body"


def test_page_headers_and_footers_are_text_once_and_page_numbers_are_not(tmp_path):
    made = python_docx.Document()
    made.add_paragraph("body")
    for section in (made.sections[0], made.add_section()):
        section.header.is_linked_to_previous = False
        section.header.paragraphs[0].text = "Confidential draft"
        section.footer.is_linked_to_previous = False
        section.footer.paragraphs[0].text = "7"
    made.save(tmp_path / "a.docx")
    document = read(tmp_path / "a.docx")
    assert text_under(document, "Page header or footer") == "Confidential draft"
    assert all_text(document).count("Confidential draft") == 1


VML_BOX = "<w:pict><v:shape><v:textbox><w:txbxContent>{}</w:txbxContent></v:textbox></v:shape></w:pict>"
DRAWN_BOX = (
    "<w:drawing><wp:inline><a:graphic><a:graphicData><wps:wsp><wps:txbx><w:txbxContent>{}</w:txbxContent>"
    "</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing>"
)


@pytest.mark.parametrize("box", [VML_BOX, DRAWN_BOX])
def test_text_boxes_are_text(tmp_path, box):
    document = body(tmp_path, f"<w:p>{run('before')}<w:r>{box.format(paragraph('in the box'))}</w:r></w:p>")
    assert sorted(all_text(document).split("\n\n")) == ["before", "in the box"]


def test_a_text_box_stored_in_both_forms_is_read_once(tmp_path):
    choice = f'<mc:Choice Requires="wps">{DRAWN_BOX.format(paragraph("in the box"))}</mc:Choice>'
    fallback = f"<mc:Fallback>{VML_BOX.format(paragraph('in the box'))}</mc:Fallback>"
    document = body(tmp_path, f"<w:p><w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r></w:p>")
    assert all_text(document) == "in the box"


def test_custom_xml_and_ruby_bases_are_text(tmp_path):
    ruby = f"<w:ruby><w:rt>{run('とうきょう')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase></w:ruby>"
    xml = (
        f"<w:customXml><w:customXmlPr/>{paragraph('wrapped')}</w:customXml><w:p><w:r>{ruby}</w:r>{run('タワー')}</w:p>"
    )
    assert all_text(body(tmp_path, xml)) == "wrapped\n\n東京タワー"


def test_smart_art_is_text(tmp_path):
    points = "".join(
        f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>" for text in ("Plan", "Do")
    )
    document = body(tmp_path, paragraph("body"), diagramData=points)
    assert text_under(document, "Diagrams") == "Plan\nDo"


def test_an_equation_stays_readable_in_its_sentence(tmp_path):
    math = "<m:oMath><m:r><m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
    assert all_text(body(tmp_path, f"<w:p>{run('so that ')}{math}{run(' holds')}</w:p>")) == "so that $E=mc^{2}$ holds"


def test_code_paragraphs_are_one_code_block(tmp_path):
    made = python_docx.Document()
    for line in ("def f(x):", "    return x * 2"):
        made.add_paragraph().add_run(line).font.name = "Courier New"
    made.save(tmp_path / "a.docx")
    (block,) = read(tmp_path / "a.docx").blocks
    assert (block.kind, block.text) == ("code", "def f(x):\n    return x * 2")


def test_a_picture_gives_its_alternative_text_and_is_not_decoded(tmp_path):
    made = python_docx.Document()
    picture = tmp_path / "p.png"
    picture.write_bytes(PNG)
    shape = made.add_paragraph("Figure 1").add_run().add_picture(str(picture))
    shape._inline.docPr.set("descr", "A duck on\nthe lake")
    made.save(tmp_path / "a.docx")
    assert all_text(read(tmp_path / "a.docx")) == "Figure 1 [image: A duck on the lake]"


def test_page_breaks_leave_nothing_behind(tmp_path):
    made = python_docx.Document()
    made.add_paragraph("one").add_run().add_break(WD_BREAK.PAGE)
    made.add_paragraph("two")
    made.save(tmp_path / "a.docx")
    assert all_text(read(tmp_path / "a.docx")) == "one\n\ntwo"


@pytest.mark.parametrize(
    "main",
    [
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    ],
)
def test_documents_with_macros_and_templates_are_read(tmp_path, main):
    assert all_text(read(write_docx(tmp_path / "a.docm", paragraph("form letter"), main=main))) == "form letter"


def test_text_that_docling_leaves_out_is_kept_at_the_end_with_a_warning(tmp_path):
    unknown = f'<mc:AlternateContent><mc:Choice Requires="v9">{paragraph("from the future")}</mc:Choice></mc:AlternateContent>'
    document = body(tmp_path, paragraph("body") + unknown)
    assert [block.text for block in document.blocks] == ["body", "from the future"]
    assert document.warnings == ("passages that could not be placed are at the end: 1",)


def test_a_document_without_text_is_said_to_hold_none(tmp_path):
    path = write_docx(tmp_path / "empty.docx", "<w:p/>")
    with pytest.raises(UnreadableFile, match="holds no text"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04 and then nothing", "damaged or cut off"),
        (b"{\\rtf1 a rich text file}", "not a docx file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "the old binary Office format"),
    ],
)
def test_what_is_no_word_document_is_said_in_one_line(tmp_path, content, message):
    path = tmp_path / "bad.doc"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=message) as caught:
        read(path)
    assert "\n" not in caught.value.message
    if "old" in message:
        assert "save it as .docx" in caught.value.hint


def test_an_encrypted_document_is_an_encrypted_file(tmp_path):
    path = tmp_path / "locked.docx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(EncryptedFile, match="password"):
        read(path)


def test_a_cut_off_document_is_said_to_be_damaged(tmp_path):
    whole = write_docx(tmp_path / "a.docx", paragraph("text " * 500)).read_bytes()
    path = tmp_path / "cut.docx"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableFile, match="damaged"):
        read(path)


def test_broken_xml_inside_is_said_to_be_damaged(tmp_path):
    path = write_docx(tmp_path / "a.docx", "<w:p><w:r>")
    with pytest.raises(UnreadableFile, match="damaged") as caught:
        read(path)
    assert "\n" not in caught.value.message


@pytest.mark.data
@pytest.mark.skipif(not OPEN_DOCS.exists(), reason="the open documents are not beside the project")
def test_the_real_encrypted_sample_is_an_encrypted_file():
    with pytest.raises(EncryptedFile):
        read(OPEN_DOCS / "example_password.docx")


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
