"""Bytes to text: every encoding that people's files come in, and nothing that is not text."""
# ruff: noqa: RUF001 the samples are in many scripts

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import NotFound, UnreadableFile
from kb.read.decode import decode, read_text

OPEN = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open" / "text"

FRENCH = "Le café était fermé à cause de la tempête. Où est passé le garçon ? L'été reviendra.\n"
GERMAN = "Die Straße führt über die Brücke. Größe und Maße sind ungefähr gleich.\n"
POLISH = "Zażółć gęślą jaźń. Nie ma to jak własny dom, mówił stary człowiek.\n"
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. Byl to krásný den.\n"
TURKISH = "İstanbul'da güneşli bir gün. Çocuklar bahçede oynuyor, şarkı söylüyorlar.\n"
RUSSIAN = "Привет, мир! Это простой текст на русском языке, который нужно прочитать.\n"
GREEK = "Καλημέρα κόσμε. Αυτό είναι ένα απλό κείμενο στα ελληνικά.\n"
JAPANESE = "これは日本語の簡単な文章です。正しく読まれる必要があります。東京は大きな都市です。\n"
CHINESE = "这是一个简单的中文文本，需要正确读取。北京是中国的首都，人口众多。\n"
TAIWANESE = "這是一個簡單的中文文本，需要正確讀取。台北是一個城市，人口眾多。\n"
KOREAN = "이것은 올바르게 읽어야 하는 간단한 한국어 텍스트입니다. 서울은 큰 도시입니다.\n"
TYPOGRAPHIC = "It\u2019s a \u201cquoted\u201d text \u2014 with dashes\u2026 and the € sign.\n"

EVERY_LANGUAGE = (FRENCH, POLISH, TURKISH, RUSSIAN, GREEK, JAPANESE, CHINESE, TAIWANESE, KOREAN, TYPOGRAPHIC)

LEGACY = (
    *((FRENCH, encoding) for encoding in ("latin-1", "cp1252")),
    *((GERMAN, encoding) for encoding in ("latin-1", "cp1252")),
    ("# Author: José\nanswer = 42\n", "latin-1"),
    ("name;price\nMüller;£12\n", "latin-1"),
    ("Café crème", "latin-1"),
    (TYPOGRAPHIC, "cp1252"),
    *((POLISH, encoding) for encoding in ("cp1250", "iso8859-2")),
    *((CZECH, encoding) for encoding in ("cp1250", "iso8859-2")),
    (TURKISH, "cp1254"),
    *((RUSSIAN, encoding) for encoding in ("cp1251", "koi8-r", "cp866")),
    (GREEK, "cp1253"),
    *((JAPANESE, encoding) for encoding in ("shift_jis", "euc_jp", "iso2022_jp")),
    (CHINESE, "gb18030"),
    (TAIWANESE, "big5"),
    (KOREAN, "euc_kr"),
)


@pytest.mark.parametrize(("text", "encoding"), LEGACY)
def test_the_encodings_of_old_files_are_recognised(text, encoding):
    decoded = decode(text.encode(encoding))

    assert (text, None) == (decoded.text, decoded.warning)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", EVERY_LANGUAGE)
def test_utf16_and_utf32_are_recognised_without_a_mark(text, encoding):
    assert (text, encoding) == (decode(text.encode(encoding)).text, decode(text.encode(encoding)).encoding)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", [*EVERY_LANGUAGE, "x", ""])
def test_a_byte_order_mark_decides_and_is_not_part_of_the_text(text, encoding):
    assert text == decode(text.encode(encoding)).text


def test_a_mark_alone_decides_for_big_endian_too():
    assert decode(b"\xfe\xff\x00k\x00b").text == "kb"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
def test_whatever_is_utf8_is_read_as_utf8(text):
    decoded = decode(text.encode())

    assert (text.removeprefix("\ufeff"), "utf-8") == (decoded.text, decoded.encoding)


@given(st.binary(max_size=300))
def test_any_bytes_are_text_without_carriage_returns_or_refused(data):
    try:
        text = decode(data).text
    except UnreadableFile:
        text = ""

    assert not {"\r", "\0"} & set(text)
    assert text.encode().decode() == text


def test_every_kind_of_line_end_becomes_one_newline():
    assert decode(b"a\r\nb\rc\nd\r\n").text == "a\nb\nc\nd\n"


def test_form_feeds_and_unicode_separators_are_not_line_ends():
    assert decode("a\fb\u2028c".encode()).text == "a\fb\u2028c"


def test_damaged_utf8_stays_utf8_and_the_losses_are_counted():
    decoded = decode((JAPANESE * 3).encode() + "東".encode()[:2])

    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith(JAPANESE)
    assert decoded.warning == "1 character could not be decoded as utf-8"


def test_a_stray_nul_is_left_out_with_a_warning():
    decoded = decode(b"one line\n" * 20 + b"cut\0off")

    assert decoded.text.endswith("cutoff")
    assert decoded.warning == "1 NUL character left out"


def test_utf16_cut_in_the_middle_of_a_character_is_read_with_a_warning():
    decoded = decode("kb-search".encode("utf-16")[:-1])

    assert decoded.text.startswith("kb-searc")
    assert decoded.warning == "1 character could not be decoded as utf-16-le"


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x01\xc0\x08\x02\0\0\0\xd9\x9c\xf0\xb9",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0@\x1c\0\0\0\0\0\0",
        bytes(1000),
        bytes(range(256)) * 4,
        b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(range(128, 160)),
    ],
)
def test_binary_data_is_refused(data):
    with pytest.raises(UnreadableFile, match="binary data, not text"):
        decode(data)


def test_one_long_line_in_an_old_multibyte_encoding_is_recognised():
    text = (TAIWANESE.strip() + "x") * 3000

    assert decode(text.encode("big5")).text == text


def test_read_text_names_the_file_in_its_errors(tmp_path):
    (tmp_path / "image.txt").write_bytes(bytes(100))

    with pytest.raises(UnreadableFile, match=r"image\.txt: binary data"):
        read_text(tmp_path / "image.txt")
    with pytest.raises(NotFound, match=r"absent\.txt: no such file"):
        read_text(tmp_path / "absent.txt")
    with pytest.raises(UnreadableFile, match="directory"):
        read_text(tmp_path)


@pytest.mark.data
@pytest.mark.skipif(not OPEN.exists(), reason="the collections at ../shared/data are absent")
@pytest.mark.parametrize(
    ("name", "encoding", "phrase"),
    [
        ("sample-chinese.txt", "big5", "悉文乃天下有志共筆而成"),
        ("sample-english.bom.txt", "utf-8", "a video about the famous Ayn Rand"),
        ("sample-french-1.txt", "cp1252", "Quel est le plus grand des écrivains"),
        ("sample-polish.txt", "utf-8", "URZĄDZENIE"),
    ],
)
def test_real_files_in_odd_encodings(name, encoding, phrase):
    decoded = read_text(OPEN / name)

    assert (encoding, None) == (decoded.encoding, decoded.warning)
    assert phrase in decoded.text
