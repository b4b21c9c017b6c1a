"""scripts/eval and scripts/eval_levers.py from end to end, on the smallest of the real collections."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ir_collections import COLLECTIONS

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "ir" / "qmd_eval"

LEVERS = """
from eval_levers import LEVERS, Table, by_names, scored
table = Table([scored(*by_names(["qmd_eval"]))])
for name, lever in LEVERS.items():
    print("lever", name)
    lever(table)
"""

pytestmark = [pytest.mark.data, pytest.mark.skipif(not DATA.is_dir(), reason=f"no collection at {DATA}")]


def test_a_collection_is_measured_with_a_setting_of_ones_own(tmp_path):
    """Of six notes the right one is first for nearly every question, by words and by meaning; no bound is missed."""
    ran = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "eval"), "qmd_eval", "--set", "search.fusion=rrf"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    name, *figures = ran.stdout.splitlines()[-1].split()

    assert (ran.returncode, name) == (0, "qmd_eval"), ran.stderr
    assert min(map(float, figures)) > 0.9


@pytest.mark.parametrize("collection", COLLECTIONS, ids=lambda collection: collection.name)
def test_whole_texts_are_the_documents_that_are_judged(collection):
    """Under the same ids, or the semantic column would be zero."""
    judged = {document_id for documents in collection.judgements().values() for document_id in documents}

    assert judged <= collection.whole_texts().keys()


def test_every_lever_has_its_rows(tmp_path):
    """They put other functions and constants into modules by name, which no type checker sees."""
    ran = subprocess.run(
        [sys.executable, "-c", LEVERS],
        cwd=ROOT / "scripts",
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    rows = {part.splitlines()[0]: part.splitlines()[1:] for part in ran.stdout.split("lever ")[1:]}

    assert ran.returncode == 0, ran.stderr
    assert all(rows.values())
