"""Files made to hurt whoever reads them, each read once by a worker of `kb add`: `scripts/hurt hostile`.

Bombs that unpack, entities that multiply or fetch, depth, length, counts, pictures without end, and things in a folder that are no
files or have names that no program expects. A fault is a trace in the parent, a worker that dies, a file beyond the time limit, or
an answer that is not foreseen: each case says which are.
"""

from __future__ import annotations

import argparse
import io
import os
import socket
import struct
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from hurting.arena import load, quick_folder
from hurting.inputs import alone, job_of, judged
from kb import reading
from kb.errors import KbError

MB = 1_000_000
REFUSED, ANY = {"UnreadableFile"}, {"UnreadableFile", "NoText", "read"}
LIMITED = ANY | {"hung", "crashed"}
"""It may come to the limit of time or memory that a worker has; the file alone is lost."""


class Case(NamedTuple):
    name: str
    make: Callable[[], bytes]
    foreseen: set[str]
    is_large: bool = False
    """Takes many seconds to make or to read: not in the short run."""


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def office(main: str, document: bytes, others: dict[str, bytes] | None = None) -> bytes:
    kind = {"word/document.xml": "wordprocessingml.document", "xl/workbook.xml": "spreadsheetml.sheet"}[main]
    types = f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/{main}" ContentType="application/vnd.openxmlformats-officedocument.{kind}.main+xml"/></Types>'
    relations = f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="{main}"/></Relationships>'
    return zipped(
        {"[Content_Types].xml": types.encode(), "_rels/.rels": relations.encode(), main: document, **(others or {})}
    )


def word(body: bytes, before: bytes = b"") -> bytes:
    open_tag = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    return office("word/document.xml", before + open_tag + body + b"</w:body></w:document>")


def laughs() -> bytes:
    """A billion of them, in three kilobytes."""
    names = "abcdefghij"
    levels = "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names))
    return f'<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a "ha">{levels}]>'.encode()


def fetching(address: str) -> bytes:
    return f'<!DOCTYPE z [<!ENTITY a SYSTEM "{address}"><!ENTITY % b SYSTEM "{address}"> %b;]>'.encode()


def page(head: bytes) -> bytes:
    return head + b"<html><body><p>text &a; &j;</p></body></html>"


def loading(address: str) -> str:
    """What a browser would fetch."""
    tags = (
        f'<link rel=stylesheet href="{address}">',
        f'<script src="{address}"></script>',
        f'<img src="{address}">',
        f'<iframe src="{address}"></iframe>',
    )
    return f"{''.join(tags)}<p>text"


def book(head: bytes) -> bytes:
    container = b"<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles><rootfile full-path='o.opf'/></rootfiles></container>"
    package = b"<package xmlns='http://www.idpf.org/2007/opf'><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>"
    return zipped({"META-INF/container.xml": head + container, "o.opf": head + package, "a.xhtml": page(head)})


def pixels(width: int, height: int, *, body: bytes = b"") -> bytes:
    """A PNG that says so in its head; of the rest there is `body`."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


def objects(count: int) -> bytes:
    """A PDF of one page and so many objects."""
    head = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n"
    return head + b"".join(b"%d 0 obj<<>>endobj\n" % number for number in range(4, count)) + b"trailer<</Root 1 0 R>>\n"


def page_tree(kids: bytes) -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids["
        + kids
        + b"]/Count 2147483647>>endobj\ntrailer<</Root 1 0 R>>\n"
    )


def stream_bomb() -> bytes:
    """A page whose content unpacks to 1 GB of spaces."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * MB) for _ in range(1000)) + packer.flush()
    head = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R>>endobj\n"
    return (
        head
        + b"4 0 obj<</Length %d/Filter/FlateDecode>>stream\n" % len(packed)
        + packed
        + b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n"
    )


def entities(kind: str, make: Callable[[bytes], bytes], address: str) -> Iterator[Case]:
    """`make`: a file of this kind with that at its head."""
    becomes = ANY if kind == "html" else REFUSED
    yield Case(f"laughs.{kind}", lambda: make(laughs()), becomes)
    yield Case(f"fetches.{kind}", lambda: make(fetching(address)), becomes)


def cases(address: str) -> Iterator[Case]:
    """`address`: of a server that must not be asked."""
    yield Case("zeros.docx", lambda: word(b"<w:p>" + bytes(40 * MB)), REFUSED)
    yield Case("nested.docx", lambda: word(b"<w:p>" * 100_000), ANY)
    yield Case(
        "members.xlsx",
        lambda: office("xl/workbook.xml", b"<workbook/>", {f"x{n}": b"" for n in range(10_500)}),
        REFUSED,
    )
    for kind, make in (
        ("docx", lambda head: word(b"<w:p><w:r><w:t>&j;&a;</w:t></w:r></w:p>", head)),
        ("epub", book),
        ("html", page),
    ):
        yield from entities(kind, make, address)
    yield Case("loads.html", loading(address).encode, ANY)
    yield Case("deep.json", lambda: b"[" * 500_000 + b"]" * 500_000, REFUSED)
    yield Case("deep.ipynb", lambda: b'{"cells":' + b"[" * 500_000 + b"]" * 500_000 + b"}", REFUSED)
    yield Case("deep.jsonl", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, REFUSED)
    yield Case("deep.yaml", lambda: b"[" * 20_000, ANY)
    yield Case("deep.toml", lambda: b"a = " + b"[" * 50_000, ANY)
    yield Case("deep.md", lambda: b"> " * 20_000 + b"text", ANY)
    yield Case("lists.md", lambda: b"".join(b" " * n + b"- x\n" for n in range(2000)), ANY)
    yield Case("deep.html", lambda: b"<div>" * 100_000 + b"text", ANY)
    yield Case("deep.py", lambda: b"x = " + b"(" * 50_000, ANY)
    yield Case("deep.js", lambda: b"x = " + b"(" * 50_000, ANY)
    yield Case(
        "aliases.yaml",
        lambda: (
            b"a: &a [x]\n"
            + b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 10)) for c in range(98, 110))
        ),
        ANY,
    )
    yield Case("wide.csv", lambda: b",".join(b"a" for _ in range(200_000)) + b"\n" + b"," * 200_000, ANY)
    yield Case("cells.html", lambda: b"<table>" + b"<tr><td rowspan=65534 colspan=1000>x" * 200, ANY)
    yield Case("line.txt", lambda: b"word " * (4 * MB // 5), ANY)
    yield Case("letters.txt", lambda: b"a" * 5 * MB, ANY)
    yield Case("line-200MB.txt", lambda: b"word " * (200 * MB // 5), LIMITED, is_large=True)
    yield Case("line-200MB.json", lambda: b'{"a": "' + b"word " * (200 * MB // 5) + b'"}', LIMITED, is_large=True)
    yield Case("wide.png", lambda: pixels(60_000, 60_000, body=bytes(MB)), REFUSED)
    yield Case("bomb.png", lambda: pixels(60_000, 60_000, body=bytes(450 * MB)), REFUSED, is_large=True)
    yield Case("endless.png", lambda: pixels(2**31 - 1, 2**31 - 1), REFUSED)
    yield Case("objects.pdf", lambda: objects(1_000_000), LIMITED, is_large=True)
    yield Case("loop.pdf", lambda: page_tree(b"2 0 R"), ANY)
    yield Case("pages.pdf", lambda: page_tree(b"9 0 R " * 10_000), ANY)
    yield Case("stream.pdf", stream_bomb, LIMITED, is_large=True)


@contextmanager
def server() -> Iterator[tuple[str, list[str]]]:
    """An address on this machine, and what it was asked."""
    asked: list[str] = []

    class Noting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Noting) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/asked", asked
        listening.shutdown()


def read(path: Path, limit_s: float) -> tuple[str, str]:
    """What became of it, and what is said."""
    try:
        job = job_of(path, None)
    except KbError as error:
        return type(error).__name__, error.message
    outcome = alone(job, limit_s)
    how, fault = judged(outcome)
    return how, fault or (outcome.reason if isinstance(outcome, reading.Unread) else f"{len(outcome.chunks)} chunks")


def odd_tree(folder: Path) -> Path:
    """What a walk may meet besides files."""
    folder.mkdir()
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket.md"))
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "random.md").symlink_to("/dev/urandom")
    (folder / "self.md").symlink_to("self.md")
    (folder / "up").symlink_to("..")
    (folder / "folder.md").mkdir()
    names = (
        "new\nline.md",
        "quo\"te's.md",
        "back\\slash.md",
        "esc\x1b[31mred.md",
        "tab\t.md",
        " .md",
        "-rf.md",
        "..md",
        "...md",
        "$(x).md",
        "%s%n.md",
        "*?[a].md",
        "\u202egpj.md",
        "e\u0301.md",
        "\U0001f600.md",
        "n" * 252 + ".md",
    )
    for name in names:
        (folder / name).write_text(f"# Text\n\nred in {names.index(name)}\n")
    (folder / os.fsdecode(b"\xff\xfe.md")).write_text("# Text\n\nred\n")
    deep = folder
    for _ in range(12):
        deep /= "d" * 255
        try:
            deep.mkdir()
        except OSError:  # a path has 4096 bytes
            break
    return folder


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/hurt hostile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="only what is made and read in moments")
    parser.add_argument("--case", action="append", help="only this; may be repeated")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="that a file may take")
    arguments = parser.parse_args(words)
    load()
    count = faults = 0
    with quick_folder() as folder, server() as (address, asked):
        for case in cases(address):
            if (arguments.short and case.is_large) or (arguments.case and case.name not in arguments.case):
                continue
            path = folder / case.name
            path.write_bytes(case.make())
            started = monotonic()
            how, said = read(path, arguments.limit)
            count, bad = count + 1, how not in case.foreseen
            faults += bad
            line = f"{case.name:<16} {path.stat().st_size / MB:7.1f} MB {monotonic() - started:6.1f} s  {how}: {said.replace(str(path), '')[:150]}"
            print(f"  FAULT {line}" if bad else line, flush=True)
            path.unlink()
        if asked:
            faults += 1
            print(f"  FAULT the network was asked: {asked}")
    print(f"{count} hostile files; {faults} faults")
    return 1 if faults else 0
