"""Zip bombs and hostile XML are refused before anything is unpacked; nothing is ever written to disk."""

from __future__ import annotations

import struct
import time
import zipfile
from pathlib import Path

import pytest
from office_xml import add_members, paragraph, write_docx

from kb.errors import EncryptedFile, NotFound, UnreadableFile
from kb.read import archive, docx
from kb.types import ReadOptions, Source


def open_it(path: Path, **options) -> None:
    with archive.open_archive(Source(path=str(path), doc_type="docx"), ReadOptions(**options)):
        pass


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def test_a_plain_archive_opens(tmp_path):
    open_it(zipped(tmp_path / "a.docx", a=b"text"))


def test_more_than_the_limit_of_bytes_is_refused(tmp_path):
    path = zipped(tmp_path / "a.docx", a=b"x" * 2_000_000)
    open_it(path)
    with pytest.raises(UnreadableFile, match="bomb"):
        open_it(path, max_expanded_bytes=1_000_000)


def test_an_absurd_ratio_is_refused_below_the_limit_of_bytes(tmp_path):
    path = zipped(tmp_path / "a.docx", a=bytes(archive.RATIO_FREE_BYTES + 1))
    with pytest.raises(UnreadableFile, match="times its size"):
        open_it(path)


def test_too_many_members_are_refused(tmp_path):
    path = zipped(tmp_path / "a.docx", **{f"m{n}": b"" for n in range(archive.MAX_MEMBERS + 1)})
    with pytest.raises(UnreadableFile, match="members"):
        open_it(path)


def test_members_that_share_their_bytes_count_each(tmp_path):
    """The bomb of overlapping members: one compressed kernel, named by many entries of the directory."""
    whole = zipped(tmp_path / "a.zip", a=bytes(4_000_000)).read_bytes()
    start = whole.index(b"PK\x01\x02")
    entry = whole[start : whole.index(b"PK\x05\x06")]
    count = 300
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(entry) * count, start, 0)
    path = tmp_path / "bomb.docx"
    path.write_bytes(whole[:start] + entry * count + end)
    with pytest.raises(UnreadableFile, match="bomb"):
        open_it(path)


def test_a_bomb_in_a_document_is_refused_quickly_and_in_one_line(tmp_path):
    path = add_members(write_docx(tmp_path / "a.docx", paragraph("x")), {"word/bomb.bin": bytes(600 * 2**20)})
    began = time.monotonic()
    with pytest.raises(UnreadableFile, match="bomb") as caught:
        docx.read(Source(path=str(path), doc_type="docx"), ReadOptions())
    assert "\n" not in caught.value.message
    assert time.monotonic() - began < 30


def test_a_member_longer_than_the_directory_says_is_never_read_beyond(tmp_path):
    """A directory that lies: the member is cut at what was declared, and its checksum betrays it."""
    path = zipped(tmp_path / "a.docx", **{"a.xml": bytes(5_000_000)})
    content = path.read_bytes().replace(struct.pack("<L", 5_000_000), struct.pack("<L", 100))
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match="damaged"):
        open_it(path)


def test_a_damaged_member_is_said_to_be_damaged(tmp_path):
    path = zipped(tmp_path / "a.docx", **{"a.xml": bytes(range(256)) * 40})
    content = bytearray(path.read_bytes())
    content[40:60] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match="damaged"):
        open_it(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_xml_that_declares_entities_is_refused(tmp_path, encoding):
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
    path = zipped(tmp_path / "a.docx", **{"word/document.xml": laughs.encode(encoding)})
    with pytest.raises(UnreadableFile, match="declares XML entities"):
        open_it(path)


def test_a_declaration_across_the_border_of_two_reads_is_found(tmp_path):
    padding = b" " * (archive.CHUNK_BYTES - 4)
    path = zipped(tmp_path / "a.docx", **{"a.xml": padding + b"<!ENTITY a 'b'>"})
    with pytest.raises(UnreadableFile, match="declares XML entities"):
        open_it(path)


def test_an_encrypted_member_is_an_encrypted_file(tmp_path):
    path = zipped(tmp_path / "a.docx", a=b"x")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(EncryptedFile):
        open_it(path)


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        open_it(tmp_path / "none.docx")


def test_a_member_is_read_up_to_a_limit(tmp_path):
    with zipfile.ZipFile(zipped(tmp_path / "a.zip", a=b"x" * 100)) as opened:
        assert archive.read_member(opened, "a", 100) == b"x" * 100
        with pytest.raises(UnreadableFile, match="more than 99 bytes"):
            archive.read_member(opened, "a", 99)
        with pytest.raises(UnreadableFile, match="missing"):
            archive.read_member(opened, "b", 99)
