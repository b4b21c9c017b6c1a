"""A raw query to what is searched: words, quoted phrases, exclusions. Pure, and no input is an error.

The language, whole: words are alternatives (the more of them a chunk holds, the higher it ranks); `"two words"` is a phrase;
`-word` and `-"two words"` exclude. Everything else is searched as it stands:

- A dash excludes only at the start of a word. Before one or two letters or digits (`-l`, `-rf`) it makes an option of a
  command, as does `--force`, and is searched as such; inside a word or alone it says nothing.
- A quote without its partner is a character like any other. Curly quotes are quotes.
- English function words are left out where other words remain; never inside a phrase.

Not here: analysis (lower case, stemming), weights, and what the index knows; see `index.bm25`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

import msgspec

from index import terms

MOST_WORDS = 256
"""Words of a query that are searched; a pasted page would otherwise become thousands of clauses."""
MOST_PARTS = 2 * MOST_WORDS
"""Parts of identifiers and pairs of characters, over all words: each is as many clauses as a word is."""
MOST_CHARS = 10_000
"""Of a query that are read at all: 256 words have a fifth of that. What is longer is a file, or one word without an end."""

# Articles, pronouns, auxiliaries, prepositions and question words. Leaving out the question words as well as Lucene's 33
# stop words lifted nDCG@10 on questions in plain words: claude_docs 0.705 -> 0.748, codebase_chunks 0.646 -> 0.704,
# cranfield 0.372 -> 0.382, medline1033 0.713 -> 0.718; scifact, which asks none, 0.689 -> 0.687.
STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
    will with what which who whom whose when where why how do does did can could should would may might must shall has have
    had having am been being were i me my we our us you your he him his she her hers its them those from about than so too
    very just don doesn didn isn aren wasn weren hasn haven hadn wouldn shouldn couldn
    """.split()  # noqa: SIM905  words read better than a list of literals
)

_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'))
_PIECE = re.compile(r'(?P<minus>(?<!\S)-)?"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+)')
_EXCLUSION = re.compile(r"-(?![-\s]|[A-Za-z0-9]{1,2}(?![A-Za-z0-9+#]))(?P<word>.+)", re.DOTALL)
_CONTRACTION = re.compile(r"(?<=\w)['\u2019](?:s|t|d|m|ll|re|ve)\b", re.IGNORECASE)
_PATH_SEPARATOR = re.compile(r"[/\\]")
_JOINABLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """One of the alternatives. What it looks for, strongest first."""

    text: str
    """As it was typed, for messages."""
    whole: str = ""
    """An identifier, as the identifiers field holds it."""
    spellings: tuple[str, ...] = ()
    """Each is a run of words that must stand together."""
    loose: tuple[str, ...] = ()
    """The parts of an identifier, each on its own."""


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """What must stand together: quoted by the user, or excluded."""

    text: str
    symbols: tuple[str, ...] = ()
    """The names in it that a tokenizer strips of their symbols (`.NET`, `--force`): they must be there as well."""


class ParsedQuery(msgspec.Struct, frozen=True, kw_only=True):
    words: tuple[Word, ...] = ()
    """In the order typed; a word typed twice is here twice and counts twice."""
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    is_cut: bool = False
    """Whether words after the first `MOST_WORDS`, parts of words after the first `MOST_PARTS`, or all after `MOST_CHARS` was left out."""

    @property
    def is_empty(self) -> bool:
        """Nothing to look for; with `excluded`, the query is made of exclusions only."""
        return not self.words and not self.phrases

    @property
    def is_only_exclusions(self) -> bool:
        return self.is_empty and bool(self.excluded)


def beginning(raw: str) -> str:
    """What is read of a query: all, or its first `MOST_CHARS` characters without the word that they end in."""
    if len(raw) <= MOST_CHARS:
        return raw
    first = raw[:MOST_CHARS]
    parts = first.rsplit(None, 1)
    return first if first[-1].isspace() or len(parts) == 1 else parts[0]


def parse(raw: str) -> ParsedQuery:
    """Read a query as the module's docstring says."""
    read = beginning(raw)
    bare: list[str] = []
    phrases: list[Phrase] = []
    excluded: list[Phrase] = []
    for piece in _PIECE.finditer(terms.normalise(read.translate(_QUOTES))):
        exclusion = _EXCLUSION.fullmatch(piece["bare"] or "")
        if piece["minus"]:
            excluded.extend(_phrase(piece["quoted"]))
        elif piece["quoted"] is not None:
            phrases.extend(_phrase(piece["quoted"]) if len(phrases) <= MOST_WORDS else ())
        elif exclusion:
            excluded.extend(_phrase(exclusion["word"]))
        else:
            bare.append(piece["bare"])
    words = list(islice((word for word in _words(bare) if word.text.lower() not in STOP_WORDS), MOST_WORDS + 1))
    if not (words or phrases):
        words = list(islice(_words(bare), MOST_WORDS + 1))
    searched = _first(words)
    return ParsedQuery(
        words=tuple(searched),
        phrases=tuple(dict.fromkeys(phrases[:MOST_WORDS])),
        excluded=tuple(dict.fromkeys(excluded)),
        is_cut=read != raw or searched != words or len(phrases) > MOST_WORDS,
    )


def _first(words: Sequence[Word]) -> list[Word]:
    """As many as are searched; the last one may have lost some of its parts."""
    found: list[Word] = []
    left = MOST_PARTS
    for word in words[:MOST_WORDS]:
        if not left:
            break
        parts = max(1, len(word.spellings), len(word.loose))
        if parts > left:
            word = msgspec.structs.replace(word, spellings=word.spellings[:left], loose=word.loose[:left])  # noqa: PLW2901  its rest
        found.append(word)
        left -= min(parts, left)
    return found


def _phrase(text: str) -> list[Phrase]:
    """One phrase, or none where the text holds nothing that is indexed."""
    found = terms.words(text)
    if not found:
        return []
    symbols = tuple(word for word in found if word[0] in "-." or word[-1] in "+#")
    return [Phrase(text=" ".join(text.split()), symbols=symbols)]


def _words(pieces: Iterable[str]) -> Iterator[Word]:
    return (_word(found) for piece in pieces for found in terms.words(_CONTRACTION.sub("", piece)))


def _word(text: str) -> Word:
    if terms.is_unspaced(text):
        return Word(text=text, spellings=_neighbours(terms.clusters(text)))
    if not terms.is_compound(text):
        return Word(text=text, spellings=(text,))
    parts = terms.parts(text)
    if text[0] in "-.":  # without its symbol it is a common word: `--force`, `.NET`
        return Word(text=text, whole=text, loose=tuple(parts))
    if text[-1] in "+#":  # the tokenizer keeps `C++` and `C#`
        segments = _PATH_SEPARATOR.split(text)
        return Word(text=text, whole=text, spellings=(text,), loose=tuple(segments) if len(segments) > 1 else ())
    spellings = [text, " ".join(parts)]
    if _JOINABLE.fullmatch(text):
        spellings.append("".join(parts))  # max_tokens -> maxTokens, e-mail -> email, utf-8 -> utf8
    return Word(text=text, whole=text, spellings=tuple(dict.fromkeys(spellings)), loose=tuple(parts))


def _neighbours(characters: list[str]) -> tuple[str, ...]:
    """Pairs of neighbours that overlap; of a single character itself."""
    if len(characters) < 2:  # noqa: PLR2004  a pair
        return tuple(characters)
    return tuple(f"{first} {second}" for first, second in pairwise(characters))
