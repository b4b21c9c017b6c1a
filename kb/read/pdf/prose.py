"""Lines in reading order to paragraphs, headings and listings: hyphens undone, words not run together.

Knows font sizes and places, not pages: the same code reads plain pages, the text boxes of a layout model and the lines
of OCR. Tables are not its business.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median

import msgspec

from kb.read.pdf.page import Line
from kb.read.pdf.parts import Part

HEADING_SIZE = 1.1  # times the body's font size
SAME_SIZE_PT = 0.6  # 9.96 and 10 are one size, 10 and 11 are two
MAX_HEADING_CHARS = 160
MAX_BOLD_HEADING_CHARS = 90  # a bold line of the body's size has to be short to be a heading
MAX_HEADING_ROWS = 3
MAX_HEADING_RUN = 4
PARAGRAPH_GAP = 0.6  # white space between lines beyond the usual, in line heights
INDENT = 0.8  # in font sizes
SHORT_LINE_SHARE = 0.75  # of the column's width: a line that ends a paragraph
BROKEN_LINE_SHARE = 0.6  # of a full line: a shorter one is a line of an address, a verse, a row of labels
FULL_LINE_CHARS = 40
WORD_GAP = 0.08  # in font sizes, between pieces of one row
BOLD_RANK = 0.25  # a bold line stands above a plain one of the same size
MAX_MONO_SHARE = 0.5  # of a document's characters, before typewriter text is taken for listings

BULLET = re.compile(r"^\s*([•‣◦▪●○■□–—*·-]|\(?(\d{1,3}|[a-zA-Z]|[ivx]{1,5}|[IVX]{1,5})[.)])\s")  # noqa: RUF001 these signs are meant
SENTENCE_END = re.compile(r"[.!?:;。！？؟…][\"'”’)\]]*\s*$")  # noqa: RUF001 these signs are meant
BROKEN_WORD = re.compile(r"(\w*[^\W\d_])[-\u00ad\u2010]$")
SOFT_HYPHEN = "\u00ad"
CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
SPACED_CJK = re.compile(f"(?<={CJK.pattern})[ \u3000]+(?={CJK.pattern})")
SPACES = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u3000]+")
LETTER = re.compile(r"[^\W\d_]")


class Style(msgspec.Struct, frozen=True):
    """What is usual in a document, against which its headings stand out."""

    body_size: float
    """Font size in points of most characters."""
    line_width: float = 0.0
    """Width in points of a full line; a line that ends well before it was meant to end there."""
    is_mono: bool = False
    """Set where the whole document is typewritten, so that monospaced lines are no listings."""
    vocabulary: str = ""
    """Text to look up whether a word broken at a line's end is written with its hyphen elsewhere."""


def style_of(lines: Iterable[Line]) -> Style:
    sizes: Counter[float] = Counter()
    mono = 0
    texts, widths = [], []
    for line in lines:
        if len(line.text) >= FULL_LINE_CHARS:
            widths.append(line.x1 - line.x0)
        sizes[round(line.size * 2) / 2] += len(line.text)
        mono += line.mono * len(line.text)
        texts.append(line.text)
    total = sum(sizes.values())
    body = max(sizes, key=sizes.__getitem__) if sizes else 0.0
    full = median(widths) if widths else 0.0
    return Style(body, full, mono > MAX_MONO_SHARE * total, "\n".join(texts))


def parts_of(lines: Sequence[Line], style: Style) -> list[Part]:
    """The headings, paragraphs and listings of lines that come in reading order."""
    parts: list[Part] = []
    for group in _groups(_joined_rows(lines), style):
        if group[0].mono and not style.is_mono:
            parts.append(Part(_listing(group), "code" if len(group) > 1 else "text"))
            continue
        text = paragraph(group, style)
        if text:
            parts.append(Part(text, rank=_rank(group, text, style)))
    return _demoted(parts)


def paragraph(rows: Sequence[Line], style: Style) -> str:
    """Lines of one paragraph as one line; items of a list, and lines broken on purpose, stay on lines of their own."""
    text = ""
    for position, row in enumerate(rows):
        line = _clean(row.text)
        if not text or not line:
            text += line
        elif BULLET.match(line) or _is_broken(rows[position - 1], line, style):
            text += "\n" + line
        else:
            text = joined(text, line, style.vocabulary)
    return text


def _is_broken(last: Line, line: str, style: Style) -> bool:
    is_short = last.x1 - last.x0 < BROKEN_LINE_SHARE * style.line_width and not last.vertical
    return is_short and not line[:1].islower() and bool(LETTER.search(last.text))


def joined(head: str, tail: str, vocabulary: str = "") -> str:
    """Two lines of a paragraph as one: a hyphen that only broke a word goes, a space comes where scripts have one."""
    broken = BROKEN_WORD.search(head)
    if broken and tail[:1].islower():
        word = tail.split(maxsplit=1)[0].rstrip(".,;:!?)")
        keeps_hyphen = not head.endswith(SOFT_HYPHEN) and f"{broken[1]}-{word}" in vocabulary
        return head + tail if keeps_hyphen else head[:-1] + tail
    if CJK.match(head[-1:]) and CJK.match(tail[:1]):
        return head + tail
    return f"{head} {tail}"


def _clean(text: str) -> str:
    return SPACED_CJK.sub("", SPACES.sub(" ", text)).strip()


def _joined_rows(lines: Sequence[Line]) -> list[Line]:
    """Neighbours that stand on the same row, or in the same vertical column, as one line."""
    rows: list[Line] = []
    for line in lines:
        previous = rows[-1] if rows else None
        if previous and previous.vertical and line.vertical and abs(previous.x0 - line.x0) < line.size / 2:
            rows[-1] = _merged(previous, line, "")
        elif previous and _same_row(previous, line):
            gap = max(line.x0 - previous.x1, previous.x0 - line.x1)
            rows[-1] = _merged(previous, line, " " if gap > WORD_GAP * line.size else "")
        else:
            rows.append(line)
    return rows


def _same_row(a: Line, b: Line) -> bool:
    overlap = min(a.y1, b.y1) - max(a.y0, b.y0)
    beside = b.x0 >= a.x1 - a.size / 2 or b.x1 <= a.x0 + a.size / 2
    return not b.vertical and overlap > min(a.y1 - a.y0, b.y1 - b.y0) / 2 and beside


def _merged(a: Line, b: Line, space: str) -> Line:
    longer = a if len(a.text) >= len(b.text) else b
    return msgspec.structs.replace(
        longer,
        text=f"{a.text}{space}{b.text}",
        x0=min(a.x0, b.x0),
        y0=min(a.y0, b.y0),
        x1=max(a.x1, b.x1),
        y1=max(a.y1, b.y1),
        bold=a.bold and b.bold,
        mono=a.mono and b.mono,
        block=b.block,
    )


def _groups(rows: Sequence[Line], style: Style) -> list[list[Line]]:
    """Rows that belong together: one heading, one paragraph with its list, or one listing."""
    if not rows:
        return []
    pitches = [b.y0 - a.y0 for a, b in zip(rows, rows[1:], strict=False) if 0 < b.y0 - a.y0 < 3 * (a.y1 - a.y0)]
    pitch = median(pitches) if pitches else 0.0
    groups = [[rows[0]]]
    for position, row in enumerate(rows[1:], start=1):
        following = rows[position + 1] if position + 1 < len(rows) else None
        if _begins(rows[position - 1], row, following, groups[-1], pitch, style):
            groups.append([row])
        else:
            groups[-1].append(row)
    return groups


def _begins(  # noqa: PLR0911 a table of rules reads best as one return a rule
    last: Line, row: Line, following: Line | None, group: Sequence[Line], pitch: float, style: Style
) -> bool:
    """Whether `row` begins a new paragraph after `last`."""
    if row.mono != last.mono and not style.is_mono:
        return True
    if abs(row.size - last.size) > SAME_SIZE_PT and _is_large(row, style) != _is_large(last, style):
        return True
    if row.vertical or last.vertical:
        return not (row.vertical and last.vertical)
    if row.y0 < last.y0 - last.size:  # the next column: a sentence may go on there
        return bool(SENTENCE_END.search(last.text)) or not row.text[:1].islower()
    height = max(pitch, 1.0)
    if row.y0 - last.y0 > pitch + PARAGRAPH_GAP * height:
        return True
    if (row.mono and not style.is_mono) or BULLET.match(row.text):
        return False
    left = min(line.x0 for line in group)
    right = max(line.x1 for line in group)
    is_short = last.x1 - left < SHORT_LINE_SHARE * (max(right, row.x1) - left)
    ends = bool(SENTENCE_END.search(last.text))
    if row.bold != last.bold and (is_short or ends) and (row.bold or all(line.bold for line in group)):
        return True
    indented = row.x0 > left + INDENT * row.size
    is_list = any(BULLET.match(line.text) for line in group)
    if indented and not is_list and not row.is_rtl and following and following.x0 < row.x0 - INDENT * row.size:
        return True
    return is_short and ends and not (is_list and indented)


def _is_large(line: Line, style: Style) -> bool:
    return line.size > HEADING_SIZE * style.body_size


def _rank(group: Sequence[Line], text: str, style: Style) -> float | None:
    """The rank of a heading, or None for a paragraph."""
    size = max(line.size for line in group)
    bold = all(line.bold for line in group)
    if len(group) > MAX_HEADING_ROWS or len(text) > MAX_HEADING_CHARS or not LETTER.search(text) or "\n" in text:
        return None
    if size > HEADING_SIZE * style.body_size:
        return size + BOLD_RANK * bold
    is_short = len(text) <= MAX_BOLD_HEADING_CHARS and not text.endswith((".", ",", ";"))
    if bold and is_short and size > style.body_size - SAME_SIZE_PT:
        return size + BOLD_RANK
    return None


def _demoted(parts: Sequence[Part]) -> list[Part]:
    """Large type that runs on is text: of more headings in a row than a chain may have, none is one."""
    kept: list[Part] = []
    for is_heading, run in groupby(parts, key=lambda part: part.rank is not None):
        found = list(run)
        too_many = is_heading and len(found) > MAX_HEADING_RUN
        kept += [msgspec.structs.replace(part, rank=None) for part in found] if too_many else found
    return kept


def _listing(group: Sequence[Line]) -> str:
    """Monospaced lines with their indentation, counted in characters of the widest line."""
    left = min(line.x0 for line in group)
    widest = max(group, key=lambda line: len(line.text))
    character = widest.width / len(widest.text) or 1.0
    return "\n".join(" " * round((line.x0 - left) / character) + line.text.strip() for line in group)
