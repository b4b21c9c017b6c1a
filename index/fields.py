"""The fields of the lexical index: how a chunk becomes a tantivy document, and how each field is cut into tokens.

    body         text, symbols, and what of title and heading the text does not say itself: all that its words are looked for in
    title        once more, to weigh more
    heading      once more, below the title, with the symbols that the chunk defines
    path         the path of the source, split at its separators
    identifiers  identifiers whole, and the parts that the other fields do not hold (`index.terms`)
    chunk_id     integer, the only thing that comes back
    document_id  integer, for filters

Nothing is stored. Not here: weights and queries (`index.bm25`). A change of what is indexed, here or in `index.terms`,
must raise `VERSION`: the names of the analyzers carry it into the schema on disk, and an index with another schema is
made anew.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import tantivy
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from index import terms

VERSION = 2
BODY, TITLE, HEADING, PATH, IDENTIFIERS = "body", "title", "heading", "path", "identifiers"
CHUNK_ID, DOCUMENT_ID = "chunk_id", "document_id"

LONGEST_TOKEN_BYTES = 256
"""A SHA-512 in hexadecimal (128) is found; base64 blobs are not worth their room in the dictionary."""

# Words with their combining marks (Hindi, Thai); names of one letter and a symbol (`C++`, `C#`) stay whole, so that
# they are neither each other nor `C`.
WORD_PATTERN = r"[A-Za-z](?:\+\+|#)|[\p{L}\p{M}\p{N}]+"
BETWEEN_HEADINGS = " > "
_TEXT_NAME, _IDENTIFIERS_NAME = f"kb_text_{VERSION}", f"kb_identifiers_{VERSION}"


class LexicalDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk as the lexical index gets it."""

    chunk_id: int
    document_id: int
    title: str
    heading: str
    """The chain, with `BETWEEN_HEADINGS` in between."""
    path: str
    body: str
    symbols: str = ""
    """Names that the chunk defines, separated by spaces."""


def _analyzer(tokenizer: Tokenizer) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(tokenizer).filter(Filter.remove_long(LONGEST_TOKEN_BYTES))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).filter(Filter.stemmer("english")).build()


TEXT = _analyzer(Tokenizer.regex(WORD_PATTERN))
NAMES = _analyzer(Tokenizer.whitespace())


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in (BODY, TITLE, HEADING, PATH):
        builder.add_text_field(field, tokenizer_name=_TEXT_NAME)
    builder.add_text_field(IDENTIFIERS, tokenizer_name=_IDENTIFIERS_NAME, index_option="freq")
    # Integer, not unsigned: tantivy-py deletes nothing by a term of an unsigned field, and says nothing.
    builder.add_integer_field(CHUNK_ID, indexed=True, fast=True)
    builder.add_integer_field(DOCUMENT_ID, indexed=True)
    return builder.build()


SCHEMA = _schema()


def register_analyzers(index: tantivy.Index) -> None:
    """To be called at every open: tantivy keeps the names of analyzers on disk, not what they do."""
    index.register_tokenizer(_TEXT_NAME, TEXT)
    index.register_tokenizer(_IDENTIFIERS_NAME, NAMES)


def to_tantivy(document: LexicalDocument) -> tantivy.Document:
    title, heading, path, body, symbols = (
        terms.normalise(text)
        for text in (document.title, document.heading, document.path, document.body, document.symbols)
    )
    headings = _below(title, heading)
    entry = tantivy.Document()
    entry.add_integer(CHUNK_ID, document.chunk_id)
    entry.add_integer(DOCUMENT_ID, document.document_id)
    parts = (*_unsaid((title, *headings), body), symbols, body)
    for part in parts:  # a value each: no phrase reaches across the border
        entry.add_text(BODY, terms.spaced(part))
    entry.add_text(TITLE, terms.spaced(title))
    entry.add_text(HEADING, terms.spaced(" ".join((*headings, symbols)).strip()))
    entry.add_text(PATH, terms.spaced(path))
    entry.add_text(IDENTIFIERS, terms.identifiers(f"{title}\n{heading}\n{path}\n{symbols}\n{body}"))
    return entry


# The first heading of most documents is their title, and a section's text begins with its heading: said three times over, these
# words outweighed the text's own. Once in the body: nDCG@10 by keyword 0.664 -> 0.691 on SciFact, 0.389 -> 0.393 on Cranfield,
# 0.810 -> 0.812 on claude_docs; its whole pages 0.939 -> 0.936, codebase_chunks 0.737 -> 0.736 (docs/ranking.md).
def _below(title: str, heading: str) -> list[str]:
    """The headings of a chain, without one that only says the title again."""
    headings = [part for part in heading.split(BETWEEN_HEADINGS) if part]
    return headings[1:] if headings[:1] == [title] else headings


def _unsaid(parts: Iterable[str], text: str) -> list[str]:
    """Those of `parts` that the text does not hold as they are, whatever the case."""
    lower = text.lower()
    return [part for part in dict.fromkeys(parts) if part and not _holds(lower, part.lower())]


def _holds(text: str, part: str) -> bool:
    """Whether `part` stands in `text` between the borders of words."""
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if not (text[max(0, start - 1) : start].isalnum() or text[end : end + 1].isalnum()):
            return True
        start = text.find(part, start + 1)
    return False
