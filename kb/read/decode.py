"""Bytes of a text file to text: finds the encoding, says where characters were lost, makes every line end in LF.

In the order of certainty: a byte order mark, UTF-8, ISO-2022-JP by its escapes, UTF-16 and UTF-32 (where there are too
many control characters for anything else), the alphabets of languages in Latin script, then charset-normalizer's guess.
Does not strip, fold or otherwise change what the text says, and knows nothing of declarations inside the text (XML, HTML
and Python name their encoding; their readers know).
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import msgspec

from kb.errors import NotFound, UnreadableFile

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE_BYTES = 64 * 1024  # enough to tell; charset-normalizer takes 0.06 s for it
MAX_CONTROL_SHARE = 0.02  # real text has next to none; the 817 programs of a /usr/bin begin at 0.24
MIN_PRINTABLE_SHARE = 0.98  # of what UTF-16 and UTF-32 without a mark decode to
UTF8_SEQUENCES_A_FAULT = 4  # this many good sequences to each bad one: damaged UTF-8 rather than another encoding
MIN_ALPHABET_SHARE = 0.98  # of the letters outside ASCII that one language accounts for

WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
NARROW = (  # met in files; left out are the rare code pages that charset-normalizer likes to see in short texts
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "iso8859_2", "cp866"),
    *("cp850", "cp437", "mac_roman", "cp874", "big5", "big5hkscs", "gb18030", "cp932", "euc_jp", "cp949"),
)
ALPHABETS = (  # the letters outside ASCII of languages in Latin script, and the encodings that they are met in
    ("cp1252", "àâæçéèêëîïôœùûüÿ"),  # French
    ("cp1252", "äöüßé"),  # German
    ("cp1252", "áéíóúüñçºª"),  # Spanish
    ("cp1252", "ãáàâçéêíõóôúüºª"),  # Portuguese
    ("cp1252", "àèéìíîòóùúºª"),  # Italian
    ("cp1252", "àçèéíïòóúü·"),  # Catalan
    ("cp1252", "åäöéæøüà"),  # Scandinavian, Finnish
    ("cp1252", "éëïöüóáèêíçñ"),  # Dutch, and names in English
    ("cp1252", "áéíóúýðþæö"),  # Icelandic
    ("cp1254", "çğıöşüâîû\u0307"),  # Turkish; U+0307 is what lower() leaves of the dotted capital I
    *((encoding, "ąćęłńóśźż") for encoding in ("cp1250", "iso8859_2")),  # Polish
    *((encoding, "áčďéěíňóřšťúůýž") for encoding in ("cp1250", "iso8859_2")),  # Czech
    *((encoding, "áäčďéíĺľňóôŕšťúýž") for encoding in ("cp1250", "iso8859_2")),  # Slovak
    *((encoding, "áéíóöőúüű") for encoding in ("cp1250", "iso8859_2")),  # Hungarian
    *((encoding, "čćđšž") for encoding in ("cp1250", "iso8859_2")),  # Croatian, Slovene
    *((encoding, "ăâîşţ") for encoding in ("cp1250", "iso8859_2")),  # Romanian
)
SYMBOLS = frozenset("\u00a0€‚„…‘’“”•–—™‹›¡£¥§©«®°±·»¿×")  # noqa: RUF001 these signs are meant

CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
ISO_2022_JP = re.compile(rb"\x1b\$[@B]")
UTF8_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


class Decoded(msgspec.Struct, frozen=True):
    text: str
    """Without byte order mark; lines end in `\\n` only."""
    encoding: str
    """Python's name of the codec."""
    warning: str | None = None
    """Set where characters were lost."""


def read_text(path: str | Path, first_byte: int = 0) -> Decoded:
    """The text of a file, or of its end. Raises UnreadableFile where it cannot be opened or is not text."""
    try:
        with Path(path).open("rb") as file:
            file.seek(first_byte)
            data = file.read()
    except FileNotFoundError as error:
        raise NotFound(f"{path}: no such file") from error
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}", "Check that it is a file that you may read.") from error
    try:
        return decode(data)
    except UnreadableFile as error:
        raise UnreadableFile(f"{path}: {error.message}", error.hint) from error


def decode(data: bytes) -> Decoded:
    """The text of a file's bytes. Raises UnreadableFile where they are not text."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    if not _has_controls(data):
        return _decoded(data, _narrow(data))
    wide = _wide(data)
    if wide is None:
        raise UnreadableFile("binary data, not text", "Give --type if it is a document under a wrong name.")
    return _decoded(data, wide)


def _decoded(data: bytes, encoding: str) -> Decoded:
    try:
        text, lost = data.decode(encoding), 0
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        lost = text.count("\ufffd")
    nuls = text.count("\0")
    text = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return Decoded(text, encoding, _warning(lost, nuls, encoding))


def _warning(lost: int, nuls: int, encoding: str) -> str | None:
    parts = []
    if lost:
        parts.append(f"{lost} character{'s' * (lost > 1)} could not be decoded as {encoding}")
    if nuls:
        parts.append(f"{nuls} NUL character{'s' * (nuls > 1)} left out")
    return "; ".join(parts) or None


def _has_controls(data: bytes) -> bool:
    """Whether there are too many control characters for text in units of a byte."""
    head = data[:SAMPLE_BYTES]
    controls = len(head) - len(head.translate(None, CONTROLS))
    return controls > MAX_CONTROL_SHARE * len(head)


def _wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: the one under which all is printable and from the fewest blocks of Unicode."""
    found = []
    for encoding in WIDE:
        unit_bytes = 4 if "32" in encoding else 2
        try:
            head = codecs.getincrementaldecoder(encoding)().decode(data[:SAMPLE_BYTES])
        except UnicodeDecodeError:
            continue
        printable = sum(c.isprintable() or c in "\t\n\r\f\v\u3000" for c in head)
        if len(data) % unit_bytes == 0 and printable >= MIN_PRINTABLE_SHARE * len(head):
            found.append((len({ord(c) >> 8 for c in head}), encoding))
    return min(found)[1] if found else None


def _narrow(data: bytes) -> str:
    """The encoding of text in units of a byte."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "utf-8" if _is_damaged_utf8(data) else _guess(_telling_lines(data))
    return "iso2022_jp" if ISO_2022_JP.search(data) else "utf-8"


def _is_damaged_utf8(data: bytes) -> bool:
    sequences = len(UTF8_SEQUENCE.findall(data))
    faults = data.decode("utf-8", errors="replace").count("\ufffd")
    return sequences >= UTF8_SEQUENCES_A_FAULT * faults


def _telling_lines(data: bytes) -> bytes:
    """The first lines that hold bytes outside ASCII: all that a guess can rest on."""
    lines: list[bytes] = []
    size_bytes = 0
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line)
            size_bytes += len(line)
        if size_bytes > SAMPLE_BYTES:
            break
    return b"".join(lines)[:SAMPLE_BYTES]


def _guess(sample: bytes) -> str:
    share, encoding = max(((_share(sample, *row), row[0]) for row in ALPHABETS), key=lambda found: found[0])
    if share >= MIN_ALPHABET_SHARE:
        return encoding
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(NARROW)).best()
    return best.encoding if best else "cp1252"


def _share(sample: bytes, encoding: str, alphabet: str) -> float:
    """How many of the letters outside ASCII, decoded so, the language accounts for.

    Asked before charset-normalizer, since 3.5 takes most short French, German and English texts for cp1250.
    """
    foreign = [c for c in sample.decode(encoding, errors="replace").lower() if c > "\x7f" and c not in SYMBOLS]
    return sum(c in alphabet for c in foreign) / len(foreign) if foreign else 1.0
