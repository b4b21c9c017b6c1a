"""The short version of `scripts/hurt queries`, and what it found."""

from __future__ import annotations

import msgspec
import pytest
from hurting import queries

from kb import KnowledgeBase

HALF = "red \ud800"
"""Of a surrogate pair: JSON that an agent sends can hold it."""


@pytest.fixture
def folder(tmp_path, tiny_folder, monkeypatch):
    monkeypatch.setenv("KB_MODEL", str(tiny_folder))
    texts = ("red and green", "green huge C++ utf-8 snake_case", "red --force .NET max_tokens", "日本語 red")
    with KnowledgeBase.open(tmp_path / "store") as kb:
        for text in texts:
            kb.add_note(text, tags=["new"], meta={"colour": "red"})
    return tmp_path / "store"


def test_random_and_hostile_queries_are_answered(folder, capsys):
    assert queries.main(["--queries", "400", "--seed", "short", "--store", str(folder), "--any-speed"]) == 0, (
        capsys.readouterr().out
    )


def test_half_of_a_surrogate_pair_is_a_sign_in_whatever_a_program_says(folder):
    """As the command line does with bytes that are no UTF-8; nothing is raised, and every answer can be JSON."""
    with KnowledgeBase.open(folder) as kb:
        added = kb.add_note(HALF, title=HALF, tags=[HALF], meta={HALF: HALF})
        answers = [
            added,
            kb.search(HALF, also=[HALF], explain=True),
            kb.search(HALF, tags=[HALF], roles=[HALF], path=HALF, meta={HALF: HALF}),
            kb.list(tags=[HALF], meta={HALF: HALF}),
            kb.tag(added.documents[0].document_id, HALF + "x"),
            kb.untag(added.documents[0].document_id, HALF),
            kb.describe_tag(HALF, HALF),
            kb.add_content(HALF, title=HALF),
        ]
        assert kb.list(meta={HALF: HALF}).documents[0].title == "red \ufffd"
    for answer in answers:
        msgspec.json.encode(answer)
