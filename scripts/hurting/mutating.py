"""Ways to damage a file, each drawn from a random generator: its bytes, or the values of its JSON, or the elements of the XML in it.

Knows of formats only their words, and which are archives.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

WORDS = {
    "text": b"\n|\r|\r\n|\0|\xff\xfe|\xef\xbb\xbf|\xe2\x80\xae|\xed\xa0\x80|\xf0\x9f\x98\x80|\x1b[31m|\t|\x0c|\xc2\x85| " * 2,
    "markdown": b"#|---|```|~~~|    |> |- |1. ||-|-||[a](b)|![|<!--|-->|<script>|***|\\|===|$$|:::|{#id}|[^1]:|<div>",
    "data": b'{|}|[|]|"|\\|\\ud800|\\u0000|:|,|null|1e999|-0|- |? |& a|*a|<<: |!!python/object|---|...|"""|\'\'\'|[[a]]|a.b = |NaN|;|\t|%YAML 9|#',
    "code": b"def |class |{|}|(|)|/*|*/|//|'''|\"\"\"|`|#if|#define|lambda: |    |\t|async |\\|=>|<|template<|$(|<<EOF|;;|fn |impl |BEGIN|END",
    "html": b"<!DOCTYPE html>|<table>|<td colspan=99999>|<td rowspan=99999>|</|<script>|<!--|-->|<![CDATA[|&#xD800;|&#0;|&lt;|<svg>|<math>|<template>|<plaintext>|<title>|<base href=//x>|<meta charset=utf-7>|<ul><li>|<a href=",
    "pdf": b"obj|endobj|stream|endstream|xref|trailer|startxref|<<|>>|/Length |/Kids|/Parent|/Type /Page|/Filter /FlateDecode|/Count 2147483647|1 0 R|0 0 R|[|]|(|)|BT|ET|Tf|Tj|q|Q|cm|Do|/Root|/Prev 0|/MediaBox [0 0 1e9 1e9]|/Encrypt|%%EOF|-2147483648|/ObjStm|/Rotate 1",
    "xml": b"<w:p>|</w:p>|<w:t>|<w:tbl>|<w:tc>|<w:gridSpan w:val='99999'/>|<!ENTITY|<!DOCTYPE a [|]>|&a;|<?xml|?>|xmlns:a=''|<![CDATA[|&#0;|<c r='XFD1048576'>|<v>|<f>|<a:t>|r:id='rId99'|Target='../../x'|<row r='-1'>|<mergeCell ref='A1:XFD1048576'/>",
    "notebook": b'"cells"|"cell_type"|"markdown"|"source"|"outputs"|"nbformat": 3|[|]|{|}|null|""|"worksheets"|"data"|"text/html"',
    "transcript": b'WEBVTT|00:00:00.000 --> 99:99:99.999|-->|<v A>|{"type":"user"|"message"|"content"|"role"|"sessionId"|User:|Assistant:|\n\n|\n{|NOTE|STYLE|"tool_use"|"uuid"|"timestamp"',
    "image": b"\0\0\0\0|\xff\xff\xff\xff|\x7f\xff\xff\xff|IHDR|IDAT|IEND|PLTE|acTL|\xff\xd8|\xff\xc4|\xff\xda|\xff\xc0|II*\0|MM\0*|VP8X|VP8L|RIFF|Exif\0\0",
}  # fmt: skip
"""Words of each format, parted by a bar."""
ARCHIVES = frozenset({"docx", "pptx", "xlsx", "epub"})
NUMBERS = (0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1)
MOST_BYTES = 100_000
MOST_BYTES_OF_TEXT = 10_000
"""A file that has grown beyond is cut: size is another part's matter (`scripts/hurt hostile`), and a long text is read no differently."""
TEXT_KINDS = frozenset({"text", "markdown", "data", "code", "transcript", "notebook", "html"})

Mutator = Callable[[Random, bytes, bytes, Sequence[bytes]], bytes]
"""(chances, the file, another file of its kind, words) -> the file, damaged."""


def flip_bits(chances: Random, data: bytes, _other: bytes, _words: Sequence[bytes]) -> bytes:
    damaged = bytearray(data)
    for _ in range(chances.choice((1, 2, 8, 64))):
        damaged[chances.randrange(len(damaged))] ^= 1 << chances.randrange(8)
    return bytes(damaged)


def set_bytes(chances: Random, data: bytes, _other: bytes, _words: Sequence[bytes]) -> bytes:
    start, length = _span(chances, data, 64)
    return data[:start] + chances.randbytes(length) + data[start + length :]


def cut_off(chances: Random, data: bytes, _other: bytes, _words: Sequence[bytes]) -> bytes:
    return data[: chances.randrange(len(data))]


def cut_out(chances: Random, data: bytes, _other: bytes, _words: Sequence[bytes]) -> bytes:
    start, length = _span(chances, data, len(data))
    return data[:start] + data[start + length :]


def repeat(chances: Random, data: bytes, _other: bytes, _words: Sequence[bytes]) -> bytes:
    start, length = _span(chances, data, 512)
    return data[:start] + data[start : start + length] * chances.choice((2, 3, 50, 1000)) + data[start + length :]


def swap(chances: Random, data: bytes, _other: bytes, _words: Sequence[bytes]) -> bytes:
    first, second, third = sorted(chances.randrange(len(data) + 1) for _ in range(3))
    return data[:first] + data[second:third] + data[first:second] + data[third:]


def splice(chances: Random, data: bytes, other: bytes, _words: Sequence[bytes]) -> bytes:
    start, length = _span(chances, other, len(other))
    at = chances.randrange(len(data) + 1)
    return data[:at] + other[start : start + length] + data[at + chances.choice((0, length)) :]


def put_words(chances: Random, data: bytes, _other: bytes, words: Sequence[bytes]) -> bytes:
    for _ in range(chances.choice((1, 2, 5, 20))):
        at = chances.randrange(len(data) + 1)
        data = data[:at] + chances.choice(words) * chances.choice((1, 1, 1, 2, 300)) + data[at:]
    return data


def put_number(chances: Random, data: bytes, _other: bytes, _words: Sequence[bytes]) -> bytes:
    """A whole number at the limit of something, in digits or as a machine stores it."""
    number = chances.choice(NUMBERS)
    shown = chances.choice((str(number).encode(), number.to_bytes(8, "big")[-4:], number.to_bytes(8, "little")[:4]))
    at = chances.randrange(len(data) + 1)
    return data[:at] + shown + data[at + chances.choice((0, len(shown))) :]


MUTATORS: tuple[Mutator, ...] = (
    flip_bits, set_bytes, cut_off, cut_out, repeat, swap, splice, put_words, put_words, put_number,
)  # fmt: skip


def mutated(chances: Random, kind: str, data: bytes, other: bytes) -> bytes:
    """A file of this kind damaged a few times; of an archive every other time what is in it, so that it can still be opened."""
    if kind in ARCHIVES and zipfile.is_zipfile(io.BytesIO(data)) and chances.random() < 0.7:  # an encrypted one is none
        return _member_mutated(chances, data, other)
    if data[:1] in {b"{", b"["} and chances.random() < 0.5:
        return _values_mutated(chances, data)
    damaged = _bytes_mutated(chances, data, other, _words("xml" if kind in ARCHIVES else kind))
    return damaged[:MOST_BYTES_OF_TEXT] if kind in TEXT_KINDS else damaged


def _bytes_mutated(chances: Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    for _ in range(chances.choice((1, 1, 1, 2, 3, 6))):
        data = chances.choice(MUTATORS)(chances, data, other, words) if data else chances.choice(words)
        data = data[:MOST_BYTES]
    return data


def _member_mutated(chances: Random, data: bytes, other: bytes) -> bytes:
    members, others = _members(data), _members(other)
    name = chances.choice(sorted(members))
    way = chances.randrange(12)
    if way == 0:
        del members[name]
    elif way == 1:
        members[chances.choice(("../../etc/x", "/abs", "a" * 300, "", "word/document.xml"))] = members[name]
    elif way == 2:
        members[name] = members[chances.choice(sorted(members))]
    else:
        for _ in range(chances.choice((1, 1, 2, 5))):
            name = chances.choice(sorted(members))
            members[name] = (
                chances.random() < TREES_SHARE and _tree_mutated(chances, members[name])
            ) or _bytes_mutated(chances, members[name], others.get(name, members[name]) or b"x", _words("xml"))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", chances.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content)
    return made.getvalue()


TREES_SHARE = 0.7
"""Of the XML in archives; damaged in its bytes, most of it is refused by the parser already."""
MANY = (1, 1, 2, 20)
DEPTHS = (1, 20, 300)
XML_VALUES = (
    "", " ", "0", "-1", "1e999", "NaN", "2147483648", "99999", "A1:XFD1048576", "rId1", "true", "x" * 5000, "../../x", "\u202e",
)  # fmt: skip


def _tree_mutated(chances: Random, data: bytes) -> bytes:
    """XML that is well formed still; nothing where it was none."""
    from lxml import etree

    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return b""
    for _ in range(chances.choice((1, 1, 2, 5, 20))):
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        _element_mutated(chances, chances.choice(elements), elements)
    whole: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return whole[:MOST_BYTES]


def _element_mutated(chances: Random, element: Any, elements: Sequence[Any]) -> None:
    parent, other = element.getparent(), chances.choice(elements)
    texts = [other.text or "", *other.attrib.values(), *XML_VALUES]
    match chances.choice(("gone", "repeated", "nested", "renamed", "deep", "empty", "text", "attribute", "attribute")):
        case "gone" if parent is not None:
            parent.remove(element)
        case "repeated" if parent is not None:
            for _ in range(chances.choice(MANY)):
                element.addnext(deepcopy(element))
        case "deep" if parent is not None:
            for _ in range(chances.choice(DEPTHS)):
                around = element.makeelement(element.tag, nsmap=element.nsmap)
                parent.replace(element, around)
                around.append(element)
                parent = around
        case "nested":
            element.append(deepcopy(other))
        case "renamed":
            element.tag = other.tag
        case "empty":
            del element[:]
        case "text":
            element.text = chances.choice(texts)
        case _:
            element.set(chances.choice([*element.attrib, *other.attrib, "val"]), chances.choice(texts))


VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    "\0",
    "\ud800",
    "a" * 5000,
    "\n" * 200,
    [],
    {},
    [[]],
    {"": None},
    {"a": {"b": []}},
)


def _values_mutated(chances: Random, data: bytes) -> bytes:
    """JSON, one value a line or in all, of which some are of another type than expected, or not there."""
    try:
        values = [json.loads(data)]
    except ValueError:
        try:
            values = [json.loads(line) for line in data.split(b"\n") if line]
        except ValueError:
            return data
    share = chances.choice((0.02, 0.1, 0.4))
    return b"\n".join(json.dumps(_altered(chances, value, share)).encode() for value in values)[:MOST_BYTES]


def _altered(chances: Random, value: Any, share: float) -> Any:
    if chances.random() < share:
        return chances.choice(VALUES)
    if isinstance(value, dict):
        return {name: _altered(chances, child, share) for name, child in value.items() if chances.random() > share / 4}
    if isinstance(value, list):
        return [_altered(chances, child, share) for child in value] * chances.choice((1,) * 20 + (0, 3))
    return value


def _members(data: bytes) -> dict[str, bytes]:
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def _words(kind: str) -> list[bytes]:
    return [word for word in (WORDS["text"] + b"|" + WORDS.get(kind, b"")).split(b"|") if word]


def _span(chances: Random, data: bytes, most: int) -> tuple[int, int]:
    start = chances.randrange(len(data) or 1)
    return start, min(chances.randint(1, max(1, most)), len(data) - start)
