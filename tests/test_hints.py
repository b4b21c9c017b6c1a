"""Hints name what the door that says them has: tools and arguments for agents, paths and parameters over HTTP."""

from __future__ import annotations

import re

import pytest

from kb.hints import SAID, said_at
from kb.mcp.tools import TOOLS
from kb.serve.table import OPERATIONS


@pytest.mark.parametrize(
    ("hint", "to_agent", "over_http"),
    [
        ("kb list shows ids and paths", "list shows ids and paths", "GET /documents shows ids and paths"),
        (
            "it is a chunk of document 4: kb get 8 --around 0 shows it",
            "it is a chunk of document 4: get with chunk_id 8 shows it",
            "it is a chunk of document 4: GET /chunks/8/text shows it",
        ),
        ("say --lines 10:20", "say lines 10:20", "say lines 10:20"),
        ("say --tag NAME", "say tags", "say tags"),
        ("kb reindex makes it", "kb reindex makes it", "kb reindex makes it"),
    ],
)
def test_a_hint_is_said_in_the_words_of_the_door(hint, to_agent, over_http):
    assert (said_at("mcp", hint), said_at("http", hint)) == (to_agent, over_http)


def test_the_doors_have_what_is_named():
    paths = {re.sub(r"\{.*?\}", "N", f"{one.method} {one.path}") for one in OPERATIONS}
    named = [re.sub(r"\\\d", "N", said).partition("?")[0] for _, _, said in SAID if said.startswith(("GET", "POST"))]

    assert {" ".join(said.split()[:2]) for said in named} <= paths
    assert {said.split()[0] for _, said, _ in SAID if " with " in said} <= {tool.name for tool in TOOLS}
