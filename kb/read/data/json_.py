"""JSON: on which line each key begins, and escapes as the characters that they stand for.

Works on tokens rather than on loaded values, so that duplicate keys, huge numbers, comments and trailing commas (as in
`tsconfig.json`) stay as they are written. Pretty-printing of what is minified is `kb.read.data.json_pretty`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from kb.errors import UnreadableFile
from kb.read.data.invalid import Invalid
from kb.read.data.tree import Node

MAX_DEPTH = 200  # real files stay under 30; Python's own parser gives up at about 1,000

TOKEN = re.compile(
    r"""(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<open>[{\[])|(?P<close>[}\]])"""
    r"""|(?P<comma>,)|(?P<colon>:)|(?P<scalar>[^\s,:{}\[\]"/]+|\S)|\s+""",
    re.DOTALL,
)
ONE_LINE = frozenset({"open", "close", "comma", "colon", "scalar"})
ESCAPE = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\(.)")
SURROGATES = frozenset(map(chr, range(0xD800, 0xE000)))
SPACES = {"n": " ", "r": " ", "t": " ", "b": " ", "f": " ", "/": "/"}


class Token(msgspec.Struct, frozen=True, gc=False):
    kind: str
    text: str
    line: int
    """Counted from 1."""


END = Token("end", "", 0)


class Frame(msgspec.Struct, gc=False):
    """A list or object that is being read."""

    keys: tuple[str, ...]
    first: int
    is_list: bool
    children: list[Node] = msgspec.field(default_factory=list)
    count: int = 0
    key: Token | None = None

    def place(self, token: Token) -> tuple[tuple[str, ...], int]:
        """The keys of the value that begins with the token, and its first line."""
        name = f"[{self.count}]" if self.is_list else self.key.text[1:-1] if self.key else ""
        first = self.key.line if self.key else token.line
        self.count += 1
        self.key = None
        return (name,) if name else (), first


def tokens(text: str) -> Iterator[Token]:
    line = 1
    for match in TOKEN.finditer(text):
        kind, word = match.lastgroup, match[0]
        if kind:
            yield Token(kind, word, line)
        if kind not in ONE_LINE:
            line += word.count("\n")


def validate(text: str) -> None:
    """Raises Invalid, or UnreadableFile where brackets are nested deeper than any real file's."""
    depth = 0
    for match in TOKEN.finditer(text):
        depth += (match.lastgroup == "open") - (match.lastgroup == "close")
        if depth > MAX_DEPTH:
            raise UnreadableFile(f"nested more than {MAX_DEPTH} levels deep", "Give --type text to index it as it is.")
    try:
        _load(text)
    except json.JSONDecodeError as error:
        try:
            _load(_strict(text))
        except json.JSONDecodeError:
            raise Invalid(f"not valid JSON (line {error.lineno}: {error.msg})") from error


def nodes(text: str) -> tuple[Node, ...]:
    """The outermost keys of valid JSON, with what is under them."""
    top = Frame((), 1, is_list=False)
    frames = [top]
    for token, following in pairwise((*tokens(text), END)):
        frame = frames[-1]
        if token.kind == "string" and following.kind == "colon":
            frame.key = token
        elif token.kind == "open":
            frames.append(Frame(*frame.place(token), is_list=token.text == "["))
        elif token.kind == "close":
            frames.pop()
            children = tuple(frame.children) if token.line > frame.first else ()
            frames[-1].children.append(Node(frame.keys, frame.first, children))
        elif token.kind in ("string", "scalar"):
            frame.children.append(Node(*frame.place(token)))
    return top.children[0].children if top.children else ()


def unescaped(text: str) -> str:
    """JSON text with the characters that escapes stand for; line ends and tabs in strings become spaces."""
    return ESCAPE.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    high, low, code, letter = escape.groups()
    if letter is not None:
        return SPACES.get(letter, escape[0])
    if high is not None:
        return (chr(int(high, 16)) + chr(int(low, 16))).encode("utf-16", "surrogatepass").decode("utf-16")
    character = chr(int(code, 16))
    if character in SURROGATES:
        return "\ufffd"  # half of a pair stands for nothing
    return character if character.isprintable() and character not in '"\\' else " "


def _load(text: str) -> None:
    json.loads(text, strict=False, parse_int=str, parse_float=str)


def _strict(text: str) -> str:
    """The text without comments and trailing commas."""
    kept: list[str] = []
    for token in tokens(text):
        if token.kind == "close" and kept and kept[-1] == ",":
            kept.pop()
        if token.kind != "comment":
            kept.append(token.text)
    return " ".join(kept)
