"""What of a chunk goes into which field: nothing is said twice to a field."""

from __future__ import annotations

import pytest

from index import fields
from index.fields import LexicalDocument


def entry(title="", heading="", body=""):
    document = LexicalDocument(chunk_id=1, document_id=1, title=title, heading=heading, path="", body=body)
    return {name: [text for text in values if text] for name, values in fields.to_tantivy(document).to_dict().items()}


def test_title_and_headings_are_in_the_body_where_the_text_does_not_say_them():
    found = entry("Fusion", "Ranks > Constants", "sixty is usual")

    assert found["body"] == ["Fusion", "Ranks", "Constants", "sixty is usual"]


def test_what_the_text_says_is_not_said_again():
    """Whatever the case; `Ranks` stands in it as `ranks`."""
    assert entry("Fusion", "Ranks > Constants", "## CONSTANTS\n\nfusion of ranks")["body"] == [
        "## CONSTANTS\n\nfusion of ranks"
    ]


@pytest.mark.parametrize("text", ["a party", "artful", "smart-ish"])
def test_a_part_of_a_word_is_not_the_word(text):
    """Otherwise `-art` would not exclude it."""
    assert entry("Art", "", text)["body"] == ["Art", text]


def test_a_heading_that_is_the_title_is_not_a_heading_as_well():
    assert entry("Fusion", "Fusion > Ranks", "x")["heading"] == ["Ranks"]
    assert entry("Fusion", "Fusion", "x")["heading"] == []
    assert entry("Other", "Fusion > Ranks", "x")["heading"] == ["Fusion Ranks"]
