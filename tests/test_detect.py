"""Detection: the name says what a file is, unless its first bytes say otherwise."""

from __future__ import annotations

import zipfile

import pytest

from kb.detect import detect, supported_types, type_of_name
from kb.errors import NotFound, UnsupportedType


@pytest.mark.parametrize(
    ("name", "doc_type"),
    [
        ("a.md", "markdown"),
        ("A.MD", "markdown"),
        ("a.markdown", "markdown"),
        ("a.txt", "text"),
        ("README", "text"),
        ("a.py", "code"),
        ("Makefile", "code"),
        ("a.json", "data"),
        ("a.docx", "docx"),
        ("a.pdf", "pdf"),
        ("a.xyz", None),
        ("noextension", None),
        (".hidden", None),
    ],
)
def test_the_name_stands_for_a_type(tmp_path, name, doc_type):
    assert type_of_name(tmp_path / name) == doc_type


@pytest.mark.parametrize(
    ("name", "content", "doc_type"),
    [
        ("report", b"%PDF-1.7\n", "pdf"),
        ("report.txt", b"\n%PDF-1.7\n", "pdf"),
        ("picture.md", b"\x89PNG\r\n\x1a\n....", "image"),
        ("script", b"#!/usr/bin/env python3\nprint()\n", "code"),
        ("a.md", b"# A heading\n", "markdown"),
    ],
)
def test_the_content_outweighs_the_name(tmp_path, name, content, doc_type):
    (tmp_path / name).write_bytes(content)

    assert detect(tmp_path / name).doc_type == doc_type


def test_an_archive_is_known_by_what_is_in_it(tmp_path):
    path = tmp_path / "letter.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")

    assert detect(path).doc_type == "docx"


def test_a_wrong_name_is_said(tmp_path):
    path = tmp_path / "report.txt"
    path.write_bytes(b"%PDF-1.7\n")

    assert detect(path).warning == "report.txt: named .txt, but its content is pdf; read as pdf"


def test_a_text_that_quotes_the_mark_of_a_pdf_is_no_pdf(tmp_path):
    path = tmp_path / "about.md"
    path.write_text("A PDF begins with `%PDF-1.7`.\n")

    assert detect(path).doc_type == "markdown"


def test_a_type_that_is_given_is_not_looked_for(tmp_path):
    path = tmp_path / "a.xyz"
    path.write_text("text")

    assert detect(path, doc_type="text").doc_type == "text"


def test_an_unsupported_type_is_refused_with_a_list_of_the_supported(tmp_path):
    path = tmp_path / "a.xyz"
    path.write_text("text")

    with pytest.raises(UnsupportedType) as refused:
        detect(path)

    assert refused.value.message == f"{path}: unsupported type .xyz"
    assert all(extension in refused.value.hint for extension in (".md", ".txt", ".pdf", ".docx"))


def test_an_unknown_type_is_refused_with_a_list_of_the_known(tmp_path):
    with pytest.raises(UnsupportedType) as refused:
        detect(tmp_path / "a.md", doc_type="mardkown")

    assert all(name in refused.value.hint for name in supported_types())


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        detect(tmp_path / "a.md")
