#!/usr/bin/env python3
"""Measure search as users get it, on real questions: python scripts/eval_search.py [qmd|weak]

qmd     the 24 questions over qmd's own evaluation documents: the rank of the right file by mode (qmd's keyword search
        puts it first for 16 and finds nothing for 8)
weak    how the best hit of answerable and of unanswerable questions differs: what WEAK_COSINE and WEAK_SHARE of kb.search rest on
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kb.add import Silent, add_paths
from kb.candidates import Request as AddRequest
from kb.search import Request, search
from kb.settings import Settings

COLLECTIONS = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
MODES = ("keyword", "semantic", "hybrid")
UNANSWERABLE = "medline1033"
"""Questions of medicine, asked of product documentation."""


class Question(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    text: str = ""


def questions(name: str) -> list[Question]:
    lines = (COLLECTIONS / name / "queries.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Question) for line in lines]


def expected(name: str, file: str = "qrels.tsv") -> dict[str, set[str]]:
    right: dict[str, set[str]] = {}
    for line in (COLLECTIONS / name / file).read_text().splitlines()[1:]:
        query, document, _ = line.split("\t")
        right.setdefault(query, set()).add(document)
    return right


def files_in_order(data_dir: Path, query: str, mode: str) -> Iterator[str]:
    request = Request(query=query, top=50, mode=mode, group=True)
    [answer] = search(data_dir, Settings(), [request])
    return (Path(hit.source.path or "").name for hit in answer.results)


def qmd(data_dir: Path) -> None:
    add_paths(data_dir, Settings(), AddRequest(paths=(COLLECTIONS / "qmd_eval" / "docs",), recursive=True), Silent())
    right = expected("qmd_eval")
    asked = [question for question in questions("qmd_eval") if question.id.startswith("e")]
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


def weak(data_dir: Path) -> None:
    add_paths(
        data_dir, Settings(), AddRequest(paths=(COLLECTIONS / "claude_docs" / "pages_md",), recursive=True), Silent()
    )
    print(f"{'best hit of':<32}{'percentile':>11}{'fts':>8}{'vector':>8}")
    for name in ("claude_docs", UNANSWERABLE):
        answers = search(data_dir, Settings(), [Request(query=q.text, top=1) for q in questions(name)])
        best = [answer.results[0].score_breakdown for answer in answers if answer.results]
        shares, cosines = (sorted(values) for values in ([b.fts or 0 for b in best], [b.vector or 0 for b in best]))
        for percent in (5, 50, 95):
            at = len(best) * percent // 100
            print(f"{name:<32}{percent:>10}%{shares[at]:>8.2f}{cosines[at]:>8.2f}")


if __name__ == "__main__":
    if not COLLECTIONS.is_dir():
        sys.exit(f"the test collections are not at {COLLECTIONS}: nothing to measure")
    with tempfile.TemporaryDirectory() as folder:
        {"qmd": qmd, "weak": weak}[sys.argv[1] if len(sys.argv) > 1 else "qmd"](Path(folder))
