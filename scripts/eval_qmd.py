#!/usr/bin/env python3
"""The 24 questions over qmd's own evaluation documents, one by one: the rank of the right file by mode.

qmd's keyword search puts it first for 16 and finds nothing for 8. `scripts/eval` has the figures of whole collections.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kb.add import Silent, add_paths
from kb.candidates import Request as AddRequest
from kb.retrieve import Mode
from kb.search import Request, search
from kb.settings import Settings

COLLECTION = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir" / "qmd_eval"
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")


class Question(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    text: str = ""


def questions() -> list[Question]:
    lines = (COLLECTION / "queries.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Question) for line in lines]


def expected() -> dict[str, set[str]]:
    right: dict[str, set[str]] = {}
    for line in (COLLECTION / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, _ = line.split("\t")
        right.setdefault(query, set()).add(document)
    return right


def files_in_order(data_dir: Path, query: str, mode: Mode) -> Iterator[str]:
    request = Request(query=query, top=50, mode=mode, group=True)
    [answer] = search(data_dir, Settings(), [request])
    return (Path(hit.source.path or "").name for hit in answer.results)


def main(data_dir: Path) -> None:
    add_paths(data_dir, Settings(), AddRequest(paths=(COLLECTION / "docs",), recursive=True), Silent())
    right = expected()
    asked = [question for question in questions() if question.id.startswith("e")]
    ranks: dict[str, list[int]] = {mode: [] for mode in MODES}
    print(f"{'question':<48}" + "".join(f"{mode:>10}" for mode in MODES))
    for question in asked:
        for mode in MODES:
            found = list(files_in_order(data_dir, question.text, mode))
            ranks[mode].append(next((n for n, name in enumerate(found, 1) if name in right[question.id]), 0))
        print(f"{question.text:<48}" + "".join(f"{ranks[mode][-1] or '-':>10}" for mode in MODES))
    for last in (1, 3):
        counts = [sum(0 < rank <= last for rank in ranks[mode]) for mode in MODES]
        print(f"{f'right file in the top {last}, of {len(asked)}':<48}" + "".join(f"{count:>10}" for count in counts))


if __name__ == "__main__":
    if not COLLECTION.is_dir():
        sys.exit(f"the collection is not at {COLLECTION}: nothing to measure")
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
