#!/usr/bin/env python3
"""Measure ways of ranking on the stores of scripts/eval: scripts/eval_levers.py LEVER [NAME ...]

fusion      every method of kb.fuse, with weights; and a weight that follows how selective the query's words are
keyword     what index.bm25 weighs, stop words, proximity, coverage, similar words; by words alone and fused
k1b         BM25's two constants, which tantivy fixes at 1.2 and 0.75, in a BM25 of one field
feedback    the best hits teach the query: Rocchio on vectors, RM3 on words
stage       a second look at the fused hits by signals at hand
regularization
            the hits most like a hit have a say in its score
neighbours  a part of the vectors of the chunks before and after in a chunk's row, or of its document
windows     windows of a chunk beside the whole; embeds the first hits of each query again, 4000 texts of SciFact, and their windows
context     title and heading before the embedded text or not; embeds what that changes again
page        how many hits of a document a page of ten may have
queries     several queries as one (kb search --also)

A row is nDCG@10: each collection, and `spans`, where the passage has to be the right one (`ir_spans`); the mean of the five of the goal, and that mean on the half of the queries that settings are
chosen by and on the other half. docs/ranking.md has what came out.
"""

from __future__ import annotations

import argparse
import sys

import ir_spans
from ir_collections import by_names
from ir_scores import scored
from levers.answers import page, queries
from levers.fusion import fusion
from levers.meaning import context, neighbours, windows
from levers.onefield import k1b
from levers.second import feedback, regularization, stage
from levers.table import Table
from levers.words import keyword

LEVERS = {
    "fusion": fusion,
    "keyword": keyword,
    "k1b": k1b,
    "feedback": feedback,
    "stage": stage,
    "regularization": regularization,
    "neighbours": neighbours,
    "windows": windows,
    "context": context,
    "page": page,
    "queries": queries,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lever", choices=LEVERS)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="collections; without: all but qmd's, which is too easy"
    )
    arguments = parser.parse_args()
    names = arguments.names or [*(one.name for one in by_names([]) if one.name != "qmd_eval"), ir_spans.NAME]
    found = [ir_spans.scored_spans() if name == ir_spans.NAME else scored(*by_names([name])) for name in names]
    LEVERS[arguments.lever](Table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
