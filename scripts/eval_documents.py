#!/usr/bin/env python3
"""Read the real, messy documents and look for the phrases that a correct reading must make findable.

Each file is added as a user would add it, then each phrase of the manifest is looked for in the text that `kb get` gives and
by a quoted keyword search. Documents that hold no text, or not what their name says, must fail with one clear line or be
added with a warning. Vectors are not made: they have no part in this.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kb.add import Silent, add_paths
from kb.browse import Part, get
from kb.candidates import Request as AddRequest
from kb.cli import render_get
from kb.errors import KbError
from kb.readjobs import docling_folder
from kb.search import Request, search
from kb.settings import Embedding, Settings

DOCUMENTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "docs" / "open"
MUST_FAIL = "no text: must be reported, not crash"
WITHOUT_VECTORS = Settings(embedding=Embedding(model="BAAI/bge-small-en-v1.5"))
"""A model that is not here: documents wait for their vectors, and are found by words."""
CJK = re.compile(r"[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]")


class Row(msgspec.Struct):
    path: str
    phrases: list[str]
    password: str | None
    must_fail: bool
    answer: str = ""
    in_text: int = 0
    in_search: int = 0
    misses: list[str] = []
    warned: list[str] = []


def manifest(wanted: list[str]) -> Iterator[Row]:
    with (DOCUMENTS / "manifest.tsv").open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if not wanted or any(part in line["path"] for part in wanted):
                phrases = [phrase.strip() for phrase in line["expected_phrases"].split(";;")]
                password = line["password_or_encoding"] if line["path"].startswith("pdf/password") else None
                must_fail = line["phrase_check"] == MUST_FAIL
                yield Row(line["path"], [] if must_fail else phrases, password or None, must_fail)


def holds(text: str, phrase: str) -> bool:
    """Case, white space and ligatures folded; without spaces where the phrase is Chinese or Japanese."""
    folded = [" ".join(unicodedata.normalize("NFKC", one).casefold().split()) for one in (text, phrase)]
    if CJK.search(phrase):
        folded = [one.replace(" ", "") for one in folded]
    return folded[1] in folded[0]


def examine(data_dir: Path, row: Row) -> None:
    path = DOCUMENTS / row.path
    try:
        answer = add_paths(data_dir, WITHOUT_VECTORS, AddRequest(paths=(path,), password=row.password), Silent())
    except KbError as error:
        row.answer = f"failed: {error.message}"
        return
    [file] = answer.documents
    row.answer = f"{file.status}: {file.reason}" if file.reason else file.status
    row.warned = [warning for warning in answer.warnings if not warning.startswith("added without vectors")]
    if file.document_id is None or row.must_fail:
        return
    text = "\n".join(render_get.get(get(data_dir, str(path), Part())))
    for phrase in row.phrases:
        row.in_text += (found := holds(text, phrase))
        request = Request(query=f'"{phrase}"', top=50, mode="keyword")
        hits = search(data_dir, WITHOUT_VECTORS, [request])[0].results
        row.in_search += (searched := any(hit.source.path == str(path) for hit in hits))
        if not (found and searched):
            row.misses.append(f"{phrase!r} {'' if found else 'not in the text'} {'' if searched else 'not found'}")


def main() -> None:
    if not DOCUMENTS.is_dir():
        sys.exit(f"the test documents are not at {DOCUMENTS}: nothing to measure")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="parts of paths, to look at some of the files")
    parser.add_argument("--docling", type=Path, metavar="FOLDER", help="read complex pages with Docling's models in it")
    arguments = parser.parse_args()
    rows = list(manifest(arguments.parts))
    with tempfile.TemporaryDirectory() as folder:
        if arguments.docling:
            docling_folder(Path(folder)).symlink_to(arguments.docling.absolute())
        for row in rows:
            examine(Path(folder), row)
            expected = "must fail" if row.must_fail else f"{row.in_text}/{row.in_search} of {len(row.phrases)}"
            print(f"{row.path:<62}{expected:<12}{row.answer[:120]}", flush=True)
            for warning in row.warned:
                print(f"    warned: {warning}")
            for miss in row.misses:
                print(f"    MISS {miss}")
    phrases = sum(len(row.phrases) for row in rows if not row.must_fail)
    failing = [row for row in rows if row.must_fail]
    print(f"\nphrases in the text     {sum(row.in_text for row in rows)} of {phrases}")
    print(f"phrases by search       {sum(row.in_search for row in rows)} of {phrases}")
    reported = [row for row in failing if row.warned or not row.answer.startswith("added")]
    print(f"reported, not crashed   {len(reported)} of {len(failing)}")


if __name__ == "__main__":
    main()
