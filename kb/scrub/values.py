"""Whether what stands behind a label is a secret: `hunter2` is one, `<your password>`, `os.environ["X"]` and `str` are none. Pure.

The rules lean on how people write, not on entropy alone: a password may be a word, and a variable may look drawn by lot. Each
rule was put here by a line of real documentation or code that it decides (`scripts/eval_scrub.py` lists what is found there).
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from kb.scrub.found import MARK

Kind = Literal["password", "secret", "token", "api key", "aws secret key", "secret key", "credential"]

SHORTEST_PASSWORD = 4
SHORTEST_BARE_PASSWORD = 6
SHORTEST_SECRET = 6
SHORTEST_TOKEN = 8
SHORTEST_IN_CODE = 16
"""Of a value without quotes in code, where nearly all are names."""
LONGEST_WORD = 20
"""A word of more letters than this was not written by hand."""
SHORTEST_WORDS = 4
"""Letters that words have on average in a long name."""
PASSPHRASE_WORDS = 4

REFERENCE = re.compile(
    r"""<[^<>]*>|\$\{.*|\$\(.*|\$+[A-Za-z_]\w*|\$env:\w+|%\w+%|%\(\w+\)s|%[sdrv]|\{+[^{}]*\}+\}*|\[[^\[\]]*\]|@@?\w+@@?|\#\{.*|!(?:[A-Z]\w*|secret|vault|env_var)(?:\b.*)?"""
    r"""|[xX*.•_#?…=+-]+|[&*][A-Za-z_]\w*""",
)
"""The whole of a value: a variable, a template, a row of stars, a YAML alias."""
HOLE = re.compile(r"\.\.\.|…|<[A-Za-z][\w -]*>|\{\{|\$\{|\*{3}|[xX]{5}|EXAMPLE|\[redacted")
"""Anywhere in a value: something was left out of it."""
FILLER = re.compile(
    r"(?i)(?<![a-z])(?:your|my-?(?:password|secret|token|key)s?|example|placeholder|change[-_ ]?(?:me|this|it)|replace|insert|dummy|sample|redacted|todo|tbd"
    r"|fixme|omitted|censored|removed|hidden|goes[-_ ]here|enter|fill[-_ ]in)(?![a-z])"
)
SHIPPED = frozenset({"admin", "cassandra", "guest", "minioadmin", "neo4j"})
"""Passwords that products come with (Grafana, Cassandra, RabbitMQ, MinIO, Neo4j) and state in their own documentation."""
WORDS = frozenset(
    """
    a an and any array as async auto await base64 basic bearer bcrypt argon2 pbkdf2 scrypt body bool boolean buffer bytes bytea char class const cookie
    credential credentials default digest empty encrypted env false field file form from function hash header hex hmac if import in input int integer is
    it jwt key keyword let literal long map mapping md5 must new nil no none not null number oauth oauth2 object of off on one only optional or pass password
    passwd passphrase passwort kennwort plain plaintext private prompt protected public pwd query raw required return saml secret secretstr securestring
    see self sensitive session sha1 sha256 sha512 should ssl static str string struct sub text textfield the this to token true type undefined unknown
    unset use used user username utf-8 utf8 value var varchar vault void was we when which will with x yes you your foo bar baz test testing
    """.split()  # noqa: SIM905  a list of a hundred strings reads worse
)
"""Values that say what kind of thing goes there, or that are no values but the next word of a sentence."""
SENTENCE = frozenset(
    """
    a an and are as be by can case characters do does enter field for forgot from has have if in incorrect invalid is it its least long match may
    minimum missing must new not of on one or password please required should that the this to too use used was weak will with wrong you your
    """.split()  # noqa: SIM905  as above
)
"""Words that make a value a sentence about passwords."""
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[\w.+-]+@[\w-]+\.[\w.]+$")
PATH = re.compile(r"(?:~|\.{1,2})?/[\w.-]+(?:/[\w.@-]*)+/?|[A-Za-z]:\\.*|(?:~|\.{1,2})/.*|[\w.-]+/[\w./-]+\.[a-z]{1,5}")
EXPRESSION = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\??\.|::|->)[A-Za-z_$][\w$]*)*\s?[(\[{].*|(?:self|this|cls|request|req|os|process|env|config|settings|ctx|args|options|opts|params)(?:\??\.|\[|::|->).*|[({\[].*|.*[({]"
)
"""A call, an index, an attribute."""
ATTRIBUTE = re.compile(r"[A-Za-z_$][A-Za-z_$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$]+)+\d?")
WORDY_PART = re.compile(r"[A-Za-z]*[a-z]{2,}\d{0,2}|[A-Za-z]+|[A-Z]{2,}\d{0,2}|[a-zA-Z]?\d{1,3}")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
PARTS = re.compile(r"[-_./: ]+")
LABEL_WORDS = re.compile(r"(?i)passw|passphrase|secret|token|(?<![a-z])key|credential|(?<![a-z])pwd")
PATTERN = re.compile(r"\(\?|\[\^|[\])][+*?]|\\[wdsS]")
"""A regular expression of a lexer, whose tokens are not ours."""
SPECIAL = re.compile(r"[!@#$%^&*+=~?§€£]")
GENERATED = re.compile(r"[\w+/=.~-]+", re.ASCII)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind a label, and how."""

    value: str
    kind: Kind
    is_quoted: bool
    is_assigned: bool = True
    """By `=` or `:`; else only a space, a comma or a word such as `is` lies between."""
    is_whole_line: bool = False
    """Label and value are all that is on the line."""
    is_code: bool = False


def is_secret(claim: Claim) -> bool:
    value = claim.value.strip()
    if is_placeholder(value) or ADDRESS.match(value) or PATH.fullmatch(value):
        return False
    if not claim.is_quoted and _is_expression(value, is_code=claim.is_code):
        return False
    if claim.kind == "password":
        return _is_password(value, claim)
    return _is_token(value, claim)


def is_placeholder(value: str) -> bool:
    """Whether it stands for a secret without being one."""
    plain = value.strip("\"'`.,;:!()[]{}<>").casefold()
    if len(value) < SHORTEST_PASSWORD or plain in WORDS or plain in SHIPPED or MARK in value:
        return True
    if REFERENCE.fullmatch(value) or HOLE.search(value) or FILLER.search(value):
        return True
    return len(set(value)) < 3  # noqa: PLR2004  `aaaa`, `0000`, `-=-=-=`


def _is_expression(value: str, *, is_code: bool) -> bool:
    if is_code:
        return len(value) < SHORTEST_IN_CODE or not GENERATED.fullmatch(value) or _mix(value) < 3 or is_wordy(value)  # noqa: PLR2004
    return bool(EXPRESSION.fullmatch(value) or ATTRIBUTE.fullmatch(value))


def _is_password(value: str, claim: Claim) -> bool:
    if " " in value:
        return _is_passphrase(value)
    has_digit = any(map(str.isdigit, value))
    has_letter = any(map(str.isalpha, value))
    if not has_letter:
        return claim.is_assigned and value.isdigit()
    if is_wordy(value) and (len(parts := PARTS.split(value)) > 1 or LABEL_WORDS.fullmatch(value)):
        return len(parts) >= PASSPHRASE_WORDS and not LABEL_WORDS.search(value)
    is_long_enough = len(value) >= (SHORTEST_PASSWORD if claim.is_quoted else SHORTEST_BARE_PASSWORD)
    if has_digit or SPECIAL.search(value):
        return is_long_enough and (has_digit or claim.is_assigned)
    return claim.is_assigned and is_long_enough and _is_bare_word(value, claim)


def _is_bare_word(value: str, claim: Claim) -> bool:
    """Letters alone: a password in a configuration, a translation in a list of messages, a word in prose."""
    if claim.is_quoted:
        return not (value.istitle() or LABEL_WORDS.match(value))
    return (
        claim.is_whole_line and value.isascii() and value.isalpha() and not value.istitle() and not CAMEL.search(value)
    )


def _is_passphrase(value: str) -> bool:
    words = value.split(" ")
    if SENTENCE.intersection(word.strip(".,:;!?").casefold() for word in words):
        return False
    if all(word.isalpha() and word.islower() for word in words):
        return PASSPHRASE_WORDS <= len(words) <= 2 * PASSPHRASE_WORDS
    return len(words) <= PASSPHRASE_WORDS and any(map(str.isdigit, value)) and bool(SPECIAL.search(value))


def _is_token(value: str, claim: Claim) -> bool:
    shortest = SHORTEST_SECRET if claim.kind in {"secret", "credential"} else SHORTEST_TOKEN
    if len(value) < shortest or " " in value or is_wordy(value) or PATTERN.search(value):
        return False
    if value.isdigit():
        return len(value) >= SHORTEST_IN_CODE
    if not claim.is_assigned and not GENERATED.fullmatch(value):
        return False
    return any(map(str.isdigit, value)) or len(value) > LONGEST_WORD


def is_wordy(value: str) -> bool:
    """Whether it reads as words: `db-credentials-v2`, `accessToken`, `ident1`."""
    parts = list(filter(None, PARTS.split(CAMEL.sub("-", value))))
    if len(value) >= LONGEST_WORD and sum(map(len, parts)) < SHORTEST_WORDS * len(parts):
        return False  # letters drawn by lot fall into words of two or three
    return all(len(part) <= LONGEST_WORD and WORDY_PART.fullmatch(part) for part in parts)


def _mix(value: str) -> int:
    """How many of digits, small letters and capitals, and signs of base64 there are; hexadecimal counts as enough."""
    if re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value) and sum(map(str.isdigit, value)) > 2:  # noqa: PLR2004
        return 3
    return sum((any(map(str.isdigit, value)), any(map(str.islower, value)), any(map(str.isupper, value))))
