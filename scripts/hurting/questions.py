"""Random and hostile questions, each drawn whole from its own seed: words of a store, phrases, exclusions, other programs' syntax, characters of
every block of Unicode, pasted pages, with options combined at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from kb.detect import supported_types

MOST_HITS = 1000
MANY_HITS = 50
MODES = ("hybrid", "keyword", "semantic")
SHARES = (3, 5, 1)
"""How often each mode is asked for: one without a model's work is ten times as cheap."""

SYNTAX = (
    '"', "'", "-", "--", "+", "(", ")", "[", "]", "{", "}", "*", "?", "~", "^", ":", "\\", "/", "AND", "OR", "NOT", "NEAR", "TO", "title:", "text:", "_id:", "^2", "~1", "&&", "||", "<", ">",
    "'; DROP TABLE documents; --", "%s", "%00", "${x}", "../../etc/passwd", "\u201c", "\u201d", "\u00ab", ".NET", "C++", "C#", "--force", "-l", "utf-8", "a.b.c", "a_b", "snakeCase", "::", "=>",
)  # fmt: skip
STRANGE = (
    "\0", "\t", "\n", "\r", "\x1b[31m", "\x7f", "\x85", "\u00a0", "\u00ad", "\u0301", "\u200b", "\u200d", "\u202e", "\u2028", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\ud800", "\udfff", "\U0001f600",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0010ffff", "\ufdfa", "\u0130", "\u1e9e", "\u00df", "\ufb01", "\u2126", "\uac00", "\u1100\u1161", "日本語", "中文", "ไทย", "العربية", "עברית", "हिन्दी", "e\u0301",
)  # fmt: skip
CLASSES: tuple[tuple[int, int], ...] = (
    (0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE80), (0x2000, 0x2C00), (0x3040, 0x3100), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A4), (0xD800, 0xE000), (0xF900, 0x10000), (0x1F300, 0x1FAFF), (0, 0x110000),
)  # fmt: skip


def of_words(chances: Random, words: Sequence[str]) -> str:
    return " ".join(chances.choices(words, k=chances.choice((1, 2, 3, 5, 8, 12, 30))))


def of_phrases(chances: Random, words: Sequence[str]) -> str:
    parts = [" ".join(chances.choices(words, k=chances.choice((1, 2, 4, 9)))) for _ in range(chances.randint(1, 5))]
    return " ".join(chances.choice(('"{}"', '-"{}"', "-{}", "{}", '"{}', '{}"')).format(part) for part in parts)


def of_syntax(chances: Random, words: Sequence[str]) -> str:
    parts = chances.choices((*SYNTAX, *SYNTAX, *words[:60]), k=chances.randint(1, 25))
    return chances.choice(("", " ")).join(parts)


def of_characters(chances: Random, _words: Sequence[str]) -> str:
    first, end = chances.choice(CLASSES)
    return "".join(chr(chances.randrange(first, end)) for _ in range(chances.choice((1, 3, 20, 200))))


def of_strangeness(chances: Random, words: Sequence[str]) -> str:
    return "".join(chances.choices((*STRANGE, " ", *words[:20]), k=chances.randint(1, 30)))


def damaged(chances: Random, words: Sequence[str]) -> str:
    letters = list(of_words(chances, words))
    for _ in range(chances.randint(1, 5)):
        letters.insert(chances.randrange(len(letters) + 1), chances.choice((*SYNTAX, *STRANGE)))
    return "".join(letters)


def too_long(chances: Random, words: Sequence[str]) -> str:
    """What somebody pastes, or tries."""
    way, length = chances.randrange(8), chances.choice((300, 2000, 20_000))
    return (
        lambda: " ".join(chances.choices(words, k=length // 5)),
        lambda: chances.choice((*words[:20], "a", "日", "\u0301")) * length,
        lambda: f'"{" ".join(chances.choices(words, k=length // 8))}"',
        lambda: " ".join(f"-{word}" for word in chances.choices(words, k=length // 8)),
        lambda: " ".join(f'"{word}"' for word in chances.choices(words, k=length // 8)),
        lambda: '"' * length,
        lambda: chances.choice(("-a ", "a_b.", "(", "a/", "C++ ", ".", "A")) * length,
        lambda: "_".join(chances.choices(words, k=length // 8)),
    )[way]()


KINDS: tuple[Callable[[Random, Sequence[str]], str], ...] = (
    of_words, of_words, of_words, of_phrases, of_phrases, of_syntax, of_characters, of_strangeness, damaged, damaged,
)  # fmt: skip
LONG_SHARE = 0.005
PLAIN_SHARE = 0.3
"""Without any option."""


class Asked(NamedTuple):
    """A question, all of it from its seed."""

    seed: str
    query: str
    options: dict[str, Any]

    @classmethod
    def of(cls, seed: str, words: Sequence[str], *, plain: bool = False) -> Asked:
        """`plain`: with no option, as an agent asks."""
        chances = Random(seed)
        query = (too_long if chances.random() < LONG_SHARE else chances.choice(KINDS))(chances, words)
        if plain:
            return cls(seed, query, {"mode": "hybrid"})
        [mode] = chances.choices(MODES, SHARES)
        has_options = chances.random() >= PLAIN_SHARE
        return cls(seed, query, {"mode": mode, **(options(chances, words) if has_options else {})})

    def load(self, hits: int, *, searched: bool = True) -> str:
        """What is asked for and given, as far as it decides how much is to be done; `searched`: whether anything passes the filters."""
        also, explained = len(self.options.get("also", ())), " explained" if self.options.get("explain") else ""
        many = f", over {MANY_HITS} hits{explained}" if hits > MANY_HITS else "" if searched else ", nothing to search"
        return f"{self.options['mode']}{f', {also + 1} queries' if also else ''}{many}"


def options(chances: Random, words: Sequence[str]) -> dict[str, Any]:
    strange = of_strangeness(chances, words)
    given: dict[str, Callable[[], Any]] = {
        "top": lambda: chances.choice((1, 2, 10, 50, MOST_HITS)),
        "tags": lambda: [chances.choice(("a", "new", strange))],
        "types": lambda: chances.sample([*supported_types(), "note"], chances.randint(1, 4)),
        "path": lambda: chances.choice(("/", ".", "*.txt", "**/*", "[", "[!a-", "*" * 60 + "b", "~", "/tmp/", "00", strange.replace("\0", ""))),
        "since": lambda: chances.choice(("2020", "2026-01", "2026-11-29", "2026-11-29T12:00:00+14:00", "0001-01-01")),
        "before": lambda: chances.choice(("2027", "2026-12", "9999-12-31", "2026-11-29T00:00:00Z")),
        "roles": lambda: [chances.choice(("user", "assistant", strange))],
        "meta": lambda: {chances.choice(("colour", strange if strange.strip() else "x")): chances.choice(("red", strange))},
        "min_score": lambda: chances.choice((0.0, 0.3, 0.99, 1.0)),
        "per_document": lambda: chances.choice((1, 2, 100)),
        "group": lambda: True,
        "explain": lambda: True,
        "also": lambda: [chances.choice(KINDS)(chances, words) or "x" for _ in range(chances.randint(1, 2))],
    }  # fmt: skip
    chosen = {name: given[name]() for name in given if chances.random() < 0.2}
    if "group" in chosen:
        chosen.pop("per_document", None)
    return chosen
