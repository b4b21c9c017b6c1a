"""When a document was written: what it states itself, where that can be, else its file's time."""

from __future__ import annotations

import os
import zipfile
from datetime import UTC, datetime, timedelta

import docx
import openpyxl
import pdf_files
import pptx
import pytest
import running

from kb.dating import modified_at, stated
from kb.read import docx as word
from kb.read import epub_package, html, xlsx
from kb.read import pptx as slides
from kb.read.office_dates import stated_dates
from kb.read.pdf.extras import iso_date
from kb.types import ReadOptions, Source

FILES = datetime(2021, 5, 6, 7, 8, 9, tzinfo=UTC)
FILES_NS = int(FILES.timestamp()) * 10**9
MADE, CHANGED = datetime(2019, 3, 1, 10, 0, 0), datetime(2019, 3, 12, 10, 15, 30)  # noqa: DTZ001  the libraries take UTC without saying so


@pytest.mark.parametrize(
    ("metadata", "date"),
    [
        ({"modified": "2019-03-12T10:15:30+01:00"}, "2019-03-12T09:15:30+00:00"),
        ({"modified": "2019-03-12"}, "2019-03-12T00:00:00+00:00"),
        ({"modified": "2019-03-12", "date": "2018-01-02"}, "2018-01-02T00:00:00+00:00"),
        ({"modified": "2019-03-12", "date": "last spring"}, "2019-03-12T00:00:00+00:00"),
        ({"date": "1912-04-15"}, "1912-04-15T00:00:00+00:00"),
        ({"modified": "1979-12-31T23:59:59Z"}, FILES.isoformat()),
        ({"modified": (datetime.now(UTC) + timedelta(days=1)).isoformat()}, FILES.isoformat()),
        ({"modified": "soon"}, FILES.isoformat()),
        ({"created": "2019-03-12"}, FILES.isoformat()),
        ({}, FILES.isoformat()),
    ],
)
def test_what_a_person_wrote_comes_first_then_what_a_program_did_where_it_can_be(metadata, date):
    assert modified_at(FILES_NS, metadata) == date


def test_a_document_without_a_file_states_a_date_or_none():
    assert stated({"modified": "2019-03-12"}) == "2019-03-12T00:00:00+00:00"
    assert stated({"modified": "1601-01-01"}) is None


# Office files


def word_file(path, **properties):
    made = docx.Document()
    made.add_paragraph("red boats")
    for name, value in properties.items():
        setattr(made.core_properties, name, value)
    made.save(path)
    return word.read(Source(path=str(path), doc_type="docx"), ReadOptions())


def deck(path, **properties):
    made = pptx.Presentation()
    made.slides.add_slide(made.slide_layouts[0]).shapes.title.text = "red boats"
    for name, value in properties.items():
        setattr(made.core_properties, name, value)
    made.save(path)
    return slides.read(Source(path=str(path), doc_type="pptx"), ReadOptions())


def workbook(path, created, modified):
    made = openpyxl.Workbook()
    made.active["A1"] = "red boats"
    made.properties.created = created
    made.save(path)
    replace(path, "docProps/core.xml", r"<dcterms:modified", modified)
    return xlsx.read(Source(path=str(path), doc_type="xlsx"), ReadOptions())


def replace(path, member, begin, date):
    """The element of core.xml that begins so, with another date; without one where that is None."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = members[member].decode()
    head, _, rest = text.partition(begin)
    element, _, tail = rest.partition("</dcterms:modified>")
    kept = f"{begin}{element.partition('>')[0]}>{date}</dcterms:modified>" if date else ""
    members[member] = f"{head}{kept}{tail}".encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("made", [word_file, deck])
def test_office_files_say_when_they_were_made_and_changed(made, tmp_path):
    metadata = made(tmp_path / "a", created=MADE, modified=CHANGED).metadata

    assert (metadata["created"], metadata["modified"]) == ("2019-03-01T10:00:00+00:00", "2019-03-12T10:15:30+00:00")


@pytest.mark.parametrize("made", [word_file, deck])
def test_the_date_of_a_librarys_template_is_no_date_of_the_document(made, tmp_path):
    assert not {"created", "modified"} & set(made(tmp_path / "a").metadata)


def test_a_workbook_that_does_not_say_when_it_was_changed_is_as_old_as_when_it_was_made(tmp_path):
    """openpyxl would say: just now."""
    assert (
        workbook(tmp_path / "a.xlsx", MADE, "2019-03-12T10:15:30Z").metadata["modified"] == "2019-03-12T10:15:30+00:00"
    )
    assert workbook(tmp_path / "b.xlsx", MADE, None).metadata["modified"] == "2019-03-01T10:00:00+00:00"


@pytest.mark.parametrize("core", ["", "<cp", "<a>nonsense</a>"])
def test_properties_that_are_damaged_or_missing_state_nothing(core, tmp_path):
    relations = (
        '<Relationships xmlns="r"><Relationship Id="1" Target="/docProps/core.xml"'
        ' Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"/></Relationships>'
    )
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr("_rels/.rels", relations)
        if core:
            archive.writestr("docProps/core.xml", core)
        assert stated_dates(archive) == {}


# PDF, pages, books


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("D:20190312101530+01'00'", "2019-03-12T09:15:30+00:00"),
        ("D:20190312101530-0730", "2019-03-12T17:45:30+00:00"),
        ("D:20190312101530Z00'00'", "2019-03-12T10:15:30+00:00"),
        ("D:20190312101530Z", "2019-03-12T10:15:30+00:00"),
        ("20190312", "2019-03-12T00:00:00+00:00"),
        ("D:2019", "2019-01-01T00:00:00+00:00"),
        ("D:20191399000000", None),
        ("D:00000101000000Z", None),
        ("2019-03-12", None),
        ("12 March 2019", None),
        ("", None),
    ],
)
def test_a_date_as_pdf_writes_it(text, date):
    assert iso_date(text) == date


def pdf(path, **dates):
    made = pdf_files.new()
    pdf_files.page_of(made, pdf_files.LOREM)
    made.set_metadata(dates)
    return pdf_files.read(pdf_files.save(made, path)).metadata


def test_a_pdf_says_when_it_was_made_and_changed(tmp_path):
    both = pdf(tmp_path / "a.pdf", creationDate="D:20190301100000Z", modDate="D:20190312101530Z")
    made = pdf(tmp_path / "b.pdf", creationDate="D:20190301100000Z")
    none = pdf(tmp_path / "c.pdf", author="Ann")

    assert (both["created"], both["modified"]) == ("2019-03-01T10:00:00+00:00", "2019-03-12T10:15:30+00:00")
    assert made["modified"] == "2019-03-01T10:00:00+00:00"
    assert not {"created", "modified"} & set(none)


def test_a_page_and_a_book_say_when_they_were_changed(tmp_path):
    page = tmp_path / "a.html"
    page.write_text(
        '<head><meta property="article:modified_time" content="2019-03-12T10:15:30Z"></head><p>red', "utf-8"
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata><meta property="dcterms:modified" refines="#c">2001-01-01</meta>'
        '<meta property="dcterms:modified"> 2019-03-12T10:15:30Z </meta></metadata></package>'
    )
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as archive:
        archive.writestr("a.opf", package)
        book = epub_package.read(archive, "a.epub").metadata

    read = html.read(Source(path=str(page), doc_type="html"), ReadOptions()).metadata
    assert read["modified"] == book["modified"] == "2019-03-12T10:15:30Z"


def test_a_copied_file_is_found_by_the_date_it_states(kb, tmp_path, roomy_folder):
    """The file's own time is that of the copy, and `touch` changes nothing."""
    running.write(tmp_path / "docs", {"a.txt": "red boats"})
    pdf(tmp_path / "docs/a.pdf", modDate="D:20190312101530Z")
    for name in ("a.txt", "a.pdf"):
        os.utime(tmp_path / "docs" / name, ns=(FILES_NS, FILES_NS))
    kb("add", "docs", "-r", KB_MODEL=roomy_folder)

    def listed(*narrowed):
        return [(each["type"], each["modified_at"]) for each in kb("list", "-j", *narrowed).json["documents"]]

    assert listed("--before", "2020") == [("pdf", "2019-03-12T10:15:30+00:00")]
    assert listed("--since", "2020") == [("text", FILES.isoformat())]
    os.utime(tmp_path / "docs/a.pdf")
    kb("add", "docs", "-r", KB_MODEL=roomy_folder)
    assert listed("--before", "2020") == [("pdf", "2019-03-12T10:15:30+00:00")]
