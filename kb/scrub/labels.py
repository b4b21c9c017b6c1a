"""Secrets that are told by what is written before them: `password: ...`, `API_KEY=...`, `<token>...</token>`, `--password ...`.

A label is a name that ends with one of a few words, then whatever closes it (a quote, a bracket, markdown's stars), then what binds it to
its value. Whether the value is a secret is for `kb.scrub.values` to say. A label's own words stay in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from kb.scrub.code import CodeRanges
from kb.scrub.found import Found
from kb.scrub.shaped import is_random
from kb.scrub.values import Claim, Kind, is_secret

STEMS: dict[str, Kind] = {
    "password": "password", "passwd": "password", "passwort": "password", "passphrase": "password", "passcode": "password",
    "pass": "password", "pwd": "password", "kennwort": "password", "contraseña": "password", "contrasena": "password",
    "mot de passe": "password", "senha": "password", "wachtwoord": "password", "пароль": "password", "密码": "password",
    "密碼": "password", "パスワード": "password", "secret": "secret", "token": "token", "key": "api key", "credential": "credential",
}  # fmt: skip
KEYS: dict[str, Kind] = {
    "secret access": "aws secret key",
    **dict.fromkeys(("api", "access", "app", "application", "client", "auth", "license", "consumer", "subscription", "service", "deploy", "admin"), "api key"),
    **dict.fromkeys(("secret", "private", "encryption", "signing", "master", "account", "storage", "shared", "hmac", "webhook", "session", "crypto", "aes"), "secret key"),
}  # fmt: skip
"""`key` alone labels anything; these before it make it one of ours."""
KEY_BEFORE = re.compile(rf"({'|'.join(KEYS).replace(' ', '[ _.-]?')})[ _.-]?$")
PUBLIC = re.compile(r"public[ _.-]?(?:key)?[ _.-]?$")
NAME_BEFORE = re.compile(r"[\w.$-]{0,60}$")

SUFFIX = r"(?:s|[_-]?(?:value|text|plain|base|prod|dev|test|staging|old|new|current|again|repeat|confirm(?:ation)?|\d{1,3}))?"
CLOSE = r"(?:\\{0,7}[\"'`]|[\])}*]){0,4}"
ASSIGNED = (
    r"(?:[ ]?\([^()\n]{1,30}\))?[ \t]{0,20}(?:"
    r":[ \t]{0,4}[a-z_][\w.\[\]|<>?, ]{0,40}?[ \t]{0,4}=(?!=)"  # password: str =
    r"|(?<![\"'`])[ \t][a-z]\w{0,20}[ \t]{0,4}:?=(?!=)"  # password string =
    r"|[=!]==?|:=|=>|=|:{1,2}|：|＝)"  # noqa: RUF001  full width, of Chinese and Japanese
)
NAMED = r"[\s,;]{0,60}\\{0,7}[\"']?value\\{0,7}[\"']?\s{0,4}[:=]"  # name: PASSWORD, value: ...
WEAK = (
    r"[ \t]{0,4},[ \t]{0,4}(?=\\{0,7}[\"'])"  # define('PASSWORD', '...')
    r"|[ \t]{0,20}\|"  # a table's cells
    r"|\((?=\\{0,7}[\"'])"  # set_password("...")
    r"|[ \t]{1,4}(?=\\{0,7}[\"'])"  # PASSWORD '...'
    r"|[ \t]{2,40}|\t"
    r"|[ ](?:for|of|to)(?:[ ][\w.@'-]{1,30}){1,4}?(?:[ ]is|:)[ ]"
    r"|[ ](?:is|was|are|ist|est|es|=)[ ]"
)


@cache
def label() -> re.Pattern[str]:
    """Searched in small letters. Groups: `stem`, and one of `assigned`, `named`, `weak`, `space` for what binds the value."""
    stems = "|".join(sorted(STEMS, key=len, reverse=True))
    bound = rf"(?P<assigned>{ASSIGNED})|(?P<named>{NAMED})|(?P<element>>)|(?P<weak>{WEAK})|(?P<space>[ ])"
    return re.compile(rf"(?P<stem>{stems}){SUFFIX}(?P<close>{CLOSE})(?:{bound})")


VALUE = re.compile(
    r"""(?P<before>[ \t]{0,20}(?:\*{1,2}[ \t]?)?)(?:
       [bBrRfFuUL@$]{0,2}(?P<quote>\"{3}|'{3}|["'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){0,2000})(?P=quote)
      |\\{1,7}["'](?P<escaped>[^"'\\\n]{0,2000})\\{1,7}["']
      |[“„«](?P<curly>[^“”»\n]{1,200})[”“»]
      |[|>][+-]?[ \t]{0,4}\n[ \t]{1,40}(?P<block>[^\n]{1,2000})
      |(?P<bare>[^\s"'`][^\s]{0,2000})
      |["'`](?P<open>[^\s"'`]{1,2000})
      |\s{0,3}\n\s{0,40}(?P<below>[^\s"'`]{8,400})[ \t]{0,20}(?=\n|\Z)
    )""",
    re.VERBOSE,
)
LIST = re.compile(r"[ \t]{0,20}\[[^\[\]]{0,2000}\]")
ITEM = re.compile(r"""(["'])(?P<item>(?:\\.|(?!\1)[^\\\n]){1,300})\1""")
END = re.compile(
    r"""</|[<>](?=\s|$)|["'`](?=[\s,;:)\]}>]|$)|;(?=\s|$|[\w ]{2,30}=)|&(?=[\w.-]{1,40}=)|,(?=\s|$|["'{]|[\w.-]{1,40}[=:])|\\n|\\["']"""
)
"""What ends a value without quotes before the next space does."""
TAIL = re.compile(r"[,;.)\]}>*_:]+$")
LONGEST_PHRASE = 100
LONG_LINE = 400
"""Characters. Further than this nothing is looked for on a line, or a line of a megabyte would be read once a label."""
COMMENT = re.compile(r"[ \t]*(?:#|//|/?\*|--|;|rem )")
PASS_BOUND = re.compile(r"[ \t]{0,4}[\"'`]?(?=[^\s\"'`]{0,100}[\d!@#$%^&*+~?])(?!\d+\b)[^\s\[(]")
"""`pass` is a verb more often than a password: what it binds must hold a digit or a sign, and not be the number of tests that did."""
CONTINUED = re.compile(r"[ ](?P<piece>[\w+/.~-]{8,2000}={0,2})(?=[\s.,;)]|\Z)", re.ASCII)


def labelled(text: str, lowered: str, code: CodeRanges) -> Iterator[Found]:
    for match in label().finditer(lowered):
        kind = _kind(text, lowered, match)
        if (
            kind
            and (match["space"] is None or _takes_space(lowered, match))
            and (match["element"] is None or _is_element(text, match))
        ):
            yield from _values(text, match, kind, code)


def kind_of_name(name: str) -> Kind | None:
    """The kind of secret that a column or key of this name holds; None for none."""
    probe = f"{name}="
    for match in label().finditer(probe.lower()):
        if match.end() == len(probe):
            return _kind(probe, probe.lower(), match)
    return None


def _kind(text: str, lowered: str, match: re.Match[str]) -> Kind | None:
    """The kind of secret that the label promises; None where it is no label of ours (`compass`, `primary key`)."""
    stem, start = match["stem"], match.start()
    if stem == "key":
        before = KEY_BEFORE.search(lowered, max(0, start - 16), start)
        return KEYS.get(before[1], "aws secret key") if before else None
    if stem == "pass" and (
        lowered[start - 1 : start].isalpha() and not (text[start] == "P" and text[start - 1].islower())
    ):
        return None
    if stem == "pass" and (
        text.startswith("--- ", start - 4)
        or (match["assigned"] or "").strip(" :=")
        or not PASS_BOUND.match(text, match.end())
    ):
        return None
    if stem == "token" and (match[0].startswith("tokens") or PUBLIC.search(lowered, max(0, start - 12), start)):
        return None  # counts of words; keys that are no secret
    return STEMS[stem]


def _takes_space(lowered: str, match: re.Match[str]) -> bool:
    """`--password hunter2`, and `login anna password hunter2` of a .netrc."""
    name = NAME_BEFORE.search(lowered, max(0, match.start() - 60), match.start())
    is_option = name is not None and name[0].startswith("--")
    return is_option or bool(
        re.search(r"login\s{1,4}\S{1,80}\s{1,8}$", lowered[max(0, match.start() - 100) : match.start()])
    )


def _is_element(text: str, match: re.Match[str]) -> bool:
    """`<password>`, and no `type="password">`."""
    name = NAME_BEFORE.search(text, max(0, match.start() - 60), match.start())
    return not match["close"] and name is not None and text[max(0, name.start() - 1) : name.start()] in {"<", ":"}


def _values(text: str, match: re.Match[str], kind: Kind, code: CodeRanges) -> Iterator[Found]:
    is_assigned = match["weak"] is None
    is_code = code.holds(match.start()) and not COMMENT.match(text, _line_start(text, match.start()))
    several = LIST.match(text, match.end())
    spans = [item.span("item") for item in ITEM.finditer(several[0])] if several else []
    if several and spans:
        for first, last in spans:
            claim = Claim(
                value=several[0][first:last], kind=kind, is_quoted=True, is_assigned=is_assigned, is_code=is_code
            )
            if is_secret(claim):
                yield Found(several.start() + first, several.start() + last, kind)
        return
    value = VALUE.match(text, match.end())
    if value is None:
        return
    group = value.lastgroup or "bare"
    start, end = value.span(group)
    is_quoted = group in {"quoted", "escaped", "curly"}
    if not is_quoted:
        end = _end(text, start, end, in_table=(match["weak"] or "").endswith("|"))
    claim = Claim(
        value=text[start:end], kind=kind, is_quoted=is_quoted, is_assigned=is_assigned and group != "below",
        is_whole_line=_fills_line(text, match.start(), end), is_code=is_code and not is_quoted,
    )  # fmt: skip
    if is_secret(claim):
        yield Found(start, end if is_quoted else _continued(text, end, kind, text[start:end]), kind)
    elif kind == "password" and group == "bare" and claim.is_assigned and not is_code:
        yield from _phrase(text, start, kind)


def _end(text: str, start: int, end: int, *, in_table: bool) -> int:
    """Where a value without quotes ends."""
    stop = END.search(text, start + 1, end)
    end = stop.start() if stop else end
    if in_table and (cell := text.find("|", start, end)) >= 0:
        end = cell
    tail = TAIL.search(text, start, end)
    opened = any(mark in text[start:end] for mark in "([{<")
    return tail.start() if tail and not opened and tail.start() > start else end


def _fills_line(text: str, label_start: int, end: int) -> bool:
    """Whether nothing but a name stands before the label, and nothing but a comment after the value."""
    line = _line_start(text, label_start)
    rest = text[end : _line_end(text, end)].strip()
    return bool(
        re.fullmatch(r"[\s>*-]*(?:export |set |env |ENV |ARG )?[\"'*`]{0,3}[\w.-]*[ ]?", text[line:label_start])
    ) and (not rest or rest[0] in "#;\"'`*,")


def _line_start(text: str, place: int) -> int:
    """Where the line begins; in a very long one, a little before."""
    begin = max(0, place - LONG_LINE)
    found = text.rfind("\n", begin, place)
    return found + 1 if found >= 0 else begin


def _line_end(text: str, place: int) -> int:
    end = min(len(text), place + LONG_LINE)
    found = text.find("\n", place, end)
    return found if found >= 0 else end


def _phrase(text: str, start: int, kind: Kind) -> Iterator[Found]:
    """`passphrase: correct horse battery staple`, without quotes, to the end of its line."""
    line = text[start : _line_end(text, start)].rstrip()
    if len(line) <= LONGEST_PHRASE and line.count(" ") >= 3 and is_secret(Claim(value=line, kind=kind, is_quoted=True)):  # noqa: PLR2004  four words
        yield Found(start, start + len(line), kind)


def _continued(text: str, end: int, kind: Kind, value: str) -> int:
    """A long token that the edge of a PDF's column broke: the line's end has become a space."""
    while (
        kind != "password" and is_random(value) and (piece := CONTINUED.match(text, end)) and is_random(piece["piece"])
    ):
        value, end = piece["piece"], piece.end()
    return end
