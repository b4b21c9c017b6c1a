"""What of a text is indexed: the text made ready for the tokenizer, and the identifiers in it.

Pure, and the same for documents and queries: what one side splits, the other splits alike. Two problems are solved here,
both before tantivy sees the text:

- Scripts written without spaces (Chinese, Japanese, Thai ...) would become one token a sentence. Their characters are
  spaced apart, each a token with a position, and a query looks for pairs of neighbours (`index.query`). Hangul is treated
  alike although Korean has spaces: its particles are glued to the noun (`데이터베이스는`), so that whole words do not
  match, and pairs of syllables do (Lee and Ahn 1996 found them as good as morphological analysis).
- Identifiers (`max_tokens`, `HTTPServer2Error`, `src/utils/io_helpers.py`, `--force`, `.NET`) must be found whole and in
  parts. `identifiers` lists the wholes, the segments of paths, and the parts of CamelCase, which no tokenizer gives.

Not here: lower case, accents and stemming, which are filters of tantivy's analyzers (`index.fields`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache, partial

# Blocks of the scripts written without spaces between words, and Hangul (see above).
UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u1100-\u11ff\uac00-\ud7ff"  # Hangul
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff"  # Kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)

# Vowel signs and tone marks of those scripts stay with the consonant before them: apart they would say nothing.
MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"  # Thai
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"  # Lao
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\u17b4-\u17d3\u17dd"  # Khmer
    "\u3099\u309a"  # Kana
)

# A character of a word: ASCII letters, digits and underscore, and from Latin-1 on all that is neither unspaced, nor in the
# blocks of punctuation and symbols, nor one of the marks that Arabic, Persian and Hindi put behind a word.
ASCII_LETTER = "0-9A-Za-z_"
LETTER = (
    f"{ASCII_LETTER}\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u060b\u060d-\u061a\u0620-\u06d3\u06d5-\u0963"
    "\u0966-\u0dff\u0f00-\u0fff\u10a0-\u10ff\u1200-\u177f\u1800-\u1fff\u2c00-\u2dff\ua000-\ua9df\uaa00-\uaa5f"
    "\uaa80-\uabff\ufb00-\U0001efff"
)


def _compound(letter: str) -> str:
    """A word with what may hold an identifier together inside it, before it (`--force`, `.NET`) and behind it (`C++`, `C#`).

    Every class is disjoint from its neighbour, so the time is linear in the text.
    """
    return (
        rf"(?:(?<![{letter}\-])--?(?=[A-Za-z])|(?<![{letter}.])\.(?=[A-Za-z]))?"
        rf"[{letter}]+(?:[-./\\@:+#]{{1,3}}[{letter}]+)*(?:\+\+|\#)?"
    )


LONGEST_IDENTIFIER = 128
"""Characters. A SHA-512 in hexadecimal is 128; what is longer is data, not a name."""

WORDS_KEPT = 16_384
"""Whose identifiers are not looked for again: texts share most of their words."""

_ASCII_COMPOUND = re.compile(_compound(ASCII_LETTER))
_SYMBOL = re.compile(r"[-_./\\@:+#]")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_CAMEL_PART = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|\d+")
_ALNUM_RUN = re.compile(r"[^\W_]+")
_LANGUAGE_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z](?:\+\+|#)")
_PATH_SEPARATOR = re.compile(r"[/\\]")


# The classes beyond ASCII take 40 ms to compile, which a process that sees only ASCII is spared.
_compiled = cache(re.compile)
_dropped = partial(_compiled, "[\u00ad\u2060\ufeff\ud800-\udfff]")  # soft hyphen, joiners, halves of surrogate pairs
_cluster = partial(_compiled, rf"[{UNSPACED}][{MARKS}]*")
_run = partial(_compiled, rf"[{UNSPACED}]+")
_full_compound = partial(_compiled, _compound(LETTER))
_word = partial(_compiled, rf"[{UNSPACED}]+|{_compound(LETTER)}")


def normalise(text: str) -> str:
    """One spelling for what looks the same: ligatures, full width, presentation forms, soft hyphens (Unicode NFKC)."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _dropped().sub("", text))


def is_unspaced(text: str) -> bool:
    """Whether every character belongs to a script written without spaces."""
    return not text.isascii() and _run().fullmatch(text) is not None


def clusters(run: str) -> list[str]:
    """The characters of an unspaced run, each with its marks."""
    return _cluster().findall(run)


def spaced(text: str) -> str:
    """The text with the characters of unspaced scripts set apart, each a token of its own."""
    if text.isascii() or not _run().search(text):
        return text
    return _cluster().sub(r" \g<0> ", text)


def compounds(text: str) -> list[str]:
    """The words of scripts with spaces, each with what holds an identifier together."""
    return (_ASCII_COMPOUND if text.isascii() else _full_compound()).findall(text)


def words(text: str) -> list[str]:
    """As `compounds`, and the runs of scripts without spaces."""
    return (_ASCII_COMPOUND if text.isascii() else _word()).findall(text)


def is_compound(word: str) -> bool:
    """Whether one of `compounds` is more than one plain word: it holds a symbol or a hump."""
    if word.isalpha() and (word.islower() or word.istitle()):  # most words, in a sixth of the time
        return False
    return (_SYMBOL.search(word) is not None and word.strip("_") != "") or _HUMP.search(word) is not None


def camel_parts(word: str) -> list[str]:
    """`HTTPServer2Error` -> HTTP, Server, 2, Error; empty where there are no parts worth finding.

    Parts of less than two characters on average are no words (`iOS`, `LaTeX`, base64).
    """
    if not _HUMP.search(word):
        return []
    parts = _CAMEL_PART.findall(word)
    return parts if 1 < len(parts) <= len(word) / 2 else []


def parts(compound: str) -> list[str]:
    """Every plain word of a compound, in order: split at symbols, then at humps."""
    return [part for run in _ALNUM_RUN.findall(compound) for part in camel_parts(run) or [run]]


def identifiers(text: str) -> str:
    """The identifiers of a normalised text, separated by spaces: wholes, path segments, parts of CamelCase."""
    found: list[str] = []
    for word in compounds(text):
        if len(word) <= LONGEST_IDENTIFIER:
            found += _forms(word)
    return " ".join(found)


@lru_cache(maxsize=WORDS_KEPT)
def _forms(compound: str) -> tuple[str, ...]:
    """None of a plain word."""
    if not is_compound(compound):
        return ()
    forms = [compound]
    segments = [segment.strip(":") for segment in _PATH_SEPARATOR.split(compound)]
    if len(segments) > 1:
        forms += [segment for segment in segments if is_compound(segment)]
    forms += [name for name in _LANGUAGE_NAME.findall(compound) if name not in forms]
    for run in _ALNUM_RUN.findall(compound):
        forms += camel_parts(run)
    return tuple(forms)
